#include "scenarios/language/spec/work.hpp"

#include <gtest/gtest.h>

namespace orrery::scenarios {
namespace {

TEST(Work, LinearScalingIsProportional) {
  const WorkSpec work{.units = 300, .base_rate = 1, .base_replicas = 2};
  EXPECT_EQ(run_time(work, 2), Duration::seconds(300));
  EXPECT_EQ(run_time(work, 4), Duration::seconds(150));
  EXPECT_EQ(rate_of(work, 0), 0);
  EXPECT_TRUE(run_time(work, 0).is_forever());
}

TEST(Work, AmdahlKeepsTheSerialPart) {
  const WorkSpec work{.units = 100, .base_rate = 1, .scaling = ScalingKind::Amdahl, .serial = 0.5};
  EXPECT_EQ(run_time(work, 1), Duration::seconds(100));
  EXPECT_EQ(run_time(work, 2), Duration::seconds(75));
}

TEST(Work, TableIsLinearBetweenPointsAndFlatOutside) {
  const WorkSpec work{
      .units = 100, .base_rate = 10, .scaling = ScalingKind::Table, .table = {{1, 10}, {3, 20}}};
  EXPECT_DOUBLE_EQ(rate_of(work, 1), 10);
  EXPECT_DOUBLE_EQ(rate_of(work, 2), 15);
  EXPECT_DOUBLE_EQ(rate_of(work, 8), 20);
}

}  // namespace
}  // namespace orrery::scenarios
