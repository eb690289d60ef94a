#include "tools/orrery/seed_statistics.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery::cli {
namespace {

using nlohmann::json;

std::vector<sim::Summary> runs_of(std::uint64_t seeds) {
  std::vector<sim::Summary> runs;
  for (const char* policy : {"fifo/1", "srtf/1"})
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      runs.emplace_back();
      runs.back().policy = policy;
      runs.back().seed = seed;
      runs.back().jct_avg_s = static_cast<double>(seed) + (policy[0] == 's' ? 1 : 0);
    }
  return runs;
}

json statistics_json(const std::vector<sim::Summary>& runs) {
  JsonText text;
  put_statistics(sim::statistics_of(runs), text);
  return json::parse(text.take());
}

TEST(SeedStatistics, EveryFigureHasMeanAndIntervals) {
  const json policies = statistics_json(runs_of(5));
  const json& jct = policies[1]["jct_avg_s"];
  EXPECT_EQ(policies[1]["seeds"], 5);
  EXPECT_EQ(jct["mean"], 4);
  EXPECT_NEAR(jct["ci95"].get<double>(), 1.96324, 1e-5);
  EXPECT_LT(jct["low"].get<double>(), 3);
  EXPECT_GT(jct["high"].get<double>(), 5);
  EXPECT_TRUE(policies[0].contains("ftf_max"));
}

TEST(SeedStatistics, OneSeedHasNoneAndSaysHowToGetThem) {
  const json jct = statistics_json(runs_of(1))[0]["jct_avg_s"];
  EXPECT_EQ(jct["mean"], 1);
  for (const char* key : {"ci95", "low", "high"}) EXPECT_TRUE(jct[key].is_null()) << key;
  EXPECT_NE(advice_on_seeds(1, 2).find("--seeds 1..10 gives them"), std::string::npos);
  EXPECT_NE(advice_on_seeds(5, 2).find("p is at least 0.0625"), std::string::npos);
  EXPECT_EQ(advice_on_seeds(5, 1), "");
  EXPECT_EQ(advice_on_seeds(6, 2), "");
}

TEST(SeedStatistics, RunsThatFinishedNoJobAreSaid) {
  std::vector<sim::Summary> runs = runs_of(2);
  for (sim::Summary& run : runs) run.jobs_total = 10, run.jobs_finished = 1;
  EXPECT_EQ(note_on_unfinished(runs), "");
  runs[2].jobs_finished = 0;
  EXPECT_TRUE(note_on_unfinished(runs).starts_with("1 of 4 runs finished no job: "));
  runs[2].jobs_total = 0;
  EXPECT_EQ(note_on_unfinished(runs), "");
}

TEST(SeedStatistics, DifferencesHaveTheirChance) {
  JsonText text;
  put_differences(sim::differences_of(runs_of(6)), text);
  const json pairs = json::parse(text.take());
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0]["policy"], "srtf/1");
  EXPECT_EQ(pairs[0]["against"], "fifo/1");
  EXPECT_EQ(pairs[0]["jct_avg_s"]["mean"], 1);
  EXPECT_EQ(pairs[0]["jct_avg_s"]["p"], 0.03125);
  EXPECT_EQ(pairs[0]["makespan_s"]["p"], 1);
}

}  // namespace
}  // namespace orrery::cli
