#include "sim/traces/trace_summary.hpp"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

std::vector<TraceJob> ten_jobs() {
  std::vector<TraceJob> jobs;
  for (int i = 1; i <= 10; ++i) {
    jobs.push_back({.name = std::to_string(i),
                    .submit = Instant::zero() + Duration::seconds(100 * i),
                    .duration = Duration::seconds(360 * i),
                    .gpus = i > 8 ? 8 : 1,
                    .vc = i % 2 == 0 ? "a" : "b"});
  }
  return jobs;
}

TEST(TraceSummary, CountsQuantilesAndGroupsOfTheJobs) {
  const TraceSummary summary = summarise(ten_jobs());
  EXPECT_EQ(summary.all.jobs, 10U);
  // 0.1 hours x (1 + ... + 8), and 8 GPUs for 0.9 and 1.0 hours.
  EXPECT_NEAR(summary.all.gpu_hours, 3.6 + 15.2, 1e-9);
  EXPECT_EQ(summary.span, Duration::seconds(900));
  EXPECT_EQ(summary.mean, Duration::seconds(1980));
  EXPECT_EQ(summary.median, Duration::seconds(1980)) << "between the fifth and the sixth";
  EXPECT_EQ(summary.p90, Duration::seconds(9 * 360 + 36));
  EXPECT_EQ(summary.longest, Duration::seconds(3600));
  EXPECT_EQ(summary.by_gpus.at(8).jobs, 2U);
  EXPECT_EQ(summary.by_vc.at("a").jobs, 5U);
  EXPECT_NEAR(summary.offered_load(100), 18.8 * 3600 / (100 * 900), 1e-9);
}

TEST(TraceSummary, AnEmptyTraceHasNoLoad) {
  const TraceSummary summary = summarise(std::vector<TraceJob>{});
  EXPECT_EQ(summary.all.jobs, 0U);
  EXPECT_EQ(summary.offered_load(8), 0.0);
}

TEST(TraceSummary, TextAndJsonHoldTheSame) {
  std::vector<TraceJob> jobs = ten_jobs();
  jobs.resize(1);
  const TraceSummary summary = summarise(jobs);
  EXPECT_EQ(summary.text(),
            "span 0.0 days; durations: mean 360 s, median 360 s, 90% 360 s, 99% 360 s, longest 360 "
            "s\n"
            "  all                       1 jobs            0.1 GPU hours\n"
            "by GPUs\n"
            "  1                         1 jobs            0.1 GPU hours\n"
            "by virtual cluster\n"
            "  b                         1 jobs            0.1 GPU hours\n");
  JsonText json;
  summary.write(json);
  EXPECT_EQ(
      json.text(),
      R"({"jobs":1,"gpu_hours":0.1,"span_s":0,"duration_avg_s":360,"duration_p50_s":360,)"
      R"("duration_p90_s":360,"duration_p99_s":360,"duration_max_s":360,)"
      R"("by_gpus":[{"gpus":1,"jobs":1,"gpu_hours":0.1}],)"
      R"("shares":{"jobs":0,"gpu_hours":0},"by_model":[{"model":"","jobs":1,"gpu_hours":0.1}],)"
      R"("by_vc":[{"vc":"b","jobs":1,"gpu_hours":0.1}]})");
}

}  // namespace
}  // namespace orrery::sim
