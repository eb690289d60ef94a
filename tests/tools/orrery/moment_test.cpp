#include "tools/console/moment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kNow = 1'700'000'000 * kSecondNs;

std::int64_t seconds_of(const char* text) {
  const auto at = moment("--since", text, kNow);
  EXPECT_TRUE(at) << text;
  return at ? *at / kSecondNs : -1;
}

TEST(Moment, LengthsAreBeforeNow) {
  EXPECT_EQ(seconds_of("90s"), 1'700'000'000 - 90);
  EXPECT_EQ(seconds_of("10min"), 1'700'000'000 - 600);
  EXPECT_EQ(seconds_of("2 h"), 1'700'000'000 - 7200);
  EXPECT_EQ(seconds_of("7d"), 1'700'000'000 - 7 * 86'400);
}

TEST(Moment, DatesAreUtc) {
  EXPECT_EQ(seconds_of("2023-11-14T22:13:20Z"), 1'700'000'000);
  EXPECT_EQ(seconds_of("2023-11-14 22:13:20"), 1'700'000'000);
  EXPECT_EQ(seconds_of("2023-11-14 22:13"), 1'699'999'980);
  EXPECT_EQ(seconds_of("1970-01-02"), 86'400);
}

TEST(Moment, WhatIsNoneIsRefusedWithTheForms) {
  for (const char* text : {"",
                           "h",
                           "5",
                           "5y",
                           "-5s",
                           "2023-13-01",
                           "2023-02-30",
                           "2023-11-14T25:00",
                           "tomorrow",
                           "99999999999999d"}) {
    const auto at = moment("--since", text, kNow);
    ASSERT_FALSE(at) << text;
    EXPECT_THAT(at.errors().front().text(), testing::HasSubstr("needed a time in UTC")) << text;
  }
}

}  // namespace
}  // namespace orrery::cli
