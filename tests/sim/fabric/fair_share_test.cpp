// How one link is shared.
#include "sim/fabric/fair_share.hpp"

#include <gtest/gtest.h>

#include <array>

namespace orrery::sim {
namespace {

TEST(FairLevel, EqualFlowsShareEqually) {
  const std::array<LinkDemand, 2> demands{{{100, 1}, {100, 1}}};
  EXPECT_EQ(fair_level(demands, 100), 50);
}

TEST(FairLevel, WhoAsksForLittleGetsIt) {
  const std::array<LinkDemand, 3> demands{{{10, 1}, {100, 1}, {100, 1}}};
  EXPECT_EQ(fair_level(demands, 100), 45);
  EXPECT_EQ(share_at(45, demands[0]), 1);
  EXPECT_EQ(share_at(45, demands[1]), 0.45);
}

TEST(FairLevel, SharesAreByFlow) {
  const std::array<LinkDemand, 2> demands{{{300, 3}, {100, 1}}};
  const double level = fair_level(demands, 100);
  EXPECT_EQ(level, 25);
  EXPECT_EQ(share_at(level, demands[0]), 0.25);
  EXPECT_EQ(share_at(level, demands[1]), 0.25);
}

TEST(FairLevel, SeveralRoundsUntilNoneIsBelow) {
  const std::array<LinkDemand, 4> demands{{{24, 1}, {27, 1}, {29, 1}, {100, 1}}};
  // A quarter each would be 25; 24 lets the others have 25.3, then no other is below.
  EXPECT_DOUBLE_EQ(fair_level(demands, 100), 76.0 / 3);
}

}  // namespace
}  // namespace orrery::sim
