// Where roles sit: placements, virtual clusters, worker groups and turns.
#include <gmock/gmock.h>

#include "tests/scenarios/language/loading.hpp"

namespace orrery::scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two nodes of four a800, one of two l40s with an arm.
std::string on_groups(std::string_view jobs) {
  return R"(cluster:
  groups:
    - {name: big, nodes: 2, gpus_per_node: 4, gpu: a800, nodes_per_nvlink_domain: 2, vendor: amd}
    - {name: small, nodes: 1, gpus_per_node: 2, gpu: l40s, hardware: {Franka: 2, Cam: 1}}
)" + std::string(jobs);
}

TEST(Placement, NodeGroupsHaveDomainsVendorAndHardware) {
  const Scenario scenario = load(on_groups("jobs: [{name: a, work: 1s}]\n"));
  EXPECT_EQ(scenario.groups[0].nodes_per_nvlink_domain, 2);
  EXPECT_EQ(scenario.groups[0].vendor, DeviceVendor::Amd);
  EXPECT_THAT(scenario.groups[1].hardware,
              ElementsAre(HardwareCount{"Franka", 2}, HardwareCount{"Cam", 1}));
}

TEST(Placement, ARoleTakesWhatItsProcessesSitOn) {
  const JobSpec spec = load(on_groups(R"(
jobs:
  - name: a
    take_turns: [actor, rollout, half]
    roles:
      actor: {placement: "0-7:0-3"}
      rollout: {placement: {node_group: "big, small", placement: "0-1,8-9"}}
      half: {placement: {node_group: [small], placement: "0-1:0-5"}}
      arms: {placement: {node_group: Franka, placement: all}, cpu: 2}
)"))
                           .jobs[0]
                           .spec;
  const auto takes = [&](std::size_t role) {
    const RoleSpec& r = spec.roles[role];
    return std::tuple{
        r.min_replicas, r.bundle.devices, r.bundle.share.thousandths, r.bundle.device_model};
  };
  EXPECT_EQ(takes(0), std::tuple(4, 2, 1000, "a800"));
  EXPECT_EQ(takes(1), std::tuple(4, 1, 1000, ""));
  EXPECT_EQ(takes(2), std::tuple(6, 1, 333, "l40s"));
  EXPECT_EQ(takes(3), std::tuple(2, 0, 1000, ""));
  EXPECT_EQ(spec.roles[3].bundle.cpu.count, 2000);
  EXPECT_THAT(spec.roles[1].placements[0].node_groups, ElementsAre("big", "small"));
  EXPECT_EQ(spec.roles[1].placements[0].text, "0-1,8-9");
  EXPECT_THAT(spec.roles[0].placements[0].node_groups, IsEmpty());
  ASSERT_EQ(spec.take_turns.size(), 1U);
  EXPECT_THAT(spec.take_turns[0].roles, ElementsAre("actor", "rollout", "half"));
}

TEST(Placement, TheSizesOfAnElasticRoleAreItsRange) {
  const JobSpec spec =
      load(with_cluster("jobs: [{name: a, placements: {4: 0-3, 2: {placement: 4-5}}}]"))
          .jobs[0]
          .spec;
  EXPECT_TRUE(spec.preemptible);
  EXPECT_EQ(spec.roles[0].min_replicas, 2);
  EXPECT_EQ(spec.roles[0].max_replicas, 4);
  ASSERT_EQ(spec.roles[0].placements.size(), 2U);
  EXPECT_EQ(spec.roles[0].placements[0].text, "4-5");
}

TEST(Placement, WhatIsSaidTwiceMustAgree) {
  const Scenario sound =
      load(on_groups("jobs: [{name: a, placement: 0-3, replicas: 4, devices: 1, gpu: a800}]"));
  EXPECT_EQ(sound.jobs[0].spec.roles[0].min_replicas, 4);
  EXPECT_THAT(errors_of(on_groups(R"(jobs:
  - name: a
    placement: 0-3
    replicas: {min: 1, max: 4}
    devices: 2
    gpu: l40s
  - name: b
    placements: {2: "0-1", 3: "0-3"}
)")),
              ElementsAre(HasSubstr("test.yaml:8: job a: replicas: is 1 to 4, but 4 processes"),
                          HasSubstr("test.yaml:9: job a: devices: is 2, but the placement gives a "
                                    "process 1;"),
                          HasSubstr("test.yaml:10: job a: gpu: is l40s, but the placement is on "
                                    "a800;"),
                          HasSubstr("test.yaml:12: job b: placements.3: found 4 processes, needed "
                                    "3;")));
}

TEST(Placement, EverythingWrongWithATextIsTold) {
  const auto errors = errors_of(with_cluster(R"(jobs:
  - name: a
    roles:
      actor: {placement: "0-9,x"}
      rollout:
        placement: {node_group: none, placement: "0-1"}
      reward: {placement: [0, 1]}
)"));
  ASSERT_GE(errors.size(), 4U);
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("job a: roles."));
    EXPECT_THAT(error, HasSubstr("; ")) << "no remedy";
  }
  EXPECT_THAT(errors.front(), HasSubstr("test.yaml:5: job a: roles.actor.placement: found "));
  EXPECT_THAT(errors[errors.size() - 2], HasSubstr("test.yaml:7: job a: roles.rollout.placement"));
  EXPECT_THAT(errors.back(), HasSubstr("test.yaml:8: job a: roles.reward.placement: is a list"));
}

TEST(Placement, RolesOnTheSameDevicesMustTakeTurns) {
  const std::string jobs = R"(jobs:
  - name: a
    roles:
      actor: {placement: "0-3"}
      rollout: {placement: "6-7"}
      reward: {placement: "3-4"}
)";
  EXPECT_THAT(errors_of(with_cluster(jobs)),
              ElementsAre("test.yaml:7: job a: roles.reward.placement: found role reward on device "
                          "3 of node 0, where role actor sits too, needed devices of its own, or "
                          "turns; place one of them elsewhere, or write take_turns: [[actor, "
                          "reward]]"));
  EXPECT_EQ(load(with_cluster(jobs + "    take_turns: [[reward, actor]]\n"))
                .jobs[0]
                .spec.take_turns.size(),
            1U);
}

