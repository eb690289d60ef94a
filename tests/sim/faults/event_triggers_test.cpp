// Faults that wait for an event, in runs of world model.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/expectations/expectations.hpp"
#include "sim/run/run.hpp"

namespace orrery::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// Strikes as (index, second), and what was expected in vain.
class Listener : public RunListener {
 public:
  explicit Listener(const scenarios::Scenario& scenario) : judge(scenario) {}

  void on_submitted(JobId id, const JobSpec& spec, const JobFacts& facts) override {
    judge.on_job(id, spec.name, facts.submitted);
  }

  void on_notices(std::span<const Notice> notices, const State& state, const JobTable&) override {
    judge.on_notices(notices, state);
  }

  void on_struck(std::uint32_t index, Instant now) override {
    judge.on_fault(index, now);
    strikes.emplace_back(index, now.in_seconds());
  }

  ExpectationJudge judge;
  std::vector<std::pair<std::uint32_t, double>> strikes;
};

struct Outcome {
  std::vector<std::pair<std::uint32_t, double>> strikes;
  std::vector<std::string> unmet;
  std::vector<std::string> remarks;
};

/// Two roles, `first` of two replicas and `second` of three, on two nodes; starts take 5 s.
Outcome run(const std::string& faults) {
  const auto scenario = scenarios::parse_scenario(R"(
cluster: {nodes: 2, gpus_per_node: 8}
timing: {start: 5s, checkpoint_interval: 20s}
jobs:
  - {name: a, recovery: job, backoff_limit: 10, backoff_base: 1s,
     roles: {first: {replicas: 2}, second: {replicas: 3}}, work: 100s}
faults:
)" + faults,
                                                  "s.yaml",
                                                  {});
  if (!scenario) {
    for (const Error& error : scenario.errors()) ADD_FAILURE() << error.text();
    return {};
  }
  const auto policy = policies::make_policy("fifo", {});
  const auto workload = LoadedWorkload::load(*scenario);
  if (!policy || !workload) {
    ADD_FAILURE() << "no policy or workload";
    return {};
  }
  Listener listener(*scenario);
  RunOptions options;
  options.listeners = {&listener};
  const auto report = run_model(*scenario, *workload, **policy, options);
  EXPECT_TRUE(report.has_value());
  return {listener.strikes,
          listener.judge.unmet(),
          report ? report->warnings : std::vector<std::string>()};
}

TEST(EventTriggers, AFaultStrikesADelayAfterItsEvent) {
  const Outcome outcome =
      run("  - {kind: crash, job: a, after_event: {event: phase, job: a, phase: Running, delay: "
          "7s}}\n");
  EXPECT_THAT(outcome.strikes, ElementsAre(Pair(0, 12)));
}

TEST(EventTriggers, EachFurtherEventStrikesWhereNoTimeStandsBetween) {
  const Outcome outcome = run(
      "  - {kind: crash, job: a, rank: 1, times: 2, after_event: {event: phase, phase: Running}}\n"
      "expect: [{job: a, restarts: 2}]\n");
  // Running at 5 s; the second time after a backoff of 1 s and a start of 5 s.
  EXPECT_THAT(outcome.strikes, ElementsAre(Pair(0, 5), Pair(0, 11)));
  EXPECT_THAT(outcome.unmet, IsEmpty());
}

TEST(EventTriggers, StrikesMayRepeatByTimeAfterOneEvent) {
  const Outcome outcome =
      run("  - {kind: up, node: 0, times: 3, every: 4s, after_event: {event: ready}}\n");
  EXPECT_THAT(outcome.strikes, ElementsAre(Pair(0, 5), Pair(0, 9), Pair(0, 13)));
}

TEST(EventTriggers, WorkersAreCountedByRole) {
  const Outcome outcome =
      run("  - {kind: crash, job: a, role: second, local: 2, at: 10s}\n"
          "  - {kind: up, node: 0, after_event: {event: exit, job: a, role: second, local: 2}}\n"
          "  - {kind: up, node: 0, after_event: {event: exit, job: a, role: first, local: 0}}\n"
          "  - {kind: up, node: 0, after_event: {event: ready, job: a, role: second, local: 0, "
          "count: 2}}\n");
  EXPECT_THAT(outcome.strikes[0], Pair(0, 10));
  EXPECT_THAT(outcome.strikes[1], Pair(1, 10));
  // A worker of the role that was stopped for the job's restart exits as well.
  EXPECT_EQ(outcome.strikes.back().first, 3U);
}

TEST(EventTriggers, CheckpointsThatAreWrittenMayBeWaitedFor) {
  const Outcome outcome =
      run("  - {kind: up, node: 0, after_event: {event: checkpoint, job: a, delay: 2s}}\n"
          "  - {kind: up, node: 0, after_event: {event: checkpoint, count: 3}}\n");
  // Work begins at 5 s, a checkpoint is written every 20 s.
  EXPECT_THAT(outcome.strikes, ElementsAre(Pair(0, 27), Pair(1, 65)));
}

TEST(EventTriggers, NodesOrdersAndOtherFaults) {
  const Outcome outcome = run(
      "  - {kind: down, node: 0, at: 30s, lasting: 30s}\n"
      "  - {kind: up, node: 1, after_event: {event: fault, fault: 0, delay: 1s}}\n"
      "  - {kind: up, node: 1, after_event: {event: node_silent, node: 0}}\n"
      "  - {kind: up, node: 1, after_event: {event: node_returned, node: 0}}\n"
      "  - {kind: up, node: 1, after_event: {event: command, command: start_workers, count: 2}}\n"
      "  - {kind: up, node: 1, after_event: {event: epoch}}\n"
      "expect: [{job: a, phase: Restarting, after: {fault: 2}, within: 1s}]\n");
  std::vector<std::uint32_t> struck;
  std::vector<double> at(6);
  for (const auto& [index, second] : outcome.strikes) {
    struck.push_back(index);
    at[index] = second;
  }
  EXPECT_EQ(at[1], 31);
  EXPECT_EQ(at[2], 40) << "the lease ran out";
  EXPECT_EQ(at[3], 60);
  EXPECT_THAT(struck, testing::UnorderedElementsAre(0, 1, 2, 3, 4)) << "no leader changes";
  EXPECT_THAT(outcome.remarks,
              ElementsAre("faults[5] never struck: its event (epoch) came 0 of 1 times"));
}

}  // namespace
}  // namespace orrery::sim
