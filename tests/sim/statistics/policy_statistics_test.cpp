#include "sim/statistics/policy_statistics.hpp"

#include <gtest/gtest.h>

#include "sim/statistics/run_figures.hpp"

namespace orrery::sim {
namespace {

std::vector<Summary> runs_of(const std::vector<std::string>& policies, std::uint64_t seeds) {
  std::vector<Summary> runs;
  for (std::size_t policy = 0; policy < policies.size(); ++policy)
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      Summary run;
      run.policy = policies[policy];
      run.seed = seed;
      run.jct_avg_s = static_cast<double>(100 * seed + 10 * policy + seed % 2);
      run.restarts = policy;
      runs.push_back(std::move(run));
    }
  return runs;
}

TEST(PolicyStatistics, RunsAreGatheredByPolicyInOrderOfAppearance) {
  std::vector<Summary> runs = runs_of({"srtf/1", "fifo/1"}, 2);
  std::swap(runs[1], runs[2]);
  const auto statistics = statistics_of(runs);
  ASSERT_EQ(statistics.size(), 2U);
  EXPECT_EQ(statistics[0].policy, "srtf/1");
  EXPECT_EQ(statistics[0].seeds, 2U);
  EXPECT_EQ(statistics[0].of("jct_avg_s").mean, 150.5);
  EXPECT_EQ(statistics[1].of("jct_avg_s").mean, 160.5);
  EXPECT_EQ(statistics[1].of("restarts").mean, 1);
}

TEST(PolicyStatistics, EveryPairIsComparedAndAdjustedForAllOfThem) {
  const auto pairs = differences_of(runs_of({"a", "b", "c"}, 8));
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].policy + pairs[0].against, "ba");
  EXPECT_EQ(pairs[1].policy + pairs[1].against, "ca");
  EXPECT_EQ(pairs[2].policy + pairs[2].against, "cb");
  const auto at = static_cast<std::size_t>(&run_figure("jct_avg_s") - run_figures().data());
  EXPECT_DOUBLE_EQ(pairs[1].figures[at].difference.mean, 20);
  EXPECT_DOUBLE_EQ(pairs[1].figures[at].p, smallest_p(8));
  EXPECT_DOUBLE_EQ(pairs[1].figures[at].p_holm, 3 * smallest_p(8));
}

TEST(PolicyStatistics, WhatWasNotRunWithTheSameSeedsIsNotPaired) {
  EXPECT_TRUE(differences_of({}).empty());
  EXPECT_TRUE(differences_of(runs_of({"a", "b"}, 1)).empty());
  std::vector<Summary> runs = runs_of({"a", "b"}, 3);
  runs.back().seed = 9;
  EXPECT_TRUE(differences_of(runs).empty());
  runs.pop_back();
  EXPECT_TRUE(differences_of(runs).empty());
}

}  // namespace
}  // namespace orrery::sim
