// Times of epochs, in truth and by the profile, against what the artifact's results imply.
#include "sim/shockwave/adaptive_jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "sim/traces/fields.hpp"
#include "tests/sim/shockwave/shared_files.hpp"

namespace orrery::sim {
namespace {

using ::testing::HasSubstr;

AdaptiveSubmission submission(BatchAdaptation adaptation, double steps, int epochs) {
  AdaptiveSubmission out;
  out.line = 3;
  out.training = {"LM", 40, 1, adaptation, epochs};
  out.steps = steps;
  return out;
}

DeviceSpeeds speeds() {
  DeviceSpeeds out;
  out.add_model("v100");
  out.add("v100", "LM (batch size 40)", 1, 10);
  out.add("v100", "LM (batch size 80)", 1, 8);
  return out;
}

TEST(AdaptiveJobs, WorkIsEpochsWithAPhaseForEachBatch) {
  // 59675 examples: 1492 steps of 40, 746 of 80; 12.5 epochs.
  const auto made = time_epochs(
      {submission(BatchAdaptation::Gns, 1492 * 12.5, 13)}, "jobs.trace", speeds(), "v100");
  ASSERT_TRUE(made);
  const AdaptiveJob& job = made->jobs.front();
  EXPECT_DOUBLE_EQ(job.work.units, 12.5);
  ASSERT_NE(job.work.phases, nullptr);
  ASSERT_EQ(job.work.phases->size(), 2u);
  EXPECT_DOUBLE_EQ((*job.work.phases)[0].until, 10);
  EXPECT_DOUBLE_EQ((*job.work.phases)[0].speed, 10.0 / 1492);
  EXPECT_DOUBLE_EQ((*job.work.phases)[1].speed, 8.0 / 746);
  const double seconds = 10 * 149.2 + 2.5 * 93.25;
  EXPECT_NEAR(scenarios::run_time(job.work, 1).in_seconds(), seconds, 1e-6);
  EXPECT_NEAR(scenarios::level_units_left(job.work, 9.5), 0.5 * 149.2 + 2.5 * 93.25, 1e-6);
}

TEST(AdaptiveJobs, ProfileCountsWholeEpochsAndPartsOfSteps) {
  const auto made = time_epochs(
      {submission(BatchAdaptation::Gns, 1492 * 12.5, 13)}, "jobs.trace", speeds(), "v100");
  ASSERT_TRUE(made);
  const EpochProfile& profile = made->profiles.at(made->jobs.front().profile);
  EXPECT_EQ(profile.epochs(), 13);
  EXPECT_DOUBLE_EQ(profile.seconds[0], 59675.0 / 40 / 10);
  EXPECT_DOUBLE_EQ(profile.seconds[11], 59675.0 / 80 / 8);
  EXPECT_DOUBLE_EQ(profile.steps_per_second(0), 10);
}

TEST(AdaptiveJobs, EqualJobsShareAProfile) {
  const AdaptiveSubmission job = submission(BatchAdaptation::Static, 1492, 1);
  const auto made = time_epochs({job, job}, "jobs.trace", speeds(), "v100");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->profiles.size(), 1u);
  EXPECT_EQ(made->jobs[1].profile, "LM (batch size 40) x1 static 1");
}

TEST(AdaptiveJobs, SaysWhichSpeedIsMissing) {
  DeviceSpeeds some;
  some.add_model("v100");
  some.add("v100", "LM (batch size 40)", 1, 10);
  const auto made =
      time_epochs({submission(BatchAdaptation::Gns, 30'000, 21)}, "jobs.trace", some, "v100");
  ASSERT_FALSE(made);
  ASSERT_EQ(made.errors().size(), 1u);
  EXPECT_THAT(made.errors().front().text(),
              HasSubstr("jobs.trace:3: throughputs: the table has no speed of 'LM (batch size 80)' "
                        "on 1 GPUs of v100"));
  const auto unknown =
      time_epochs({submission(BatchAdaptation::Static, 1492, 1)}, "jobs.trace", speeds(), "h100");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.errors().front().text(), HasSubstr("knows v100"));
}

/// Total seconds of each job's profile by the artifact: its results give rho = JCT / (total x 120
/// jobs / 32 GPUs).
std::map<int, double> published_totals() {
  std::map<int, double> out;
  std::string text = tests::shockwave_file("per_job_results.csv");
  std::string_view rest = text;
  std::vector<std::string_view> fields;
  while (!rest.empty()) {
    fields.clear();
    split(take_line(rest), ',', fields);
    if (fields.size() < 5 || fields[0] != "shockwave" || fields[1] != "simulation") continue;
    const double jct = number_in(fields[3]).value();
    const double rho = number_in(fields[4]).value();
    out[static_cast<int>(whole_number_in(fields[2]).value())] = jct / rho / (120.0 / 32);
  }
  return out;
}

TEST(AdaptiveJobs, ProfilesTakeAsLongAsThoseOfTheArtifact) {
  SKIP_WITHOUT_SHOCKWAVE();
  auto jobs = parse_shockwave_trace(tests::shockwave_file("120_multigpu_dynamic.trace"), "trace");
  const auto table =
      parse_gavel_throughputs(tests::shockwave_file("tacc_throughputs.json"), "json");
  ASSERT_TRUE(jobs && table);
  const auto made = time_epochs(std::move(*jobs), "trace", *table, "v100");
  ASSERT_TRUE(made) << made.errors().front().text();
  const std::map<int, double> published = published_totals();
  ASSERT_EQ(published.size(), 120u);
  ASSERT_EQ(made->jobs.size(), 120u);
  for (std::size_t i = 0; i < made->jobs.size(); ++i) {
    const double total = made->profiles.at(made->jobs[i].profile).total_s();
    const double expected = published.at(static_cast<int>(i));
    // The published rho has five decimals.
    EXPECT_NEAR(total / expected, 1, 1e-4) << "job " << i << " " << made->jobs[i].profile;
  }
}

}  // namespace
}  // namespace orrery::sim
