// Jobs that go by an artifact's clock (timing `pollux`, `gavel`): what a restart costs, failures
// between two seconds, and agents, whose messages take time.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "scenarios/language/loader.hpp"
#include "tests/sim/run/one_run.hpp"

namespace orrery::sim {
namespace artifact_clock_tests {

using Overrides = std::vector<scenarios::Override>;

/// Completion times in seconds, by job; of a job that has not succeeded -1.
std::map<std::string, double> times_of(const std::string& file, const Overrides& overrides) {
  const auto scenario =
      scenarios::load_scenario(std::string(ORRERY_SOURCE_ROOT) + "/scenarios/" + file, overrides);
  EXPECT_TRUE(scenario) << scenario.errors().front().text();
  const RunReport report = run_of(*scenario);
  std::map<std::string, double> out;
  const JobTable& jobs = report.metrics->jobs();
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    const JobOutcome& job = jobs[JobId{i}];
    const bool done = job.phase == JobPhase::Succeeded;
    out[std::string(jobs.name(JobId{i}))] = done ? (job.finished - job.submitted).in_seconds() : -1;
  }
  return out;
}

std::map<std::string, double> profiled(Overrides overrides) {
  overrides.push_back({"policy", "fifo"});
  return times_of("device_profiles.yaml", overrides);
}

TEST(ArtifactClock, ARestartCostsWhatTheScenarioSays) {
  const auto usual = profiled({});
  const auto free = profiled({{"timing.restart", "0s"}});
  const auto dear = profiled({{"timing.restart", "5min"}});
  const auto speech = profiled({{"timing.restart", "{speech: 5min, default: 0s}"}});
  ASSERT_EQ(usual.size(), 4U);
  for (const auto& [job, took] : usual) {
    EXPECT_EQ(free.at(job), took - 30) << job;
    EXPECT_EQ(dear.at(job), took + 270) << job;
    EXPECT_EQ(speech.at(job), job.find("speech") != std::string::npos ? dear.at(job) : free.at(job))
        << job;
  }
}

TEST(ArtifactClock, ARestartOfNoApplicationIsRefused) {
  const auto scenario =
      scenarios::load_scenario(std::string(ORRERY_SOURCE_ROOT) + "/scenarios/device_profiles.yaml",
                               {{"timing.restart", "{speech: 5min, video: 10s}"}});
  ASSERT_TRUE(scenario);
  const auto workload = LoadedWorkload::load(*scenario);
  ASSERT_FALSE(workload);
  ASSERT_EQ(workload.errors().size(), 1U);
  EXPECT_EQ(workload.errors().front().text(),
            "timing.restart.video: is no application of the profiles; name one of speech, vision, "
            "or default, for the others");
}

// The model of a job counts whole seconds, failures do not.
TEST(ArtifactClock, AFailureStrikesBetweenTwoSeconds) {
  const auto usual = profiled({});
  for (const std::string at : {"100s", "100.5s", "100.999s"}) {
    const auto struck = profiled(
        {{"faults", "[{at: " + at + ", kind: down, node: 0}, {at: 200s, kind: up, node: 0}]"}});
    for (const auto& [job, took] : struck)
      EXPECT_GE(took, usual.at(job)) << job << ", node 0 down after " << at;
    EXPECT_NE(struck, usual) << at;
  }
}

/// Nothing takes longer beside agents than a tick, or a round.
void expect_alike(const std::map<std::string, double>& direct,
                  const std::map<std::string, double>& agents,
                  double apart_s) {
  ASSERT_EQ(direct.size(), agents.size());
  for (const auto& [job, took] : direct) EXPECT_NEAR(agents.at(job), took, apart_s) << job;
}

TEST(ArtifactClock, JobsOfProfilesEndUnderAgents) {
  expect_alike(profiled({}), profiled({{"control", "agents"}}), 60);
}

TEST(ArtifactClock, AnAgentThatDiesHoldsNothingUp) {
  const auto struck = profiled({{"faults", "[{at: 100.5s, kind: agent_crash, node: 0}]"}});
  for (const auto& [job, took] : struck) EXPECT_GT(took, 0) << job;
}

TEST(ArtifactClock, JobsOfRoundsEndUnderAgents) {
  if (!std::filesystem::exists(std::string(ORRERY_SOURCE_ROOT) + "/../shared/traces/gavel"))
    GTEST_SKIP() << "../shared/traces/gavel is not there";
  const Overrides few = {{"workload.limit", "3"}};
  Overrides agents = few;
  agents.push_back({"control", "agents"});
  expect_alike(times_of("gavel.yaml", few), times_of("gavel.yaml", agents), 360);
}

}  // namespace artifact_clock_tests
}  // namespace orrery::sim
