#include "scenarios/language/loader.hpp"

#include <gmock/gmock.h>

#include "tests/scenarios/language/loading.hpp"

namespace orrery::scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Loader, ASmallScenarioGetsTheDocumentedDefaults) {
  const Scenario scenario = load("cluster: {nodes: 4}\njobs: [{name: a}]\n");
  EXPECT_EQ(scenario.name, "test");
  EXPECT_EQ(scenario.seed, 1U);
  EXPECT_EQ(scenario.world, World::Model);
  EXPECT_EQ(scenario.policy.name, "fifo");
  EXPECT_EQ(scenario.groups[0].devices, 8);
  EXPECT_EQ(scenario.settings.node_lease, Duration::seconds(10));
  EXPECT_TRUE(scenario.until.is_never());
}

TEST(Loader, APlacerIsNamedBesideThePolicy) {
  EXPECT_EQ(load(with_cluster("jobs: [{name: a}]\n")).settings.placer, "");
  EXPECT_EQ(load(with_cluster("jobs: [{name: a}]\nplacer: most_free\n")).settings.placer,
            "most_free/1");
  EXPECT_THAT(errors_of(with_cluster("jobs: [{name: a}]\nplacer: worst_fit\n")),
              ElementsAre(HasSubstr("placer: is 'worst_fit', the name of a placer is needed: "
                                    "best_fit/1, most_free/1, fgd/1, ")));
  EXPECT_THAT(errors_of(with_cluster("jobs: [{name: a}]\nplacer: []\n")),
              ElementsAre(HasSubstr("placer: is an empty list, a text is needed")));
}

TEST(Loader, AKeyWithoutANameIsShown) {
  EXPECT_THAT(errors_of(with_cluster("jobs: [{name: a}]\n'': 3\n")),
              ElementsAre(HasSubstr(": '': is no key here")));
}

TEST(Loader, InstantsAreExactUnlessJitterIsAskedFor) {
  EXPECT_FALSE(load(with_cluster("jobs: [{name: a}]\n")).jitter.any());
  const Scenario timers = load(with_cluster("jobs: [{name: a}]\njitter: {timers: 5ms}\n"));
  EXPECT_EQ(timers.jitter.timers, Duration::milliseconds(5));
  EXPECT_FALSE(timers.needs_agents());
  const Scenario all = load(with_cluster(
      "jobs: [{name: a}]\njitter: {timers: 5us, batches: 1s, planner: 3s, clocks_ppm: 500}\n"));
  EXPECT_EQ(all.jitter.batches, Duration::seconds(1));
  EXPECT_EQ(all.jitter.planner, Duration::seconds(3));
  EXPECT_EQ(all.jitter.clocks_ppm, 500);
  EXPECT_TRUE(all.needs_agents());
}

