#include "sim/results/summary.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery::sim {
namespace {

const std::vector<std::string> kStable{
    "scenario",    "policy",        "world",           "seed",
    "jobs_total",  "jobs_finished", "jobs_failed",     "jct_avg_s",
    "jct_p50_s",   "jct_p90_s",     "jct_p99_s",       "queue_avg_s",
    "queue_p99_s", "makespan_s",    "gpu_utilization", "gpu_seconds_allocated",
    "restarts",    "reallocations", "preemptions",     "decisions",
    "events",      "state_digest",  "queue_max"};
const std::vector<std::string> kMeasured{
    "decision_p50_us", "decision_p99_us", "decision_max_us", "wall_s", "peak_rss_mb"};

Summary sample() {
  Summary summary;
  summary.scenario = "two \"jobs\"";
  summary.policy = "fifo/1";
  summary.world = "model";
  summary.seed = 18446744073709551615U;
  summary.jct_avg_s = 1.0 / 3;
  summary.workload = {.rows_read = 5, .dropped = {{"duplicate", 2}}, .altered = {}};
  summary.unmet = {"job a: was Failed, needed Succeeded"};
  summary.measured.wall_s = 0.25;
  return summary;
}

TEST(Summary, FilesKeepMeasuredValuesInASubObject) {
  const auto json = nlohmann::json::parse(summary_file(sample()));
  for (const std::string& key : kStable) EXPECT_TRUE(json.contains(key)) << key;
  for (const std::string& key : kMeasured) {
    EXPECT_FALSE(json.contains(key)) << key;
    EXPECT_TRUE(json["measured"].contains(key)) << key;
  }
  EXPECT_EQ(json["seed"], 18446744073709551615U);
  EXPECT_EQ(json["jct_avg_s"], 1.0 / 3);
  EXPECT_EQ(json["workload"]["dropped"][0]["reason"], "duplicate");
}

TEST(Summary, PrintedValuesStandSideBySide) {
  JsonText text;
  put_summary(sample(), MeasuredAs::Fields, text);
  const auto json = nlohmann::json::parse(text.text());
  for (const std::string& key : kStable) EXPECT_TRUE(json.contains(key)) << key;
  for (const std::string& key : kMeasured) EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_FALSE(json.contains("measured"));
}

TEST(Summary, FilesDifferOnlyInMeasured) {
  Summary other = sample();
  other.measured.wall_s = 99;
  auto a = nlohmann::ordered_json::parse(summary_file(sample()));
  auto b = nlohmann::ordered_json::parse(summary_file(other));
  EXPECT_NE(a.dump(), b.dump());
  a.erase("measured");
  b.erase("measured");
  EXPECT_EQ(a.dump(), b.dump());
}

}  // namespace
}  // namespace orrery::sim
