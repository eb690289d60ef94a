// What a node offers, with a stand-in for NVML.
#include "runtime/devices/inventory.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/devices/fake_machine.hpp"

namespace orrery::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Topology kTopology{8, 2};

InventoryConfig with_nvml() {
  InventoryConfig config;
  config.nvml_library = FakeMachine::library();
  return config;
}

std::string only_error(const Result<FoundInventory>& found) {
  EXPECT_FALSE(found);
  return found ? "" : found.errors().front().text();
}

TEST(Inventory, FindsTheGpusThatNvmlTellsOf) {
  const FakeMachine machine("gpus 4\n");
  const auto found = find_inventory(with_nvml(), kTopology);
  ASSERT_TRUE(found) << found.errors().front().text();
  ASSERT_EQ(found->inventory.devices.size(), 4U);
  const FoundDevice& third = found->inventory.devices[2];
  EXPECT_EQ(third.model, "h200");
  EXPECT_EQ(third.uuid, "GPU-fake-2");
  EXPECT_EQ(third.bus_id, "00000000:FF:12.0");
  EXPECT_EQ(third.memory.count, 150'000'000'000);
  EXPECT_EQ(third.numa_node, -1) << "the kernel knows no such device";
  EXPECT_EQ(found->inventory.vendor, DeviceVendor::Nvidia);
  EXPECT_EQ(found->inventory.numa_nodes, 2);
  EXPECT_GT(found->inventory.cpu.count, 0);
  ASSERT_NE(found->reader, nullptr);
  EXPECT_THAT(found->remarks, IsEmpty());
}

TEST(Inventory, SettingsGoBeforeWhatIsFound) {
  const FakeMachine machine("gpus 4\n");
  std::ofstream(machine.folder() / "hardware") << "franka: 2\n";
  InventoryConfig config = with_nvml();
  config.cpu = MilliCpu{1500};
  config.memory = Bytes{1000};
  config.devices = 3;
  config.device_model = "pretended";
  config.hardware_file = machine.folder() / "hardware";
  const auto found = find_inventory(config, kTopology);
  ASSERT_TRUE(found) << found.errors().front().text();
  EXPECT_EQ(found->inventory.cpu, MilliCpu{1500});
  EXPECT_EQ(found->inventory.memory, Bytes{1000});
  ASSERT_EQ(found->inventory.devices.size(), 3U);
  EXPECT_EQ(found->inventory.devices[0].model, "pretended");
  EXPECT_TRUE(found->pretended);
  ASSERT_NE(found->reader, nullptr);
  EXPECT_TRUE(found->reader->read()[2].answers) << "nobody has said that one is lost";
  EXPECT_THAT(found->inventory.hardware, ElementsAre(HardwareCount{"franka", 2}));
}

TEST(Inventory, ModelsAreNotMixed) {
  const FakeMachine machine("gpus 3\nname 1 NVIDIA A100-SXM4-80GB\nlost 1\n");
  EXPECT_THAT(only_error(find_inventory(with_nvml(), kTopology)),
              HasSubstr("of the models a100-sxm4-80gb, h200"));
  InventoryConfig config = with_nvml();
  config.device_model = "v100";
  EXPECT_THAT(only_error(find_inventory(config, kTopology)), HasSubstr("no device of model v100"));
  config.device_model = "a100-sxm4-80gb";
  const auto found = find_inventory(config, kTopology);
  ASSERT_TRUE(found) << found.errors().front().text();
  ASSERT_EQ(found->inventory.devices.size(), 1U);
  EXPECT_EQ(found->inventory.devices[0].uuid, "GPU-fake-1");
  const auto readings = found->reader->read();
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_FALSE(readings[0].answers);
  machine.write("gpus 3\nname 1 NVIDIA A100-SXM4-80GB\nxid 1 0 79\nxid 2 1 48\n");
  EXPECT_THAT(found->reader->wait_for_xids(Duration::seconds(60)), ElementsAre(DeviceXid{0, 48}));
}

TEST(Inventory, WithoutALibraryThereAreNoGpusUnlessOneIsNamed) {
  InventoryConfig config;
  config.nvml_library = "/there/is/no/libnvidia-ml.so.1";
  EXPECT_THAT(only_error(find_inventory(config, kTopology)), HasSubstr("inventory.nvml_library"));
  const FakeMachine machine("gpus 2\ninit 9\n");
  EXPECT_THAT(only_error(find_inventory(with_nvml(), kTopology)), HasSubstr("Driver Not Loaded"));
  machine.write("gpus 0\n");
  const auto none = find_inventory(with_nvml(), kTopology);
  ASSERT_TRUE(none);
  EXPECT_THAT(none->remarks, ElementsAre(HasSubstr("NVML finds none")));
}

TEST(Inventory, OldDriversTellLess) {
  const FakeMachine machine("gpus 1\nplain\n");
  const auto found = find_inventory(with_nvml(), kTopology);
  ASSERT_TRUE(found) << found.errors().front().text();
  EXPECT_THAT(found->reader->read(), ElementsAre(DeviceReading{}));
  EXPECT_THAT(found->reader->wait_for_xids(Duration::zero()), IsEmpty());
}

TEST(Inventory, AllThatIsWrongIsToldAtOnce) {
  InventoryConfig config;
  config.nvml_library = "/there/is/none";
  config.hardware_file = "/there/is/none/either";
  const auto found = find_inventory(config, kTopology);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.errors().size(), 2U);
}

}  // namespace
}  // namespace orrery::runtime
