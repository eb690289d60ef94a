// Environments of processes that a placement places.
#include "core/workers/plan_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/random.hpp"
#include "tests/core/workers/grids.hpp"

namespace orrery::workers {
namespace plan_environment_tests {

using placement::GroupDeclaration;
using placement::Inventory;
using placement::InventoryNode;
using placement::PlacementErrors;
using placement::PlacementRule;
using placement::Plan;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Two nodes of four A800, one of two MI300, one robot node of two arms without accelerators.
Inventory inventory() {
  std::vector<InventoryNode> nodes(4);
  nodes[0] = nodes[1] = {4, "A800", DeviceVendor::Nvidia};
  nodes[2] = {2, "MI300", DeviceVendor::Amd};
  GroupDeclaration big;
  big.label = {"a800", {}};
  big.node_ranks = {"0-1", {}};
  big.environments.push_back({{"1", {}},
                              {{"NCCL_DEBUG", "INFO"}, {"PATH", "/opt/a800"}, {"RANK", "7"}},
                              {{}, {}, {}},
                              "/venvs/a800/bin/python",
                              {}});
  GroupDeclaration amd;
  amd.label = {"mi300", {}};
  amd.node_ranks = {"2", {}};
  GroupDeclaration robots;
  robots.label = {"arms", {}};
  robots.node_ranks = {"3", {}};
  placement::GroupHardware hardware;
  hardware.type = {"Arm", {}};
  hardware.entries = {{3, {{"serial", "a"}}, {}}, {3, {{"serial", "b"}}, {}}};
  robots.hardware = hardware;
  placement::HardwareType arm;
  arm.name = "Arm";
  arm.any_field = true;
  PlacementErrors errors;
  Inventory out = placement::make_inventory(nodes, {big, amd, robots}, {arm}, errors);
  for (const placement::PlacementError& error : errors) ADD_FAILURE() << error.message();
  return out;
}

PlacementRule rule(std::string components, std::string group, std::string text) {
  PlacementRule out;
  out.components = {std::move(components), {}};
  out.node_groups = {{std::move(group), {}}};
  out.placement = placement::PlacedText{std::move(text), {}};
  return out;
}

Plan plan_of(const Inventory& on, bool isolate = true) {
  PlacementErrors errors;
  Plan out;
  out.isolate_accelerators = isolate;
  out.components = placement::resolve_components(on,
                                                 {rule("actor", "a800", "0-7:0-3"),
                                                  rule("rollout", "mi300", "0-1"),
                                                  rule("arm", "arms", "0-1"),
                                                  rule("agent", "node", "0-3")},
                                                 errors);
  for (const placement::PlacementError& error : errors) ADD_FAILURE() << error.message();
  return out;
}

std::vector<std::string> lines(const WorkerEnvironment& environment, std::string_view prefix = {}) {
  std::vector<std::string> out;
  for (const KeyValue& variable : environment.variables)
    if (std::string_view(variable.key).starts_with(prefix))
      out.push_back(variable.key + "=" + variable.value);
  return out;
}

std::string value(const WorkerEnvironment& environment, std::string_view name) {
  const std::string* found = environment.find(name);
  return found == nullptr ? "(none)" : *found;
}

TEST(PlanEnvironment, IsThatOfTheProcessWhereItIsPlaced) {
  const Inventory on = inventory();
  PlanSurroundings surroundings;
  surroundings.addresses = {"10.0.0.1", "10.0.0.2"};
  surroundings.sources.node = {{"PATH", "/bin"}};
  const WorkerEnvironment found =
      environment_of(on, plan_of(on), "actor", 2, WorkerFamily::RLinf, surroundings).value();
  EXPECT_THAT(lines(found),
              ElementsAre("ACCELERATOR_MODEL=A800",
                          "ACCELERATOR_TYPE=NV_GPU",
                          "CATCH_SYSTEM_FAILURE=0",
                          "CLUSTER_NAMESPACE=default.placed",
                          "CLUSTER_NODE_RANK=1",
                          "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                          "CUDA_VISIBLE_DEVICES=0,1",
                          "GROUP_NAME=actor",
                          "ISOLATE_ACCELERATOR=1",
                          "LOCAL_ACCELERATOR_RANK=0",
                          "LOCAL_HARDWARE_RANKS=0,1",
                          "LOCAL_RANK=0",
                          "LOCAL_WORLD_SIZE=1",
                          "MASTER_ADDR=10.0.0.1",
                          "MASTER_PORT=22270",
                          "MUJOCO_EGL_DEVICE_ID=0",
                          "NCCL_CUMEM_ENABLE=0",
                          "NCCL_DEBUG=INFO",
                          "NODE_GROUP_LABEL=a800",
                          "NODE_LOCAL_RANK=0",
                          "NODE_LOCAL_WORLD_SIZE=2",
                          "NODE_RANK=1",
                          "ORRERY_CLUSTER_NODE=1",
                          "ORRERY_DEVICES=0,1",
                          "ORRERY_DEVICE_INDEXES=0,1",
                          "ORRERY_GENERATION=1",
                          "ORRERY_INCARNATION=1",
                          "ORRERY_JOB=default.placed",
                          "ORRERY_LOCAL_RANK=2",
                          "ORRERY_NODES=4",
                          "ORRERY_NODE_LOCAL_RANK=0",
                          "ORRERY_NODE_LOCAL_WORLD_SIZE=3",
                          "ORRERY_NODE_RANK=1",
                          "ORRERY_RANK=2",
                          "ORRERY_ROLE=actor",
                          "ORRERY_ROLE_WORLD_SIZE=4",
                          "ORRERY_WORLD_SIZE=12",
                          "PATH=/opt/a800:/bin",
                          "RANK=2",
                          "RAY_ACTOR=1",
                          "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1",
                          "TORCH_NCCL_AVOID_RECORD_STREAMS=1",
                          "VISIBLE_DEVICES=0,1",
                          "WORKER_NAME=actor:2",
                          "WORLD_SIZE=4"));
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_EQ(found.notes.front().message(),
            "node group variable RANK: found '7', used '2': it identifies the worker; leave "
            "it out");
}

TEST(PlanEnvironment, FollowsVendorHardwareAndNodeOfTheProcess) {
  const Inventory on = inventory();
  const Plan plan = plan_of(on);
  const WorkerEnvironment rollout = environment_of(on, plan, "rollout", 1).value();
  EXPECT_EQ(value(rollout, "HIP_VISIBLE_DEVICES"), "1");
  EXPECT_EQ(value(rollout, "MASTER_ADDR"), "node-2");
  EXPECT_EQ(value(rollout, "MASTER_PORT"), "22270");
  const WorkerEnvironment arm = environment_of(on, plan, "arm", 1).value();
  EXPECT_EQ(value(arm, "LOCAL_HARDWARE_RANKS"), "1");
  EXPECT_EQ(value(arm, "ORRERY_HARDWARE"), "1");
  EXPECT_EQ(value(arm, "ACCELERATOR_TYPE"), "NO_ACCEL");
  EXPECT_EQ(value(arm, "LOCAL_ACCELERATOR_RANK"), "-1");
  EXPECT_EQ(value(arm, "LOCAL_RANK"), "1") << "its place among its peers";
  const WorkerEnvironment agent = environment_of(on, plan, "agent", 1).value();
  EXPECT_EQ(value(agent, "CUDA_VISIBLE_DEVICES"), "0,1,2,3") << "rule P16";
  EXPECT_EQ(value(agent, "ORRERY_DEVICES"), "");
  EXPECT_EQ(value(agent, "LOCAL_HARDWARE_RANKS"), "");
  EXPECT_EQ(value(agent, "ISOLATE_ACCELERATOR"), "1");
}

TEST(PlanEnvironment, WithoutIsolationTheLocalRankIsTheIndexOfTheFirstOwnDevice) {
  const Inventory on = inventory();
  const Plan plan = plan_of(on, false);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    const WorkerEnvironment found = environment_of(on, plan, "actor", rank).value();
    EXPECT_EQ(value(found, "CUDA_VISIBLE_DEVICES"), "0,1,2,3");
    EXPECT_EQ(value(found, "LOCAL_RANK"), rank % 2 == 0 ? "0" : "2");
    EXPECT_EQ(value(found, "LOCAL_WORLD_SIZE"), "2");
    EXPECT_EQ(value(found, "ISOLATE_ACCELERATOR"), "0");
  }
}

TEST(PlanEnvironment, TheInterpreterOfTheNodeTellsItsVirtualEnvironment) {
  const Inventory on = inventory();
  const Plan plan = plan_of(on);
  EXPECT_THAT(lines(environment_of(on, plan, "actor", 3, WorkerFamily::NemoRl).value(), "VIRTUAL"),
              ElementsAre("VIRTUAL_ENV=/venvs/a800"));
  EXPECT_THAT(lines(environment_of(on, plan, "actor", 0, WorkerFamily::NemoRl).value(), "VIRTUAL"),
              IsEmpty());
}

TEST(PlanEnvironment, RefusesProcessesThatThePlanDoesNotHave) {
  const Inventory on = inventory();
  const Plan plan = plan_of(on);
  EXPECT_THAT(refusals(environment_of(on, plan, "critic", 0)),
              ElementsAre("placement: found no component critic, needed one of actor, rollout, "
                          "arm, agent; choose one of them"));
  EXPECT_THAT(refusals(environment_of(on, plan, "actor", 4)),
              ElementsAre("component actor: found rank 4, needed 0 to 3; choose one of them"));
  EXPECT_THAT(refusals(environment_of(on, plan, "actor", -1)), ElementsAre(HasSubstr("rank -1")));
  EXPECT_THAT(refusals(memberships_of(on, plan, "x")), ElementsAre(HasSubstr("no component x")));
}

TEST(PlanEnvironment, AllOfAComponentAreThoseOfItsProcesses) {
  const Inventory on = inventory();
  const Plan plan = plan_of(on);
  for (const placement::ComponentPlan& component : plan.components) {
    const std::vector<WorkerEnvironment> all = environments_of(on, plan, component.name).value();
    ASSERT_EQ(all.size(), component.processes.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const WorkerEnvironment one =
          environment_of(on, plan, component.name, static_cast<std::int32_t>(rank)).value();
      EXPECT_EQ(all[rank].variables, one.variables);
      EXPECT_EQ(all[rank].notes, one.notes);
    }
  }
}

Inventory random_inventory(Random& random, PlacementErrors& errors) {
  std::vector<InventoryNode> nodes(static_cast<std::size_t>(random.between(1, 4)));
  for (InventoryNode& node : nodes) {
    node.accelerators = static_cast<std::int32_t>(random.between(1, 8));
    node.vendor = DeviceVendor{static_cast<std::uint8_t>(random.below(4))};
  }
  return placement::make_inventory(nodes, {}, {}, errors);
}

Plan random_plan(const Inventory& on, Random& random, PlacementErrors& errors) {
  std::int32_t devices = 0;
  for (const InventoryNode& node : on.nodes) devices += node.accelerators;
  const std::string last = std::to_string(devices - 1);
  const std::string processes = std::to_string(random.below(static_cast<std::uint64_t>(devices)));
  Plan out;
  out.isolate_accelerators = random.chance(0.5);
  out.components =
      placement::resolve_components(on,
                                    {rule("one", "cluster", "0-" + last + ":0-" + processes),
                                     rule("each", "cluster", "all"),
                                     rule("nodes", "node", "all")},
                                    errors);
  return out;
}

void expect_members_fit(const Inventory& on,
                        const Plan& plan,
                        const placement::ComponentPlan& component) {
  std::vector<std::int32_t> node_by_rank;
  for (const placement::Process& process : component.processes)
    node_by_rank.push_back(process.node_rank);
  const std::vector<PeerPlace> places = places_of(node_by_rank);
  const std::vector<Membership> all = memberships_of(on, plan, component.name).value();
  ASSERT_EQ(all.size(), component.processes.size());
  for (const placement::Process& process : component.processes) {
    const Membership& found = all[static_cast<std::size_t>(process.rank)];
    EXPECT_EQ(found.in_role, places[static_cast<std::size_t>(process.rank)]);
    EXPECT_EQ(found.cluster_node, process.node_rank);
    EXPECT_EQ(found.devices.assigned, process.devices);
    if (plan.isolate_accelerators && !process.devices.empty()) {
      EXPECT_EQ(found.devices.visible, process.devices);
    }
    for (const std::int32_t device : found.devices.visible)
      EXPECT_LT(device, on.nodes[static_cast<std::size_t>(process.node_rank)].accelerators);
  }
}

TEST(PlanEnvironmentProperty, EveryProcessOfAnyAcceptedPlacementSeesItsDevicesOnItsNode) {
  const std::uint64_t seed = 8080;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int accepted = 0;
  for (int round = 0; round < 300; ++round) {
    PlacementErrors errors;
    const Inventory on = random_inventory(random, errors);
    const Plan plan = random_plan(on, random, errors);
    if (!errors.empty()) continue;
    ++accepted;
    for (const placement::ComponentPlan& component : plan.components)
      expect_members_fit(on, plan, component);
  }
  EXPECT_GT(accepted, 50);
}

}  // namespace plan_environment_tests
}  // namespace orrery::workers
