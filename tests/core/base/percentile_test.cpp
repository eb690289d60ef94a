#include "core/base/percentile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/random.hpp"

namespace orrery {
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

TEST(PercentileProperty, SelectionGivesWhatSortingGives) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::int64_t> any(random.below(50));
    for (std::int64_t& value : any) value = random.between(-20, 20);
    std::vector<double> halves;
    for (const std::int64_t value : any) halves.push_back(static_cast<double>(value) / 2);
    std::vector<std::int64_t> ascending = any;
    std::ranges::sort(ascending);
    // One after the other on what the one before has rearranged.
    for (const double q : {0.5, 0.99, 0.0, 1.0, random.uniform()}) {
      const double expected = percentile_of_sorted(ascending, q);
      EXPECT_EQ(percentile_by_selection(std::span(any), q), expected);
      EXPECT_EQ(percentile_by_selection(std::span(halves), q), expected / 2);
    }
  }
}

TEST(Percentile, MeanDoesNotOverflow) {
  const std::vector<std::int64_t> sample(4, 9'000'000'000'000'000'000);
  EXPECT_DOUBLE_EQ(mean_of(sample), 9e18);
}

}  // namespace
}  // namespace orrery
