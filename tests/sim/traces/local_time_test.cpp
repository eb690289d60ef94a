#include "sim/traces/local_time.hpp"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

std::int64_t unix_s(std::string_view text, TraceZone zone = TraceZone::PacificTime) {
  const auto time = parse_local_time(text, zone);
  EXPECT_TRUE(time.has_value()) << text;
  return time ? time->at.ns / 1'000'000'000 : -1;
}

TEST(LocalTime, WallClockWithoutAZoneIsReadAsUtc) {
  EXPECT_EQ(unix_s("2000-03-01 00:00:00", TraceZone::None), 951'868'800);
  EXPECT_EQ(unix_s("2017-11-05 01:30:00", TraceZone::None), 1'509'845'400);
}

TEST(LocalTime, PacificTimeIsSevenHoursBehindInSummerAndEightInWinter) {
  EXPECT_EQ(unix_s("2017-10-09 07:01:55"), 1'507'532'515 + 7 * 3600);
  EXPECT_EQ(unix_s("2017-12-22 08:02:11"), 1'513'929'731 + 8 * 3600);
}

TEST(LocalTime, TheNightOfTheChangeHasAnHourMore) {
  EXPECT_EQ(unix_s("2017-11-05 02:00:00") - unix_s("2017-11-05 00:59:59"), 2 * 3600 + 1);
  EXPECT_EQ(unix_s("2017-11-05 01:59:59") - unix_s("2017-11-05 00:59:59"), 3600);
  const auto time = parse_local_time("2017-11-05 01:00:00", TraceZone::PacificTime);
  EXPECT_TRUE(time->ambiguous);
  EXPECT_FALSE(parse_local_time("2017-11-05 02:00:00", TraceZone::PacificTime)->ambiguous);
  EXPECT_FALSE(parse_local_time("2017-11-05 01:00:00", TraceZone::None)->ambiguous);
}

TEST(LocalTime, TheSpringNightLosesAnHour) {
  EXPECT_EQ(unix_s("2018-03-11 03:00:00") - unix_s("2018-03-11 01:59:59"), 1);
  const auto time = parse_local_time("2018-03-11 02:30:00", TraceZone::PacificTime);
  EXPECT_TRUE(time->skipped);
  EXPECT_EQ(time->at.ns / 1'000'000'000, unix_s("2018-03-11 03:30:00"));
}

TEST(LocalTime, OtherTextsAreRefused) {
  for (const char* text : {"",
                           "None",
                           "2017-10-09",
                           "2017-10-09T07:01:55",
                           "2017-13-09 07:01:55",
                           "2017-02-29 07:01:55",
                           "2017-10-09 24:00:00",
                           "2017-10-09 07:60:00",
                           "2017-10-09 07:01:55 ",
                           "20x7-10-09 07:01:55",
                           "1066-10-14 09:00:00",
                           "2017-10-09 07:01:-5"}) {
    EXPECT_FALSE(parse_local_time(text, TraceZone::PacificTime).has_value()) << text;
  }
}

}  // namespace
}  // namespace orrery::sim
