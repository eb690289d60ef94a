#include "core/base/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace orrery {
namespace {

TEST(Duration, SecondsAreRoundedToTheNearestNanosecond) {
  EXPECT_EQ(Duration::from_seconds(1.5), Duration::milliseconds(1500));
  EXPECT_EQ(Duration::from_seconds(1.6e-9).ns, 2);
  EXPECT_EQ(Duration::from_seconds(-1.6e-9).ns, -2);
  EXPECT_EQ(Duration::from_seconds(1.4e-9).ns, 1);
}

TEST(Duration, SecondsBeyondAllInstantsSaturate) {
  for (const double beyond : {9.2e9, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(Duration::from_seconds(beyond).is_forever()) << beyond;
    EXPECT_EQ(Duration::from_seconds(-beyond).ns, -9'200'000'000'000'000'000) << beyond;
  }
  EXPECT_FALSE(Duration::from_seconds(9.1e9).is_forever());
  EXPECT_EQ(Duration::from_seconds(-9.1e9).ns, -9'100'000'000'000'000'000);
  EXPECT_LT(Duration::from_seconds(std::numeric_limits<double>::quiet_NaN()).ns, 0);
}

}  // namespace
}  // namespace orrery
