#include "core/base/utc_text.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(UtcText, IsTheGregorianCalendar) {
  EXPECT_EQ(utc_text(Instant{0}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(Instant{1'700'000'000 * kSecond}), "2023-11-14T22:13:20Z");
  EXPECT_EQ(utc_text(Instant{951'782'399 * kSecond}), "2000-02-28T23:59:59Z");
  EXPECT_EQ(utc_text(Instant{951'782'400 * kSecond}), "2000-02-29T00:00:00Z");
  EXPECT_EQ(utc_text(Instant{4'107'542'400 * kSecond}), "2100-03-01T00:00:00Z");
  EXPECT_EQ(utc_text(Instant{-kSecond}), "1969-12-31T23:59:59Z");
}

TEST(UtcText, KeepsEveryNanosecond) {
  EXPECT_EQ(utc_text(Instant{1'700'000'000 * kSecond + 1}), "2023-11-14T22:13:20.000000001Z");
  EXPECT_EQ(utc_text(Instant{kSecond / 4}), "1970-01-01T00:00:00.250000000Z");
}

TEST(UtcText, OfNoTimeIsNothing) { EXPECT_EQ(utc_text(Instant::never()), ""); }

}  // namespace
}  // namespace orrery
