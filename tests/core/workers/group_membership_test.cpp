// Worker groups on formed virtual clusters.
#include "core/workers/group_membership.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/workers/worker_environment.hpp"
#include "core/workers/worker_group.hpp"
#include "tests/core/vcluster/builders.hpp"
#include "tests/core/workers/grids.hpp"

namespace orrery::workers {
namespace group_membership_tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A group on a virtual cluster that is formed on nodes which are all free.
struct Formed {
  VirtualClusterSpec cluster;
  WorkerGroupSpec group;
  std::vector<vcluster::BundlePlace> places;
  std::size_t nodes = 0;
  std::int32_t devices = 0;

  Formed(VirtualClusterSpec spec, WorkerGroupSpec workers, std::int32_t count, std::int32_t each)
      : cluster(std::move(spec)),
        group(std::move(workers)),
        nodes(static_cast<std::size_t>(count)),
        devices(each) {
    const std::vector<vcluster::BundleRequest> requests{{&cluster, DeviceModelId::none()}};
    const vcluster::Forming forming = vcluster::form(vcluster::nodes(count, each), requests);
    EXPECT_EQ(forming.outcome, vcluster::Outcome::Formed) << forming.reason;
    if (!forming.clusters.empty()) places = forming.clusters.front();
  }

  FormedGroup as(std::string prefix, bool has_engines) const {
    FormedGroup out;
    out.prefix = std::move(prefix);
    out.cluster = &cluster;
    out.group = &group;
    out.places = places;
    out.has_engines = has_engines;
    return out;
  }

  std::vector<NodeFacts> facts() const {
    std::vector<NodeFacts> out;
    for (std::size_t node = 0; node < nodes; ++node)
      out.push_back({"10.0.0." + std::to_string(node), devices, DeviceVendor::Nvidia, "H100"});
    return out;
  }

