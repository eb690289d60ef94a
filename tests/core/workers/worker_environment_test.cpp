// Whole environments of the workers of a small job on two nodes, for each family.
#include "core/workers/worker_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/random.hpp"

namespace orrery::workers {
namespace worker_environment_tests {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Job default.rl: actors on nodes 4, 4, 7, 7 (job ranks 0 to 3), critics on 7, 4 (ranks 4 and 5).
/// Each node has two devices; actor i holds device i % 2 of its node, critics hold none.
Membership member(std::int32_t rank, Sight sight = Sight::Own) {
  const std::vector<std::int32_t> nodes{4, 4, 7, 7, 7, 4};
  const bool is_actor = rank < 4;
  Membership out;
  out.job = "default.rl";
  out.role = is_actor ? "actor" : "critic";
  out.generation = Generation{3};
  out.incarnation = Incarnation{2};
  out.in_job = places_of(nodes)[static_cast<std::size_t>(rank)];
  out.role_rank = is_actor ? rank : rank - 4;
  const std::vector<std::int32_t> of_role(nodes.begin() + (is_actor ? 0 : 4),
                                          is_actor ? nodes.begin() + 4 : nodes.end());
  out.in_role = places_of(of_role)[static_cast<std::size_t>(out.role_rank)];
  out.job_master = {"10.0.0.4", 1400};
  out.role_master = {is_actor ? "10.0.0.4" : "10.0.0.7", is_actor ? 1401 : 1402};
  out.cluster_node = nodes[static_cast<std::size_t>(rank)];
  out.device_model = "H100";
  out.devices = device_view(is_actor ? 1U << (rank % 2) : 0, 2, sight);
  out.isolate = sight == Sight::Own;
  return out;
}

std::vector<std::string> lines(const WorkerEnvironment& environment) {
  std::vector<std::string> out;
  for (const KeyValue& variable : environment.variables)
    out.push_back(variable.key + "=" + variable.value);
  return out;
}

std::string value(const WorkerEnvironment& environment, std::string_view name) {
  const std::string* found = environment.find(name);
  return found == nullptr ? "(none)" : *found;
}

TEST(PlacesOf, CountNodesByFirstAppearanceAndWorkersOnThem) {
  const std::vector<std::int32_t> nodes{7, 7, 4, 7, 4};
  EXPECT_THAT(places_of(nodes),
              ElementsAre(PeerPlace{0, 5, 0, 2, 0, 3},
                          PeerPlace{1, 5, 0, 2, 1, 3},
                          PeerPlace{2, 5, 1, 2, 0, 2},
                          PeerPlace{3, 5, 0, 2, 2, 3},
                          PeerPlace{4, 5, 1, 2, 1, 2}));
  EXPECT_THAT(places_of({}), IsEmpty());
}

TEST(LocalPlace, IsTheIndexOfADeviceForThoseThatHaveOne) {
  const auto at = [](std::int32_t rank, Sight sight) {
    const Membership worker = member(rank, sight);
    const LocalPlace place = local_place(worker.devices, worker.in_job);
    return std::to_string(place.rank) + "/" + std::to_string(place.size);
  };
  EXPECT_EQ(at(3, Sight::Own), "0/1") << "alone with its device";
  EXPECT_EQ(at(3, Sight::Node), "1/3") << "device 1 of the node's two";
  EXPECT_EQ(at(0, Sight::Node), "0/3");
  EXPECT_EQ(at(4, Sight::Own), "2/3") << "no device: its place among its peers";
  EXPECT_EQ(at(4, Sight::Node), "2/3");
}

TEST(WorkerEnvironment, OfANativeWorker) {
  EXPECT_THAT(lines(environment_of(WorkerFamily::Native, member(3), {})),
              ElementsAre("CUDA_DEVICE_ORDER=PCI_BUS_ID",
                          "CUDA_VISIBLE_DEVICES=1",
                          "MUJOCO_EGL_DEVICE_ID=1",
                          "ORRERY_CLUSTER_NODE=7",
                          "ORRERY_DEVICES=1",
                          "ORRERY_DEVICE_INDEXES=0",
                          "ORRERY_GENERATION=3",
                          "ORRERY_INCARNATION=2",
                          "ORRERY_JOB=default.rl",
                          "ORRERY_LOCAL_RANK=3",
                          "ORRERY_NODES=2",
                          "ORRERY_NODE_LOCAL_RANK=1",
                          "ORRERY_NODE_LOCAL_WORLD_SIZE=3",
                          "ORRERY_NODE_RANK=1",
                          "ORRERY_RANK=3",
                          "ORRERY_ROLE=actor",
                          "ORRERY_ROLE_WORLD_SIZE=4",
                          "ORRERY_WORLD_SIZE=6"));
}

/// Without the variables that every family has.
std::vector<std::string> beyond_native(WorkerFamily family, const Membership& worker) {
  const std::vector<std::string> native = lines(environment_of(WorkerFamily::Native, worker, {}));
  std::vector<std::string> out = lines(environment_of(family, worker, {}));
  for (const std::string& line : native) EXPECT_THAT(out, Contains(line));
  std::erase_if(out, [&](const std::string& line) {
    return std::ranges::find(native, line) != native.end();
  });
  return out;
}

TEST(WorkerEnvironment, OfATorchWorkerWithADevice) {
  Membership worker = member(3);
  worker.restarts = Restarts{1, 3};
  worker.network_interface = "eth0";
  EXPECT_THAT(beyond_native(WorkerFamily::Torch, worker),
              ElementsAre("GLOO_SOCKET_IFNAME=eth0",
                          "GROUP_RANK=1",
                          "GROUP_WORLD_SIZE=2",
                          "LOCAL_RANK=0",
                          "LOCAL_WORLD_SIZE=1",
                          "MASTER_ADDR=10.0.0.4",
                          "MASTER_PORT=1400",
                          "NCCL_SOCKET_IFNAME=eth0",
                          "NODE_RANK=1",
                          "RANK=3",
                          "ROLE_NAME=actor",
                          "ROLE_RANK=3",
                          "ROLE_WORLD_SIZE=4",
                          "TORCHELASTIC_MAX_RESTARTS=3",
                          "TORCHELASTIC_RESTART_COUNT=1",
                          "TORCHELASTIC_RUN_ID=default.rl",
                          "TORCHELASTIC_USE_AGENT_STORE=False",
                          "WORLD_SIZE=6"));
}

TEST(WorkerEnvironment, OfATorchWorkerWithoutADevice) {
  Membership worker = member(5);
  worker.job_master = {};
  worker.in_role.reset();
  EXPECT_THAT(beyond_native(WorkerFamily::Torch, worker),
              ElementsAre("GROUP_RANK=0",
                          "GROUP_WORLD_SIZE=2",
                          "LOCAL_RANK=2",
                          "LOCAL_WORLD_SIZE=3",
                          "NODE_RANK=0",
                          "RANK=5",
                          "ROLE_NAME=critic",
                          "ROLE_RANK=1",
                          "WORLD_SIZE=6"));
}

TEST(WorkerEnvironment, OfAnRlinfWorkerThatIsIsolated) {
  EXPECT_THAT(beyond_native(WorkerFamily::RLinf, member(3)),
              ElementsAre("ACCELERATOR_MODEL=H100",
                          "ACCELERATOR_TYPE=NV_GPU",
                          "CATCH_SYSTEM_FAILURE=0",
                          "CLUSTER_NAMESPACE=default.rl",
                          "CLUSTER_NODE_RANK=7",
                          "GROUP_NAME=actor",
                          "ISOLATE_ACCELERATOR=1",
                          "LOCAL_ACCELERATOR_RANK=1",
                          "LOCAL_HARDWARE_RANKS=1",
                          "LOCAL_RANK=0",
                          "LOCAL_WORLD_SIZE=1",
                          "MASTER_ADDR=10.0.0.4",
                          "MASTER_PORT=1401",
                          "NCCL_CUMEM_ENABLE=0",
                          "NODE_GROUP_LABEL=cluster",
                          "NODE_LOCAL_RANK=1",
                          "NODE_LOCAL_WORLD_SIZE=2",
                          "NODE_RANK=1",
                          "RANK=3",
                          "RAY_ACTOR=1",
                          "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1",
                          "TORCH_NCCL_AVOID_RECORD_STREAMS=1",
                          "VISIBLE_DEVICES=1",
                          "WORKER_NAME=actor:3",
                          "WORLD_SIZE=4"));
}

TEST(WorkerEnvironment, OfAnRlinfRobotWorkerThatSeesTheNode) {
  Membership worker = member(5, Sight::Node);
  worker.node_group = "franka";
  worker.hardware = {1};
  worker.cluster_namespace = "RLinf";
  worker.catch_failures = true;
  EXPECT_THAT(beyond_native(WorkerFamily::RLinf, worker),
              ElementsAre("ACCELERATOR_MODEL=H100",
                          "ACCELERATOR_TYPE=NV_GPU",
                          "CATCH_SYSTEM_FAILURE=1",
                          "CLUSTER_NAMESPACE=RLinf",
                          "CLUSTER_NODE_RANK=4",
                          "GROUP_NAME=critic",
                          "ISOLATE_ACCELERATOR=0",
                          "LOCAL_ACCELERATOR_RANK=0",
                          "LOCAL_HARDWARE_RANKS=1",
                          "LOCAL_RANK=0",
                          "LOCAL_WORLD_SIZE=1",
                          "MASTER_ADDR=10.0.0.7",
                          "MASTER_PORT=1402",
                          "NCCL_CUMEM_ENABLE=0",
                          "NODE_GROUP_LABEL=franka",
                          "NODE_LOCAL_RANK=0",
                          "NODE_LOCAL_WORLD_SIZE=1",
                          "NODE_RANK=1",
                          "RANK=1",
                          "RAY_ACTOR=1",
                          "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1",
                          "TORCH_NCCL_AVOID_RECORD_STREAMS=1",
                          "VISIBLE_DEVICES=0,1",
                          "WORKER_NAME=critic:1",
                          "WORLD_SIZE=2"));
}

TEST(WorkerEnvironment, OfANemoRlLeader) {
  Membership worker = member(2);
  worker.interpreter = "/venvs/vllm/bin/python";
  worker.group.prefix = "vllm_policy";
  worker.group.logical_node = 1;
  worker.group.bundles = {0, 1};
  worker.group.engine_port = 7000;
  worker.group.endpoints = std::make_shared<const std::vector<Endpoint>>(
      std::vector<Endpoint>{{"10.0.0.4", 1410}, {"10.0.0.4", 1411}, {"10.0.0.7", 1410}});
  EXPECT_THAT(beyond_native(WorkerFamily::NemoRl, worker),
              ElementsAre("AVAILABLE_ADDR_LIST=['10.0.0.4', '10.0.0.4', '10.0.0.7']",
                          "AVAILABLE_PORT_LIST=[1410, 1411, 1410]",
                          "LOCAL_RANK=0",
                          "MASTER_ADDR=10.0.0.4",
                          "MASTER_PORT=1401",
                          "NODE_RANK=1",
                          "NRL_WORKER_GROUP=vllm_policy",
                          "RANK=2",
                          "UV_PROJECT_ENVIRONMENT=/venvs/vllm",
                          "VIRTUAL_ENV=/venvs/vllm",
                          "VLLM_PORT=7000",
                          "WORLD_SIZE=4"));
  const WorkerEnvironment whole = environment_of(WorkerFamily::NemoRl, worker, {});
  EXPECT_EQ(value(whole, "ORRERY_BUNDLES"), "0,1");
  EXPECT_EQ(value(whole, "ORRERY_ENGINE_PORT"), "7000");
}

TEST(WorkerEnvironment, OfANemoRlWorkerOnAProcessorAlone) {
  Membership worker = member(5);
  worker.interpreter = "python3";
  EXPECT_THAT(beyond_native(WorkerFamily::NemoRl, worker),
              ElementsAre("LOCAL_RANK=0",
                          "MASTER_ADDR=10.0.0.7",
                          "MASTER_PORT=1402",
                          "NODE_RANK=1",
                          "NRL_WORKER_GROUP=critic",
                          "RANK=1",
                          "WORLD_SIZE=2"));
}

TEST(WorkerEnvironment, OfADLRoverWorker) {
  EXPECT_THAT(beyond_native(WorkerFamily::DLRover, member(3)),
              ElementsAre("ACCELERATE_TORCH_DEVICE=cuda:0",
                          "LOCAL_RANK=0",
                          "LOCAL_WORLD_SIZE=1",
                          "MASTER_ADDR=10.0.0.4",
                          "MASTER_PORT=1401",
                          "NAME=actor_4-3_2-1",
                          "NODE_RANK=1",
                          "RANK=3",
                          "WORLD_SIZE=4"));
}

TEST(WorkerEnvironment, ADLRoverWorkerKnowsItsDeviceByPyTorchsName) {
  const auto device = [](Membership worker) {
    return value(environment_of(WorkerFamily::DLRover, worker, {}), "ACCELERATE_TORCH_DEVICE");
  };
  Membership worker = member(3);
  worker.vendor = DeviceVendor::Amd;
  EXPECT_EQ(device(worker), "cuda:0");
  worker.vendor = DeviceVendor::Ascend;
  EXPECT_EQ(device(worker), "npu:0");
  worker.vendor = DeviceVendor::Custom;
  EXPECT_EQ(device(worker), "privateuseone:0");
  worker.devices = device_view({2, 3}, Sight::Node, {0, 1, 2, 3}, 4);
  EXPECT_EQ(device(worker), "privateuseone:2") << "of those that it sees";
  worker.devices = {};
  EXPECT_EQ(device(worker), "cpu");
}

TEST(WorkerEnvironment, SourcesWinInTheirOrderAndComputedVariablesStand) {
  EnvironmentSources sources;
  sources.node = {{"A", "node"},
                  {"B", "node"},
                  {"NCCL_CUMEM_ENABLE", "1"},
                  {"MUJOCO_EGL_DEVICE_ID", "5"},
                  {"PATH", "/bin"},
                  {"GROUP_NAME", "outer"}};
  sources.driver = {{"B", "driver"}, {"C", "driver"}};
  sources.user = {{"C", "user"}, {"D", "user"}, {"PATH", "/opt"}, {"WORLD_SIZE", "1"}};
  sources.node_group = {{"D", "group"}, {"E", "group"}};
  sources.computed = {{"DI_RANK", "3"}};
  sources.overrides = {{"E", "override"}, {"LOCAL_RANK", "1"}};
  const WorkerEnvironment found = environment_of(WorkerFamily::RLinf, member(3), sources);
  EXPECT_EQ(value(found, "A"), "node");
  EXPECT_EQ(value(found, "B"), "driver");
  EXPECT_EQ(value(found, "C"), "user");
  EXPECT_EQ(value(found, "D"), "group");
  EXPECT_EQ(value(found, "E"), "override");
  EXPECT_EQ(value(found, "NCCL_CUMEM_ENABLE"), "1") << "the node may say otherwise";
  EXPECT_EQ(value(found, "MUJOCO_EGL_DEVICE_ID"), "1") << "the node's is another worker's";
  EXPECT_EQ(value(found, "PATH"), "/opt:/bin");
  EXPECT_EQ(value(found, "GROUP_NAME"), "actor");
  EXPECT_EQ(value(found, "WORLD_SIZE"), "4");
  EXPECT_EQ(value(found, "DI_RANK"), "3");
  EXPECT_EQ(value(found, "LOCAL_RANK"), "1");
  ASSERT_EQ(found.notes.size(), 2U);
  EXPECT_EQ(found.notes[0],
            (EnvironmentNote{NoteKind::Reserved, Layer::User, "WORLD_SIZE", "1", "4"}));
  EXPECT_EQ(found.notes[1],
            (EnvironmentNote{NoteKind::Overridden, Layer::Computed, "LOCAL_RANK", "0", "1"}));
}

TEST(WorkerEnvironment, NemoRlWorkersForgetTheLaunchersAroundThem) {
  EnvironmentSources sources;
  sources.node = {{"SLURM_PROCID", "3"},
                  {"PMIX_RANK", "3"},
                  {"OMPI_COMM_WORLD_RANK", "3"},
                  {"RAY_JOB_ID", "01"},
                  {"TORCHELASTIC_RUN_ID", "x"},
                  {"HOME", "/h"}};
  const WorkerEnvironment found = environment_of(WorkerFamily::NemoRl, member(0), sources);
  for (const KeyValue& variable : sources.node)
    EXPECT_EQ(value(found, variable.key), variable.key == "HOME" ? "/h" : "(none)");
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST(WorkerEnvironment, OnAmdKeepsTheOtherListsOfDevicesAway) {
  Membership worker = member(3);
  worker.vendor = DeviceVendor::Amd;
  EnvironmentSources sources;
  sources.node = {{"ROCR_VISIBLE_DEVICES", "0"}, {"CUDA_VISIBLE_DEVICES", "0"}};
  sources.user = {{"ROCR_VISIBLE_DEVICES", "1"}};
  const WorkerEnvironment found = environment_of(WorkerFamily::RLinf, worker, sources);
  EXPECT_EQ(value(found, "HIP_VISIBLE_DEVICES"), "1");
  EXPECT_EQ(value(found, "ROCR_VISIBLE_DEVICES"), "(none)");
  EXPECT_EQ(value(found, "CUDA_VISIBLE_DEVICES"), "(none)");
  EXPECT_EQ(value(found, "ACCELERATOR_TYPE"), "AMD_GPU");
  EXPECT_EQ(value(found, "RAY_EXPERIMENTAL_NOSET_HIP_VISIBLE_DEVICES"), "1");
  EXPECT_EQ(value(found, "NCCL_CUMEM_ENABLE"), "(none)");
  EXPECT_EQ(found.notes.size(), 1U);
}

TEST(ComputedNames, AreFoundInWhatAUserWroteBeforeAnythingHasAPlace) {
  const std::vector<KeyValue> user{
      {"PATH", "/opt"}, {"RANK", "0"}, {"CUDA_VISIBLE_DEVICES", "0"}, {"ORRERY_JOB", "x"}};
  EXPECT_THAT(computed_names_in(user, WorkerFamily::Torch, DeviceVendor::Nvidia),
              ElementsAre("RANK", "CUDA_VISIBLE_DEVICES", "ORRERY_JOB"));
  EXPECT_THAT(computed_names_in(user, WorkerFamily::Native, DeviceVendor::Ascend),
              ElementsAre("ORRERY_JOB"));
}

Membership random_member(Random& random) {
  Membership out = member(static_cast<std::int32_t>(random.below(6)),
                          random.chance(0.5) ? Sight::Own : Sight::Node);
  out.vendor = DeviceVendor{static_cast<std::uint8_t>(random.below(5))};
  if (random.chance(0.5)) out.restarts = Restarts{1, 2};
  if (random.chance(0.5)) out.in_role.reset();
  if (random.chance(0.5)) out.job_master = out.role_master = {};
  if (random.chance(0.5)) out.hardware = {0, 2};
  if (random.chance(0.5)) out.network_interface = "ib0";
  if (random.chance(0.5)) out.interpreter = "/v/bin/python";
  if (random.chance(0.5)) {
    const std::vector<Endpoint> endpoints{{"h", 1}};
    out.group = {"g", 0, {1}, std::make_shared<const std::vector<Endpoint>>(endpoints), 7100};
  }
  return out;
}

TEST(WorkerEnvironmentProperty, EveryComputedNameIsReservedAndGivenOnce) {
  const std::uint64_t seed = 31;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 400; ++round) {
    const Membership worker = random_member(random);
    const WorkerFamily family{static_cast<std::uint8_t>(random.below(5))};
    const std::vector<std::string_view> reserved = reserved_names(family);
    EXPECT_TRUE(std::ranges::is_sorted(reserved));
    EXPECT_EQ(std::ranges::adjacent_find(reserved), reserved.end());
    std::set<std::string> seen;
    for (const KeyValue& variable : family_variables(family, worker)) {
      EXPECT_TRUE(seen.insert(variable.key).second) << variable.key;
      EXPECT_TRUE(std::ranges::binary_search(reserved, variable.key)) << variable.key;
    }
    const WorkerEnvironment found = environment_of(family, worker, {});
    EXPECT_THAT(found.notes, IsEmpty());
    // A local rank that a library takes for a device is one that the process can see.
    if (family != WorkerFamily::Native && !worker.devices.assigned.empty()) {
      const auto index = static_cast<std::size_t>(std::stoi(value(found, "LOCAL_RANK")));
      ASSERT_LT(index, worker.devices.visible.size());
      EXPECT_EQ(worker.devices.visible[index], worker.devices.assigned.front());
    }
  }
}

}  // namespace worker_environment_tests
}  // namespace orrery::workers
