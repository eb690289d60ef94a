#include "sim/results/percentile.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace orrery::sim {
namespace {

TEST(Percentile, InterpolatesLinearlyBetweenTheTwoClosestRanks) {
  const std::vector<std::int64_t> sample{10, 20, 30, 40};
  EXPECT_DOUBLE_EQ(percentile_of_sorted(sample, 0), 10);
  EXPECT_DOUBLE_EQ(percentile_of_sorted(sample, 0.5), 25);
  EXPECT_DOUBLE_EQ(percentile_of_sorted(sample, 0.9), 37);
  EXPECT_DOUBLE_EQ(percentile_of_sorted(sample, 0.99), 39.7);
  EXPECT_DOUBLE_EQ(percentile_of_sorted(sample, 1), 40);
}

TEST(Percentile, OfOneValueIsThatValue) {
  const std::vector<std::int64_t> sample{7};
  for (const double q : {0.0, 0.3, 0.99, 1.0}) EXPECT_EQ(percentile_of_sorted(sample, q), 7);
}

TEST(Percentile, OfNothingIsZero) {
  EXPECT_EQ(percentile_of_sorted(std::vector<std::int64_t>{}, 0.5), 0);
  EXPECT_EQ(percentile_of_sorted(std::vector<double>{}, 0.5), 0);
  EXPECT_EQ(mean_of({}), 0);
}

TEST(Percentile, MeanDoesNotOverflow) {
  const std::vector<std::int64_t> sample(4, 9'000'000'000'000'000'000);
  EXPECT_DOUBLE_EQ(mean_of(sample), 9e18);
}

}  // namespace
}  // namespace orrery::sim
