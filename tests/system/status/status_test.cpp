// What a user reads of a job, taken from runs.

#include "core/control/status.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/control/user_events.hpp"
#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/run/run.hpp"

namespace orrery {
namespace {

/// Keeps the status of every job after each step that told something, by phase and reason.
class StatusKeeper final : public sim::RunListener {
 public:
  void on_notices(std::span<const Notice> notices,
                  const State& state,
                  const sim::JobTable&) override {
    for (const Notice& notice : notices) {
      events.push_back(user_event(notice));
      if (const JobState* job = state.find(notice.job))
        seen[{job->spec->name, job->row.phase}] = status_of(state, *job);
    }
  }

  std::map<std::pair<std::string, JobPhase>, JobStatus> seen;
  std::vector<UserEvent> events;
};

StatusKeeper run(std::string_view yaml) {
  StatusKeeper keeper;
  const auto scenario = scenarios::parse_scenario(yaml, "status.yaml");
  EXPECT_TRUE(scenario.has_value()) << (scenario ? "" : scenario.errors().front().text());
  const auto workload = sim::LoadedWorkload::load(*scenario);
  auto policy = policies::make_policy("fifo");
  sim::RunOptions options;
  options.listeners.push_back(&keeper);
  EXPECT_TRUE(sim::run_model(*scenario, *workload, **policy, options).has_value());
  return keeper;
}

constexpr std::string_view kOneWaitsOneFails = R"(
cluster: {nodes: 1, gpus_per_node: 4}
jobs:
  - {name: first, gpus: 4, work: {duration: 60s}}
  - {name: second, at: 1s, gpus: 2, backoff_limit: 1, work: {duration: 60s},
     workers: [{rank: 0, after: 5s, exit: 7, times: 5}]}
)";

TEST(Status, SaysWhatAWaitingJobNeeds) {
  StatusKeeper keeper = run(kOneWaitsOneFails);
  const JobStatus& waiting = keeper.seen[{"default.second", JobPhase::Pending}];
  EXPECT_EQ(waiting.message, "needs 2 devices at once, 0 are free");
  EXPECT_EQ(waiting.replicas, 0);
}

TEST(Status, SaysWhichNodesTakeNoJob) {
  StatusKeeper keeper = run(R"(
cluster: {nodes: 3, gpus_per_node: 4}
jobs:
  - {name: runs, gpus: 2, work: {duration: 60s}}
  - {name: waits, at: 50s, gpus: 4, replicas: 2, work: {duration: 60s}}
faults:
  - {at: 10s, kind: cordon, node: 1, for: 100s}
  - {at: 10s, kind: down, node: 2, for: 100s}
)");
  const JobStatus& waiting = keeper.seen[{"default.waits", JobPhase::Pending}];
  EXPECT_EQ(waiting.message,
            "needs 8 devices at once, 2 are free; 8 more devices are on nodes that take no job "
            "now (1 excluded, 1 silent)");
}

TEST(Status, CountsWorkersByRole) {
  StatusKeeper keeper = run(kOneWaitsOneFails);
  const JobStatus& running = keeper.seen[{"default.first", JobPhase::Running}];
  ASSERT_EQ(running.roles.size(), 1U);
  EXPECT_EQ(running.roles[0].ready, running.target);
  EXPECT_EQ(running.ready_replicas, running.replicas);
  EXPECT_EQ(running.devices, 4);
}

TEST(Status, NamesTheLimitThatEndedAJob) {
  StatusKeeper keeper = run(kOneWaitsOneFails);
  const JobStatus& failed = keeper.seen[{"default.second", JobPhase::Failed}];
  EXPECT_EQ(failed.message,
            "the limit backoff_limit is passed: 2 failures, 1 is allowed; the last: worker 0 on "
            "node-0 ended with exit code 7");
  EXPECT_EQ(failed.ready_replicas, 0);
  EXPECT_TRUE(failed.roles.empty());
  EXPECT_FALSE(failed.completed.is_never());
}

TEST(Status, ExactlyOneConditionIsTrue) {
  StatusKeeper keeper = run(kOneWaitsOneFails);
  for (const auto& [key, status] : keeper.seen) {
    const auto holding = std::count_if(status.conditions.begin(),
                                       status.conditions.end(),
                                       [](const Condition& c) { return c.status; });
    EXPECT_EQ(holding, 1) << key.first;
  }
}

TEST(UserEvents, WarnOfRestartsAndFailuresOnly) {
  std::map<std::string, Severity> severity;
  for (const UserEvent& event : run(kOneWaitsOneFails).events)
    severity[event.name] = event.severity;
  EXPECT_EQ(severity["JobRunning"], Severity::Normal);
  EXPECT_EQ(severity["JobSucceeded"], Severity::Normal);
  EXPECT_EQ(severity["JobRestarting"], Severity::Warning);
  EXPECT_EQ(severity["JobFailed"], Severity::Warning);
}

}  // namespace
}  // namespace orrery
