#include "sim/results/duration_histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/random.hpp"

namespace orrery::sim {
namespace {

/// The value at rank ceil(q * n), counted from 1.
std::int64_t nearest_rank(const std::vector<std::int64_t>& ascending, double q) {
  const double wanted = q * static_cast<double>(ascending.size());
  auto rank = static_cast<std::size_t>(wanted);
  if (static_cast<double>(rank) < wanted) ++rank;
  return ascending[std::max<std::size_t>(rank, 1) - 1];
}

TEST(DurationHistogram, OfNothingIsZero) {
  const DurationHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.99), Duration::zero());
  EXPECT_EQ(histogram.max(), Duration::zero());
}

TEST(DurationHistogram, SmallValuesAreExact) {
  DurationHistogram histogram;
  for (std::int64_t ns = 1; ns <= 255; ++ns) histogram.add(Duration::nanoseconds(ns));
  EXPECT_EQ(histogram.quantile(0).ns, 1);
  EXPECT_EQ(histogram.quantile(0.5).ns, 128);
  EXPECT_EQ(histogram.quantile(1).ns, 255);
}

TEST(DurationHistogram, QuantilesAreWithinHalfAPercentAndMaxIsExact) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random = Random::stream(seed, "histogram test");
    DurationHistogram histogram;
    std::vector<std::int64_t> all;
    for (int i = 0; i < 5000; ++i) {
      // Every magnitude from nanoseconds to hours.
      const auto ns = static_cast<std::int64_t>(random.below(std::uint64_t{1} << (1 + i % 43)));
      all.push_back(ns);
      histogram.add(Duration::nanoseconds(ns));
    }
    std::ranges::sort(all);
    EXPECT_EQ(histogram.max().ns, all.back());
    for (const double q : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto exact = static_cast<double>(nearest_rank(all, q));
      EXPECT_NEAR(static_cast<double>(histogram.quantile(q).ns), exact, exact * 0.004) << q;
    }
  }
}

TEST(DurationHistogram, TakesTheLongestDuration) {
  DurationHistogram histogram;
  histogram.add(Duration::forever());
  histogram.add(Duration::nanoseconds(-5));
  EXPECT_EQ(histogram.max(), Duration::forever());
  EXPECT_EQ(histogram.quantile(0.5), Duration::zero());
}

}  // namespace
}  // namespace orrery::sim