TEST(Placement, AWorkerGroupHasTheBundlesOfItsVirtualCluster) {
  const JobSpec spec = load(on_groups(R"(
jobs:
  - name: a
    virtual_clusters:
      train: {nodes: 2, bundles_per_node: 2, gpu: a800, max_worker_groups: 2, cpu: 2}
      serve: {bundles_per_node: [2], devices_per_bundle: 2, unified: true, strategy: spread,
              segment_by: nvlink_domain, segment_size: 1, memory: 8GiB}
    roles:
      actor: {virtual_cluster: train}
      critic: {workers: {virtual_cluster: train, per_node: 1}, cpu: 1}
      engine: {workers: {virtual_cluster: serve, tied: [{node: 0, bundles: [0, 1]}]}}
)"))
                           .jobs[0]
                           .spec;
  ASSERT_EQ(spec.virtual_clusters.size(), 2U);
  EXPECT_THAT(spec.virtual_clusters[0].bundles_per_node, ElementsAre(2, 2));
  EXPECT_EQ(spec.virtual_clusters[1].strategy, BundleStrategy::Spread);
  EXPECT_EQ(spec.virtual_clusters[1].segment_by, SegmentBy::NvlinkDomain);
  EXPECT_EQ(spec.roles[0].min_replicas, 4);
  EXPECT_EQ(spec.roles[0].bundle.device_model, "a800");
  EXPECT_EQ(spec.roles[0].bundle.cpu.count, 2000);
  EXPECT_EQ(spec.roles[1].min_replicas, 2);
  EXPECT_EQ(spec.roles[1].bundle.cpu.count, 1000);
  EXPECT_EQ(spec.roles[2].min_replicas, 2);
  EXPECT_EQ(spec.roles[2].bundle.devices, 2);
  EXPECT_EQ(spec.roles[2].bundle.memory.count, std::int64_t{8} << 30);
  EXPECT_THAT(spec.roles[2].workers.tied[0].bundles, ElementsAre(0, 1));
}

TEST(Placement, TheShortFormIsAWorkerGroupToo) {
  const Scenario scenario = load(with_cluster(R"(
jobs:
  - {name: a, virtual_clusters: {x: {bundles_per_node: 3}}, virtual_cluster: x}
  - {name: b, virtual_clusters: {x: {bundles_per_node: 3}}, workers: {virtual_cluster: x, per_node: 2}}
)"));
  EXPECT_EQ(scenario.jobs[0].spec.roles[0].min_replicas, 3);
  EXPECT_EQ(scenario.jobs[1].spec.roles[0].min_replicas, 2);
}

TEST(Placement, WorkerGroupsSayWhatIsWrongWithThem) {
  EXPECT_THAT(errors_of(with_cluster(R"(jobs:
  - name: a
    virtual_clusters: {train: {nodes: 2}}
    roles:
      actor: {virtual_cluster: trian}
      critic: {virtual_cluster: train, placement: "0"}
      other: {workers: [0]}
)")),
              ElementsAre(HasSubstr("virtual_clusters.train.bundles_per_node: is missing"),
                          HasSubstr("did you mean 'train'?"),
                          HasSubstr("stands beside a virtual cluster"),
                          HasSubstr("roles.other.workers: is a list"),
                          HasSubstr("roles.other.workers.virtual_cluster: is missing")));
}

TEST(Placement, OverridesReachPlacements) {
  const std::string text = with_cluster("jobs: [{name: a, roles: {actor: {placement: 0-1}}}]");
  EXPECT_EQ(
      load(text, {{"jobs[0].roles.actor.placement", "0-5"}}).jobs[0].spec.roles[0].min_replicas, 6);
  EXPECT_THAT(errors_of(text, {{"jobs[0].roles.actor.placement", "0-8"}}),
              ElementsAre(HasSubstr("--set jobs[0].roles.actor.placement=0-8: job a: "
                                    "roles.actor.placement: found ")));
}

TEST(Placement, HardwareIsCountedByType) {
  EXPECT_THAT(errors_of("cluster: {nodes: 1, hardware: {Franka: 0, node: 1}, vendor: intel}\n"
                        "jobs: [{name: a, work: 1s}]\n"),
              ElementsAre(HasSubstr("cluster.vendor: is 'intel'"),
                          HasSubstr("cluster.hardware.Franka: is '0', a whole number from 1 to 64"),
                          HasSubstr("cluster.hardware.node: is no name of a type")));
}

}  // namespace
}  // namespace orrery::scenarios