TEST(Loader, ClocksDriftNoFurtherThanLeasesAllow) {
  const std::string job = "jobs: [{name: a}]\ncontroller: {node_lease: 10s, fence_margin: 1s}\n";
  EXPECT_EQ(load(with_cluster(job + "jitter: {clocks_ppm: 49000}\n")).jitter.clocks_ppm, 49'000);
  EXPECT_THAT(errors_of(with_cluster(job + "jitter: {clocks_ppm: 50000}\n")),
              ElementsAre(HasSubstr("lets an agent outlive its lease")));
  EXPECT_THAT(errors_of(with_cluster(job + "jitter: {timers: 1s}\n")),
              ElementsAre(HasSubstr("jitter.timers")));
}

TEST(Loader, ClustersMayHaveGroupsAndQuotas) {
  const Scenario scenario = load(R"(
cluster:
  groups:
    - {name: big, nodes: 2, gpus_per_node: 8, gpu: h200, cpu: 96, memory: 2TiB, nodes_per_rack: 2}
    - {nodes: 3, devices_per_node: 0}
quotas: {group/vision: 8, namespace/rl: 16}
jobs: [{name: a}]
)");
  EXPECT_EQ(scenario.groups[0].device_model, "h200");
  EXPECT_EQ(scenario.groups[0].nodes_per_rack, 2);
  EXPECT_EQ(scenario.groups[1].name, "group-1");
  EXPECT_EQ(scenario.groups[1].device_model, "");
  EXPECT_EQ(scenario.node_count(), 5);
  EXPECT_EQ(scenario.quotas[1].scope, "namespace/rl");
}

TEST(Loader, PoliciesCarryTheirParametersWithPlaces) {
  const Scenario scenario = load(
      "cluster: {nodes: 1}\njobs: [{name: a}]\npolicy:\n  name: tiresias\n  threshold: [1, 2]\n");
  EXPECT_EQ(scenario.policy.name, "tiresias");
  EXPECT_EQ(scenario.policy.parameters[0].value, "1,2");
  EXPECT_EQ(scenario.policy.parameters[0].place, "test.yaml:5");
}

TEST(Loader, QueuesBecomeAParameterOfThePolicy) {
  const Scenario scenario = load(R"(
cluster: {nodes: 2, gpus_per_node: 8}
policy:
  name: las
  queues:
    half_life: 12h
    resources: [devices, cpu]
    default: product
    tree:
      - {name: research, weight: 3, limit: 75%, borrow: 4}
      - {name: vision, parent: research, user_limit: 8, users: {alice: 0.5}}
      - {name: product, guarantee: 4, priority: 1, reclaim: false, borrow: false}
jobs: [{name: alice.a, group: vision}]
)");
  ASSERT_EQ(scenario.policy.parameters.size(), 1U);
  EXPECT_EQ(scenario.policy.parameters[0].key, "queues");
  EXPECT_EQ(scenario.policy.parameters[0].value,
            "half_life=43200s resources=devices,cpu default=product; research weight=3 limit=75% "
            "borrow=4; vision parent=research user_limit=8 users=alice:0.5; product priority=1 "
            "guarantee=4 borrow=0 reclaim=false");
  EXPECT_EQ(scenario.policy.parameters[0].place, "test.yaml:6");
}

TEST(Loader, ReportsEverythingAtOnceByLine) {
  EXPECT_THAT(errors_of(R"(sead: 3
cluster: {nodes: 0, gpus_per_node: many}
timing:
  start: 5
  start: 6s
jobs:
  - {name: a, work: 300}
  - {name: b, preemptible: yes}
)"),
              ElementsAre("test.yaml:1: sead: is no key here, the nearest is 'seed'; rename or "
                          "remove it",
                          HasSubstr("test.yaml:2: cluster.nodes: is '0', a whole number from 1"),
                          HasSubstr("test.yaml:2: cluster.gpus_per_node: is 'many'"),
                          HasSubstr("test.yaml:4: timing.start: is '5', a time with a unit"),
                          HasSubstr("test.yaml:5: timing.start: stands twice"),
                          HasSubstr("test.yaml:7: job a: work: is '300', a time with a unit"),
                          HasSubstr("test.yaml:8: job b: preemptible: is 'yes', true or false")));
}

TEST(Loader, AFidelityThatTheWorldLacksIsBadInput) {
  EXPECT_THAT(errors_of(with_cluster("world: model\nfidelity: L2\njobs: [{name: a}]\n")),
              ElementsAre(HasSubstr("fidelity: is L2, which world model lacks")));
}

TEST(Loader, PolluxTimingHasItsOwnKeys) {
  EXPECT_EQ(load(with_cluster("timing: pollux\njobs: [{name: a}]\n")).timing.mode,
            TimingMode::Pollux);
  EXPECT_THAT(errors_of(with_cluster("timing: {mode: pollux, start: 3s}\njobs: [{name: a}]\n")),
              ElementsAre(HasSubstr("has no meaning under mode pollux")));
}

TEST(Loader, ATimeMayVaryByQuantilesAtEqualSteps) {
  const Timing timing =
      load(
          with_cluster("timing: {start: {quantiles: [2s, 3s, 9s]}, stop: 4s}\njobs: [{name: a}]\n"))
          .timing;
  EXPECT_EQ(timing.start, Duration::seconds(3));
  const TimeSpread& start = timing.spread.start;
  EXPECT_EQ(start.at(0), Duration::seconds(2));
  EXPECT_EQ(start.at(0.25), Duration::milliseconds(2500));
  EXPECT_EQ(start.at(0.75), Duration::seconds(6));
  EXPECT_EQ(start.at(1), Duration::seconds(9));
  EXPECT_TRUE(timing.spread.stop.empty());
  EXPECT_THAT(errors_of(with_cluster(R"(timing:
  start: {quantiles: [3s, 2s]}
  stop: {quantiles: [3s]}
  restore: {quantiles: [3s, 4]}
  rescale: {}
jobs: [{name: a}]
)")),
              ElementsAre(HasSubstr("timing.start.quantiles: do not ascend"),
                          HasSubstr("timing.stop.quantiles: has fewer than two times"),
                          HasSubstr("timing.restore.quantiles: is '4', a time with a unit"),
                          HasSubstr("timing.rescale.quantiles: is missing")));
}

TEST(Loader, ATextThatNamesACalibrationOpensNothing) {
  EXPECT_THAT(errors_of(with_cluster("calibration: measured.yaml\njobs: [{name: a}]\n")),
              ElementsAre(HasSubstr("calibration: names a file, which is opened for scenarios in "
                                    "files only")));
}

TEST(Loader, EmptyAndForeignTextsAreBadInput) {
  EXPECT_THAT(errors_of(""), ElementsAre(HasSubstr("cluster: is missing")));
  EXPECT_THAT(errors_of("just words"), ElementsAre(HasSubstr("a map is needed")));
  EXPECT_FALSE(errors_of("a: [").empty());
  EXPECT_EQ(load_scenario("no/such.yaml").errors().front().text(),
            "no/such.yaml: scenario: cannot be read, a readable file is needed; check the path");
}

}  // namespace
}  // namespace orrery::scenarios
