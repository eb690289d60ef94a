#include "runtime/launch/slurm.hpp"

#include <gmock/gmock.h>

#include <map>

namespace orrery::runtime {
namespace {

using Values = std::map<std::string, std::string, std::less<>>;

Result<SlurmNode> node_of(const Values& values, AgentConfig config = {}) {
  const Variables variables = [&](std::string_view name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
  return slurm_node(config, variables, "host-7.example");
}

const Values kStep{{"SLURM_JOB_ID", "42"},
                   {"SLURM_JOB_NAME", "orrery"},
                   {"SLURMD_NODENAME", "gpu-3"},
                   {"SLURM_CPUS_ON_NODE", "12"},
                   {"SLURM_MEM_PER_NODE", "4096"}};

Values with(Values values, const Values& more) {
  for (const auto& [name, value] : more) values[name] = value;
  return values;
}

TEST(SlurmNode, TakesWhatSlurmSays) {
  const auto node = node_of(kStep);
  ASSERT_TRUE(node) << node.errors()[0].text();
  EXPECT_EQ(node->job, "42");
  EXPECT_EQ(node->config.node, "gpu-3");
  EXPECT_EQ(node->config.inventory.cpu, MilliCpu{12'000});
  EXPECT_EQ(node->config.inventory.memory, Bytes{std::int64_t{4} << 30});
  EXPECT_EQ(node->config.inventory.devices, 0) << "no share of the devices";
  EXPECT_EQ(node->config.state, std::string("/tmp") + "/orrery-42-gpu-3");
  EXPECT_EQ(node->config.address, "127.0.0.1") << "its controller is on this machine";
  EXPECT_TRUE(node->config.kill_workers_at_exit);
  EXPECT_TRUE(node->ends.is_never());
}

TEST(SlurmNode, OfAnArrayIsItsTask) {
  const auto node =
      node_of(with(kStep, {{"SLURM_ARRAY_TASK_ID", "5"}, {"SLURM_JOB_NAME", "Pool"}}));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->config.node, "pool-5");
}

TEST(SlurmNode, CountsMemoryByCpuOrWithUnits) {
  Values by_cpu = with(kStep, {{"SLURM_MEM_PER_CPU", "512"}});
  by_cpu.erase("SLURM_MEM_PER_NODE");
  EXPECT_EQ(node_of(by_cpu)->config.inventory.memory, Bytes{std::int64_t{6} << 30});
  EXPECT_EQ(node_of(with(kStep, {{"SLURM_MEM_PER_NODE", "2G"}}))->config.inventory.memory,
            Bytes{std::int64_t{2} << 30});
  EXPECT_FALSE(node_of(with(kStep, {{"SLURM_MEM_PER_NODE", "0"}}))->config.inventory.memory)
      << "all that there is";
}

TEST(SlurmNode, OffersNoMoreDevicesThanAreGranted) {
  const auto node =
      node_of(with(kStep, {{"SLURM_JOB_GPUS", "0,2-3"}, {"SLURM_GPUS_ON_NODE", "8"}}));
  ASSERT_TRUE(node);
  EXPECT_FALSE(node->config.inventory.devices) << "what is found";
  EXPECT_EQ(node->granted, 3);
  EXPECT_TRUE(check_granted(*node, 3));
  const Status unconfined = check_granted(*node, 8);
  ASSERT_FALSE(unconfined);
  EXPECT_THAT(unconfined.errors()[0].text(), ::testing::HasSubstr("granted 3, and does not keep"));
  EXPECT_EQ(node_of(with(kStep, {{"SLURM_JOB_GPUS", "0-7"}, {"SLURM_STEP_GPUS", "6"}}))->granted,
            1);
  EXPECT_EQ(node_of(with(kStep, {{"SLURM_GPUS_ON_NODE", "8"}}))->granted, 8);
  EXPECT_FALSE(node_of(kStep)->granted);
  EXPECT_TRUE(check_granted(*node_of(kStep), 8));
}

TEST(SlurmNode, PretendsAsManyDevicesAsItHas) {
  AgentConfig config;
  config.inventory.devices = 8;
  config.inventory.device_model = "gpu";
  EXPECT_EQ(node_of(with(kStep, {{"SLURM_JOB_GPUS", "0-1"}}), config)->config.inventory.devices, 2);
  EXPECT_EQ(node_of(with(kStep, {{"SLURM_GPUS_ON_NODE", "3"}}), config)->config.inventory.devices,
            3);
  EXPECT_EQ(node_of(kStep, config)->config.inventory.devices, 8);
}

TEST(SlurmNode, IsReachedByItsHostWhereTheControllerIsElsewhere) {
  AgentConfig config;
  config.controllers = {"127.0.0.1:22101", "10.0.0.1:22101"};
  EXPECT_EQ(node_of(kStep, config)->config.address, "host-7.example");
  config.address = "10.1.0.7";
  EXPECT_EQ(node_of(kStep, config)->config.address, "10.1.0.7");
}

TEST(SlurmNode, KeepsItsStateBelowTheFolderOfTheSettings) {
  AgentConfig config;
  config.state = "/var/lib/orrery";
  EXPECT_EQ(node_of(kStep, config)->config.state, "/var/lib/orrery/gpu-3");
  EXPECT_EQ(node_of(with(kStep, {{"TMPDIR", "/scratch/42"}}))->config.state,
            "/scratch/42/orrery-42-gpu-3");
}

TEST(SlurmNode, KnowsHowLongItRemains) {
  const auto node = node_of(with(kStep, {{"SLURM_JOB_END_TIME", "1000"}}));
  ASSERT_TRUE(node);
  const Instant now{880'000'000'000};
  EXPECT_EQ(slurm_remaining(*node, SlurmSignal::Notice, now), Duration::seconds(120));
  EXPECT_EQ(slurm_remaining(*node, SlurmSignal::Notice, now + Duration::seconds(500)),
            Duration::zero());
  EXPECT_EQ(slurm_remaining(*node, SlurmSignal::End, now), Duration::seconds(30));
  const auto told = node_of(with(kStep, {{"ORRERY_SLURM_NOTICE", "300"}}));
  EXPECT_EQ(slurm_remaining(*told, SlurmSignal::Notice, now), Duration::seconds(300));
}

TEST(SlurmNode, OutsideAnAllocationIsRefused) {
  const auto node = node_of({});
  ASSERT_FALSE(node);
  EXPECT_EQ(node.errors()[0].text(),
            "SLURM_JOB_ID: is not set, so this is no allocation of Slurm; start it by srun, or "
            "without launcher");
}

TEST(SlurmNode, SaysAllThatIsUnsoundAtOnce) {
  const auto node = node_of({{"SLURM_JOB_ID", "42"},
                             {"SLURM_CPUS_ON_NODE", "many"},
                             {"SLURM_MEM_PER_NODE", "-1"},
                             {"SLURM_JOB_GPUS", "a"},
                             {"SLURM_JOB_END_TIME", "x"}});
  ASSERT_FALSE(node);
  std::vector<std::string> subjects;
  for (const Error& error : node.errors()) subjects.push_back(error.subject);
  EXPECT_THAT(subjects,
              ::testing::UnorderedElementsAre("SLURMD_NODENAME",
                                              "SLURM_CPUS_ON_NODE",
                                              "SLURM_MEM_PER_NODE",
                                              "SLURM_JOB_GPUS",
                                              "SLURM_JOB_END_TIME"));
}

}  // namespace
}  // namespace orrery::runtime
