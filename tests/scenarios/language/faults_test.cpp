#include <gmock/gmock.h>

#include "scenarios/language/spec/node_sets.hpp"
#include "tests/scenarios/language/loading.hpp"

namespace orrery::scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string cluster_and(std::string_view rest) {
  return "cluster: {nodes: 10, gpus_per_node: 8, nodes_per_rack: 4, nodes_per_switch: 5}\n"
         "jobs: [{name: a, roles: {learner: {replicas: 2}, actor: {replicas: 4}}}]\n" +
         std::string(rest);
}

std::vector<std::uint32_t> numbers(const std::vector<NodeId>& nodes) {
  std::vector<std::uint32_t> values;
  for (const NodeId node : nodes) values.push_back(node.value);
  return values;
}

TEST(Faults, SetsOfNodesAreNamedInFourWays) {
  const Scenario scenario = load(cluster_and(R"(
faults:
  - {at: 1s, kind: down, node: 3}
  - {at: 2s, kind: down, nodes: 0-2}
  - {at: 3s, kind: link_cut, nodes: [7, 1-2], direction: to_node, lasting: 5s}
  - {at: 4s, kind: down, rack: 2, for: 1min}
  - {at: 5s, kind: cordon, switch: 1}
  - {at: 6s, kind: loss, rate: 0.1}
  - {at: 7s, kind: slow, nodes: 8-9, factor: 2}
)"));
  EXPECT_THAT(numbers(scenario.faults[0].nodes), ElementsAre(3));
  EXPECT_THAT(numbers(scenario.faults[1].nodes), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers(scenario.faults[2].nodes), ElementsAre(1, 2, 7));
  EXPECT_EQ(scenario.faults[2].direction, LinkDirection::ToNode);
  EXPECT_THAT(numbers(scenario.faults[3].nodes), ElementsAre(8, 9));
  EXPECT_EQ(scenario.faults[3].lasting, Duration::seconds(60));
  EXPECT_THAT(numbers(scenario.faults[4].nodes), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(numbers(scenario.faults[5].nodes), IsEmpty());
  EXPECT_EQ(scenario.faults[5].rate, 0.1);
  EXPECT_THAT(numbers(scenario.faults[6].nodes), ElementsAre(8, 9)) << "every worker on them";
}

TEST(Faults, RacksAreNumberedThroughAllGroups) {
  const Scenario scenario = load(R"(
cluster:
  groups:
    - {nodes: 5, nodes_per_rack: 4}
    - {nodes: 3}
    - {nodes: 4, nodes_per_rack: 2}
jobs: [{name: a}]
)");
  const auto racks = node_sets(scenario, NodeSet::Rack);
  ASSERT_EQ(racks.size(), 4U);
  EXPECT_EQ(racks[1].first, NodeId{4});
  EXPECT_EQ(racks[1].count, 1);
  EXPECT_EQ(racks[2].first, NodeId{8});
  EXPECT_EQ(set_of(racks, NodeId{4}), &racks[1]);
  EXPECT_EQ(set_of(racks, NodeId{6}), nullptr);
  EXPECT_EQ(set_of(racks, NodeId{11}), &racks[3]);
  EXPECT_TRUE(node_sets(scenario, NodeSet::Switch).empty());
}

const std::string kKinds = cluster_and(R"(
faults:
  - {kind: crash, job: a, role: actor, local: 3, exit_code: 9, times: 4,
     after_event: {event: ready, job: a, role: actor, local: 3, count: 2, delay: 500ms}}
  - {preset: software}
  - {kind: reboot_loop, at: 10s, node: 1, up_for: 20s, down_for: 5s, times: 6}
  - {kind: controller_crash, point: between_orders, lasting: 2s,
     after_event: {event: command, command: start_workers}}
  - {kind: clock_step, at: 3s, node: 2, by: -5s}
  - {kind: device_lost, at: 3s, node: 2, devices: [0, 3-4]}
  - {kind: sub_master_crash, job: a, role: actor, arrow: restart_asked}
  - {kind: controller_crash, after_event: {event: fault, fault: 2}}
)");

TEST(Faults, MayWaitForTheSoManythEvent) {
  const Scenario scenario = load(kKinds);
  const Fault& crash = scenario.faults[0];
  EXPECT_EQ(crash.times, 4);
  EXPECT_EQ(crash.every, Duration::zero()) << "each further event strikes";
  EXPECT_EQ(crash.after->event, ObservedEvent::Ready);
  EXPECT_EQ(crash.after->worker, (WorkerRef{"actor", 3}));
  EXPECT_EQ(crash.after->count, 2);
  EXPECT_EQ(crash.after->delay, Duration::milliseconds(500));
  EXPECT_EQ(scenario.faults[2].after->command, OrderKind::StartWorkers);
  EXPECT_EQ(scenario.faults[2].point, CrashPoint::BetweenOrders);
  EXPECT_EQ(scenario.faults.back().after->fault, 1U) << "processes are no single faults";
  EXPECT_EQ(scenario.faults.back().lasting, Duration::seconds(5));
}

TEST(Faults, ALoopOfRebootsIsANodeThatIsDownAgainAndAgain) {
  const Scenario scenario = load(kKinds);
  const Fault& loop = scenario.faults[1];
  EXPECT_EQ(loop.kind, FaultKind::Down);
  EXPECT_EQ(loop.lasting, Duration::seconds(5));
  EXPECT_EQ(loop.every, Duration::seconds(25));
  EXPECT_EQ(loop.times, 6);
}

TEST(Faults, KindsHaveKeysOfTheirOwn) {
  const Scenario scenario = load(kKinds);
  EXPECT_EQ(scenario.faults[3].step, Duration::seconds(-5));
  EXPECT_EQ(scenario.faults[4].devices, 0b11001U);
  EXPECT_EQ(scenario.faults[5].arrow, RoleArrow::RestartAsked);
  EXPECT_EQ(scenario.faults[5].worker.role, "actor");
}

TEST(Faults, AWorkerBlamesItselfItsNodeOrAnotherWorker) {
  const Scenario scenario = load(cluster_and(R"(
faults:
  - {at: 1s, kind: crash, job: a}
  - {at: 1s, kind: crash, job: a, blames: mine}
  - {at: 1s, kind: crash, node: 1, blames: node}
  - {at: 1s, kind: crash, job: a, blames: {rank: 5}}
  - {at: 1s, kind: crash, job: a, blames: {role: actor, local: 3}}
  - {at: 1s, kind: crash, rack: 1, blames: {role: anything}}
)"));
  EXPECT_EQ(scenario.faults[0].blames, Blamed{});
  EXPECT_EQ(scenario.faults[1].blames, (Blamed{Blame::Mine, {}}));
  EXPECT_EQ(scenario.faults[2].blames, (Blamed{Blame::Node, {}}));
  EXPECT_EQ(scenario.faults[3].blames, (Blamed{Blame::Peer, {"", 5}}));
  EXPECT_EQ(scenario.faults[4].blames, (Blamed{Blame::Peer, {"actor", 3}}));
  EXPECT_EQ(scenario.faults[5].blames, (Blamed{Blame::Peer, {"anything", 0}}));
  EXPECT_THAT(errors_of(cluster_and(R"(
faults:
  - {at: 1s, kind: crash, job: a, blames: peer}
  - {at: 1s, kind: crash, job: a, blames: {rank: 6}}
  - {at: 1s, kind: crash, job: a, blames: {role: critic}}
  - {at: 1s, kind: crash, job: a, blames: {}}
  - {at: 1s, kind: hang, job: a, blames: mine}
)")),
              ElementsAre(HasSubstr("mine, node or a worker of the job is needed"),
                          HasSubstr("is 6, but there are at most 6 such workers"),
                          HasSubstr("is 'critic', which default.a does not have"),
                          HasSubstr("rank: is missing"),
                          HasSubstr("has no meaning for kind hang")));
}

TEST(Faults, PresetsAreChangedByWhatStandsBesideThem) {
  const Scenario scenario = load(cluster_and(R"(
faults:
  - {preset: hardware, rate_per_1000_node_days: 100, lemons: {share: 0.2}}
  - {process: exponential, rate_per_1000_node_days: 3, of: link, repair: {median: 30s}}
  - {process: weibull, shape: 0.7, rate_per_1000_node_days: 3, correlated: {share: 0.1},
     mix: {fail_slow: 0.5, slow_lasting: 5min}}
)"));
  const FaultProcess& hardware = scenario.fault_processes[0];
  EXPECT_EQ(hardware.law, FaultLaw::Weibull);
  EXPECT_EQ(hardware.rate_per_1000_node_days, 100);
  EXPECT_EQ(hardware.lemons.share, 0.2);
  EXPECT_EQ(hardware.lemons.factor, 10);
  EXPECT_EQ(hardware.correlated.group, NodeSet::Switch);
  EXPECT_EQ(hardware.mix.node_swap, 0.5);
  EXPECT_EQ(scenario.fault_processes[1].of, ProcessSubject::Link);
  EXPECT_EQ(scenario.fault_processes[2].mix.node_swap, 0) << "another part is written";
  EXPECT_EQ(scenario.fault_processes[2].correlated.group, NodeSet::Rack);
}

TEST(Faults, MonthsOfFailuresAndTheRelaunchExtension) {
  const Scenario scenario = load(cluster_and(R"(
failures:
  lanl: {file: records.csv, system: 18, from: 2002-11-30, days: 7, scale_nodes: false}
  rates: {llama3: true, nodes: 2048, lasting: 54d}
relaunch: {answer: partial, count: 2}
must_fail: true
)"));
  EXPECT_EQ(scenario.failures.lanl->system, 18);
  EXPECT_EQ(scenario.failures.lanl->from_month, 11);
  EXPECT_FALSE(scenario.failures.lanl->scale_nodes);
  EXPECT_EQ(scenario.failures.llama3->nodes, 2048);
  EXPECT_EQ(scenario.relaunch.answer, RelaunchAnswer::Partial);
  EXPECT_EQ(scenario.relaunch.after, Duration::seconds(60));
  EXPECT_TRUE(scenario.must_fail);
  EXPECT_EQ(load(cluster_and("")).relaunch.answer, RelaunchAnswer::None);
}

TEST(Faults, KeysThatAKindDoesNotHaveAreReported) {
  EXPECT_THAT(errors_of(cluster_and(R"(
faults:
  - {at: 1s, kind: slow, job: a}
  - {at: 1s, kind: down, node: 1, rack: 0}
  - {at: 1s, kind: down, rack: 3}
  - {at: 1s, kind: store_fail, node: 1}
  - {at: 1s, kind: crash, job: a, after_event: {event: epoch, job: a}}
  - {kind: up, node: 1}
  - {at: 1s, kind: up, node: 1, times: 3}
)")),
              ElementsAre(HasSubstr("factor: is missing"),
                          HasSubstr("has several of node, nodes, rack and switch"),
                          HasSubstr("but the cluster has 0 to 2"),
                          HasSubstr("has no meaning for kind store_fail"),
                          HasSubstr("stands beside 'at'"),
                          HasSubstr("has no meaning for event epoch"),
                          HasSubstr("at: is missing"),
                          HasSubstr("stands without 'every'")));
}

}  // namespace
}  // namespace orrery::scenarios
