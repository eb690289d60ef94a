#include "tools/orrery/seed_statistics.hpp"

#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

TEST(SeedStatistics, IntervalIsStudents) {
  // Mean 3, s = sqrt(2.5), t(4) = 2.776.
  const std::vector<double> values{1, 2, 3, 4, 5};
  const Estimate estimate = estimate_of(values);
  EXPECT_DOUBLE_EQ(estimate.mean, 3);
  EXPECT_NEAR(estimate.half_width, 1.9630, 1e-4);
}

TEST(SeedStatistics, OneValueHasNoInterval) {
  const std::vector<double> one{7};
  EXPECT_EQ(estimate_of(one).mean, 7);
  EXPECT_EQ(estimate_of(one).half_width, 0);
  EXPECT_EQ(estimate_of({}).mean, 0);
}

TEST(SeedStatistics, RunsAreGatheredByPolicyInOrderOfAppearance) {
  std::vector<sim::Summary> runs(4);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].policy = i % 2 == 0 ? "srtf/1" : "fifo/1";
    runs[i].jct_avg_s = static_cast<double>(i);
  }
  const auto statistics = statistics_of(runs);
  ASSERT_EQ(statistics.size(), 2U);
  EXPECT_EQ(statistics[0].policy, "srtf/1");
  EXPECT_EQ(statistics[0].seeds, 2U);
  EXPECT_EQ(statistics[0].jct_avg_s.mean, 1);
  EXPECT_EQ(statistics[1].jct_avg_s.mean, 2);
}

}  // namespace
}  // namespace orrery::cli