  Result<std::vector<GroupMember>> members(std::string prefix,
                                           bool has_engines = false,
                                           std::span<const EngineSeat> others = {}) const {
    return members_of(as(std::move(prefix), has_engines), facts(), others);
  }
};

WorkerGroupSpec tied(std::vector<TiedBundles> groups) {
  WorkerGroupSpec out;
  out.virtual_cluster = "train";
  out.tied = std::move(groups);
  return out;
}

/// "name@node sees 0,1 index 0 bundles 0,1 port 7000".
std::vector<std::string> told(const Result<std::vector<GroupMember>>& members) {
  if (!members) return refusals(members);
  std::vector<std::string> out;
  for (const GroupMember& member : *members) {
    const Membership& one = member.membership;
    std::string line = member.name + "@" + std::to_string(one.cluster_node) + " has " +
                       number_list(one.devices.assigned) + " sees " +
                       number_list(one.devices.visible);
    if (!one.group.bundles.empty()) line += " leads " + number_list(one.group.bundles);
    if (one.group.engine_port > 0) line += " at " + std::to_string(one.group.engine_port);
    out.push_back(line);
  }
  return out;
}

TEST(GroupMembership, TiedGroupsHaveALeaderThatSeesTheDevicesOfItsEngine) {
  const Formed formed(vcluster::cluster({4, 4}, BundleStrategy::StrictSpread),
                      tied({{0, {0, 1}}, {0, {2, 3}}, {1, {0, 1, 2, 3}}}),
                      2,
                      4);
  EXPECT_THAT(told(formed.members("vllm", true)),
              ElementsAre("vllm-grp0-0@0 has 0 sees 0,1 leads 0,1 at 7000",
                          "vllm-grp0-1@0 has 1 sees 1",
                          "vllm-grp1-0@0 has 2 sees 2,3 leads 2,3 at 7100",
                          "vllm-grp1-1@0 has 3 sees 3",
                          "vllm-grp2-0@1 has 0 sees 0,1,2,3 leads 0,1,2,3 at 7000",
                          "vllm-grp2-1@1 has 1 sees 1",
                          "vllm-grp2-2@1 has 2 sees 2",
                          "vllm-grp2-3@1 has 3 sees 3"));
}

TEST(GroupMembership, AWorkerPerBundleLeadsItself) {
  const Formed formed(vcluster::cluster({2, 1}), {"train", {}, {}}, 2, 2);
  EXPECT_THAT(told(formed.members("policy")),
              ElementsAre("policy-0-0@0 has 0 sees 0 leads 0",
                          "policy-0-1@0 has 1 sees 1 leads 1",
                          "policy-1-0@1 has 0 sees 0 leads 0"));
}

TEST(GroupMembership, AnEngineOfAUnifiedClusterGoesOnOnTheNextNode) {
  VirtualClusterSpec spec = vcluster::cluster({2, 2});
  spec.unified = true;
  const Formed formed(spec, tied({{0, {0, 1, 2, 3}}}), 2, 2);
  EXPECT_THAT(told(formed.members("g", true)),
              ElementsAre("g-grp0-0@0 has 0 sees 0,1 leads 0,1,2,3 at 7000",
                          "g-grp0-1@0 has 1 sees 1",
                          "g-grp0-2@1 has 0 sees 0",
                          "g-grp0-3@1 has 1 sees 1"));
}

TEST(GroupMembership, EnginesOfOtherGroupsOnTheSameDevicesKeepTheirPorts) {
  const Formed formed(vcluster::cluster({2}), tied({{0, {0}}, {0, {1}}}), 1, 2);
  const std::vector<EngineSeat> others = engines_of(formed.as("first", true));
  ASSERT_EQ(others.size(), 2U);
  EXPECT_THAT(told(formed.members("second", true, others)),
              ElementsAre(HasSubstr("second-0-0@0 has 0 sees 0 leads 0 at 7100"),
                          HasSubstr("second-0-1@0 has 1 sees 1 leads 1 at 7300")));
  EXPECT_THAT(engines_of(formed.as("trainer", false)), IsEmpty());
}

TEST(GroupMembership, MoreEnginesThanANodeHasPortsForAreRefused) {
  const Formed formed(vcluster::cluster({21}), {"train", {}, {}}, 1, 21);
  EXPECT_THAT(told(formed.members("g", true)), ElementsAre(HasSubstr("engine 20: found no port")));
  EXPECT_EQ(formed.members("g", false)->size(), 21U);
}

TEST(GroupMembership, GivesTheWholeEnvironmentOfANemoRlWorker) {
  const Formed formed(vcluster::cluster({2, 2}, BundleStrategy::StrictSpread),
                      tied({{0, {0, 1}}, {1, {0, 1}}}),
                      2,
                      2);
  FormedGroup group = formed.as("vllm", true);
  group.master_port = 1500;
  group.ports = {1501, 1502, 1501, 1502};
  const std::vector<GroupMember> members = members_of(group, formed.facts()).value();
  Membership leader = members[2].membership;
  leader.job = "default.grpo";
  std::vector<std::string> lines;
  for (const KeyValue& variable : environment_of(WorkerFamily::NemoRl, leader, {}).variables)
    if (!variable.key.starts_with("ORRERY_")) lines.push_back(variable.key + "=" + variable.value);
  EXPECT_THAT(lines,
              ElementsAre("AVAILABLE_ADDR_LIST=['10.0.0.0', '10.0.0.0', '10.0.0.1', '10.0.0.1']",
                          "AVAILABLE_PORT_LIST=[1501, 1502, 1501, 1502]",
                          "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                          "CUDA_VISIBLE_DEVICES=0,1",
                          "LOCAL_RANK=0",
                          "MASTER_ADDR=10.0.0.0",
                          "MASTER_PORT=1500",
                          "MUJOCO_EGL_DEVICE_ID=0",
                          "NODE_RANK=1",
                          "NRL_WORKER_GROUP=vllm",
                          "RANK=2",
                          "VLLM_PORT=7000",
                          "WORLD_SIZE=4"));
}

using DeviceOfNode = std::pair<std::int32_t, std::int32_t>;

void expect_members_fit(const std::vector<GroupMember>& members, const WorkerGroupLayout& layout) {
  ASSERT_EQ(members.size(), layout.workers.size());
  std::set<DeviceOfNode> ports;
  std::set<DeviceOfNode> held;
  std::set<DeviceOfNode> shown;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const Membership& member = members[rank].membership;
    EXPECT_EQ(members[rank].name, layout.workers[rank].name);
    const std::span<const std::int32_t> told = layout.bundles_of(static_cast<std::int32_t>(rank));
    EXPECT_EQ(member.group.bundles, std::vector<std::int32_t>(told.begin(), told.end()));
    for (const std::int32_t device : member.devices.assigned)
      EXPECT_TRUE(held.emplace(member.cluster_node, device).second);
    if (!layout.workers[rank].is_leader()) {
      EXPECT_EQ(member.devices.visible, member.devices.assigned);
      continue;
    }
    EXPECT_TRUE(ports.emplace(member.cluster_node, member.group.engine_port).second);
    for (const std::int32_t device : member.devices.visible)
      EXPECT_TRUE(shown.emplace(member.cluster_node, device).second)
          << "two engines see one device";
  }
  EXPECT_TRUE(std::ranges::includes(held, shown));
}

TEST(GroupMembershipProperty, MembersFitTheLayoutAndEnginesShareNothing) {
  const std::uint64_t seed = 1905;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 200; ++round) {
    const auto nodes = static_cast<std::int32_t>(random.between(1, 4));
    const auto devices = static_cast<std::int32_t>(random.between(1, 8));
    const auto bundles = static_cast<std::int32_t>(random.between(1, devices));
    VirtualClusterSpec spec =
        vcluster::cluster(std::vector<std::int32_t>(static_cast<std::size_t>(nodes), bundles));
    spec.unified = random.chance(0.3);
    const WorkerGroupSpec group =
        random.chance(0.3) ? WorkerGroupSpec{"train", {}, {}}
                           : tied(random_tied_groups(bundles_by_logical_node(spec), random));
    const Formed formed(spec, group, nodes, devices);
    expect_members_fit(formed.members("w", true).value(), lay_out("w", spec, group).value());
  }
}

}  // namespace group_membership_tests
}  // namespace orrery::workers
