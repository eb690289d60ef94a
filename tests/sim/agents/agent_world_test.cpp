// Jobs under agents, while the network, the agents, the controller and its store fail.
#include <gmock/gmock.h>

#include "tests/sim/agents/agent_runs.hpp"

namespace orrery::sim {
namespace {

using testing::IsEmpty;

/// Four nodes, three jobs, and time to finish them all.
scenarios::Scenario scenario_with(const std::string& faults, std::uint64_t seed = 1) {
  auto scenario = scenarios::parse_scenario(R"(
cluster: {nodes: 4, gpus_per_node: 4}
control: agents
until: 12min
timing: {start: 5s, checkpoint_interval: 20s, stop: 1s}
jobs:
  - {name: a, replicas: 4, backoff_limit: 10, work: 120s}
  - {name: b, replicas: 4, backoff_limit: 10, at: 5s, work: 120s}
  - {name: c, preemptible: true, replicas: {min: 1, max: 4}, backoff_limit: 10, at: 10s,
     work: 240s}
faults: [)" + faults + "]\n",
                                            "s.yaml",
                                            {});
  if (!scenario) {
    for (const Error& error : scenario.errors()) ADD_FAILURE() << error.text();
    return {};
  }
  scenario->seed = seed;
  return std::move(*scenario);
}

struct FaultCase {
  const char* name;
  const char* faults;
};

class AgentWorldFaults : public testing::TestWithParam<FaultCase> {};

TEST_P(AgentWorldFaults, EveryJobFinishesAndNoDeviceIsHeldTwice) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const scenarios::Scenario scenario = scenario_with(GetParam().faults, seed);
    TruthTap tap;
    const AgentOutcome once = run_scenario(scenario, &tap);
    EXPECT_EQ(once.jobs_finished, 3u);
    EXPECT_THAT(tap.found, IsEmpty());
    EXPECT_EQ(tap.living(), 0u) << "processes outlive their jobs";
    EXPECT_EQ(run_scenario(scenario).digest, once.digest) << "the same seed decides alike";
  }
}

INSTANTIATE_TEST_SUITE_P(
    All,
    AgentWorldFaults,
    testing::Values(
        FaultCase{"None", ""},
        FaultCase{"LongCut", "{at: 40s, kind: link_cut, node: 0, lasting: 30s}"},
        FaultCase{"ShortCut", "{at: 40s, kind: link_cut, node: 0, lasting: 5s}"},
        FaultCase{"CutToNode",
                  "{at: 40s, kind: link_cut, node: 0, direction: to_node, lasting: 20s}"},
        FaultCase{"CutFromNode",
                  "{at: 40s, kind: link_cut, node: 0, direction: from_node, lasting: 20s}"},
        FaultCase{"EveryLinkCut", "{at: 40s, kind: link_cut, lasting: 20s}"},
        FaultCase{"Loss", "{at: 1s, kind: loss, rate: 0.2, lasting: 100s}"},
        FaultCase{"Duplication", "{at: 1s, kind: duplication, rate: 0.5, lasting: 100s}"},
        FaultCase{"Reordering", "{at: 1s, kind: reordering, window: 3s, lasting: 100s}"},
        FaultCase{"Latency", "{at: 1s, kind: latency, added: 2s, lasting: 100s}"},
        FaultCase{"Bandwidth", "{at: 1s, kind: bandwidth, factor: 0.00001, lasting: 100s}"},
        FaultCase{"AgentCrash", "{at: 40s, kind: agent_crash, node: 0, lasting: 5s}"},
        FaultCase{"AgentLost", "{at: 40s, kind: agent_crash, node: 0, lasting: 25s}"},
        FaultCase{"NodeDown", "{at: 40s, kind: down, node: 0, lasting: 60s}"},
        FaultCase{"ControllerCrash", "{at: 40s, kind: controller_crash}"},
        FaultCase{"CrashBeforeDurable", "{at: 4s, kind: controller_crash, point: before_durable}"},
        FaultCase{"CrashAfterDurable", "{at: 4s, kind: controller_crash, point: after_durable}"},
        FaultCase{"CrashBetweenOrders", "{at: 4s, kind: controller_crash, point: between_orders}"},
        FaultCase{"CrashAtTheFirstSubmission",
                  "{at: 0s, kind: controller_crash, point: after_durable}"},
        FaultCase{"SecondLeader", "{at: 40s, kind: second_leader}"},
        FaultCase{"Pause", "{at: 40s, kind: controller_pause, lasting: 20s}"},
        FaultCase{"StoreSlow", "{at: 3s, kind: store_slow, added: 2s, lasting: 60s}"},
        FaultCase{"StoreFail", "{at: 40s, kind: store_fail, lasting: 20s}"},
        FaultCase{"StoreTorn", "{at: 4s, kind: store_torn}"},
        FaultCase{"Clocks",
                  "{at: 40s, kind: clock_step, by: 1h}, {at: 50s, kind: controller_crash}, "
                  "{at: 60s, kind: clock_step, node: 1, by: -1h}"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(AgentWorld, NothingRestartsWhereNothingFails) {
  TruthTap tap;
  const AgentOutcome outcome = run_scenario(scenario_with(""), &tap);
  EXPECT_EQ(outcome.restarts, 0u);
  EXPECT_EQ(tap.started, 4 + 4 + 1);
  EXPECT_EQ(tap.by_agents + tap.by_shims, 0);
}

TEST(AgentWorld, ANewLeaderRestartsNoHealthyWorker) {
  const AgentOutcome calm = run_scenario(scenario_with(""));
  TruthTap tap;
  const AgentOutcome outcome =
      run_scenario(scenario_with("{at: 40s, kind: controller_crash}"), &tap);
  EXPECT_EQ(outcome.restarts, 0u);
  EXPECT_EQ(tap.by_agents + tap.by_shims, 0) << "a successor comes before the leases run out";
  EXPECT_NE(outcome.digest, calm.digest);
}

TEST(AgentWorld, AnAgentThatReturnsInTimeAdoptsItsWorkers) {
  TruthTap calm;
  run_scenario(scenario_with(""), &calm);
  TruthTap tap;
  run_scenario(scenario_with("{at: 40s, kind: agent_crash, node: 0, lasting: 4s}"), &tap);
  EXPECT_EQ(tap.started, calm.started);
  EXPECT_EQ(tap.by_shims, 0);
}

TEST(AgentWorld, TheShimsFenceWhereTheAgentIsDead) {
  TruthTap tap;
  run_scenario(scenario_with("{at: 40s, kind: agent_crash, node: 0, lasting: 25s}"), &tap);
  EXPECT_EQ(tap.by_shims, 1);
  EXPECT_EQ(tap.by_agents, 0);
}

TEST(AgentWorld, AnAgentThatIsCutOffFencesItself) {
  TruthTap tap;
  run_scenario(scenario_with("{at: 40s, kind: link_cut, node: 0, lasting: 25s}"), &tap);
  EXPECT_EQ(tap.by_shims, 0);
  EXPECT_EQ(tap.by_agents, 4);
}

}  // namespace
}  // namespace orrery::sim
