// A device that fails is told at once, and comes back after its check: with a stand-in for NVML.
#include "runtime/devices/device_watcher.hpp"

#include <gmock/gmock.h>

#include <atomic>

#include "tests/runtime/devices/fake_machine.hpp"
#include "tests/runtime/devices/told.hpp"

namespace orrery::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DeviceWatcherSettings quick() {
  DeviceWatcherSettings settings;
  settings.period = Duration::milliseconds(5);
  settings.health.heat_lasts = Duration::milliseconds(10);
  settings.health.rest = Duration::milliseconds(20);
  return settings;
}

class DeviceWatcherTest : public testing::Test {
 protected:
  std::unique_ptr<DeviceWatcher> watch(DeviceWatcherSettings settings = quick()) {
    auto reader = open_nvml(FakeMachine::library());
    if (!reader) {
      ADD_FAILURE() << reader.errors().front().text();
      return nullptr;
    }
    return std::make_unique<DeviceWatcher>(
        std::move(reader).value(),
        settings,
        [this](std::size_t) { return check_passes_.load(); },
        [this](const DeviceFacts& facts) { told_.take(facts); });
  }

  FakeMachine machine_{"gpus 4\n"};
  std::atomic<bool> check_passes_ = true;
  Told told_;
};

TEST_F(DeviceWatcherTest, ADeviceThatFellOffTheBusIsOutUntilItIsBackAndChecked) {
  check_passes_ = false;
  const auto watcher = watch();
  ASSERT_NE(watcher, nullptr);
  machine_.write("gpus 4\nxid 1 2 79\nlost 2\n");
  EXPECT_THAT(told_.wait_for(0b0100).reasons,
              ElementsAre(testing::StartsWith("device 2 (h200, 00000000:FF:12.0): ")));
  machine_.write("gpus 4\nxid 1 2 79\nlost 2\nlost 0\n");
  told_.wait_for(0b0101);
  machine_.write("gpus 4\nxid 1 2 79\nlost 0\n");
  told_.wait_for(0b0101);
  check_passes_ = true;
  told_.wait_for(0b0001);
  machine_.write("gpus 4\nxid 1 2 79\n");
  told_.wait_for(0);
}

TEST_F(DeviceWatcherTest, AnErrorIsToldWithoutWaitingForTheNextLook) {
  DeviceWatcherSettings settings = quick();
  settings.period = Duration::seconds(3600);
  const auto watcher = watch(settings);
  ASSERT_NE(watcher, nullptr);
  machine_.write("gpus 4\nxid 1 3 31\nxid 2 1 48\n");
  EXPECT_THAT(told_.wait_for(0b0010).reasons,
              ElementsAre(HasSubstr("XID 48: an uncorrectable memory error")))
      << "31 is the doing of a program";
}

TEST_F(DeviceWatcherTest, MemoryErrorsAndHeatAreSeen) {
  const auto watcher = watch();
  ASSERT_NE(watcher, nullptr);
  // The first look tells what was there before; it has been when a device is lost.
  machine_.write("gpus 4\nlost 3\n");
  told_.wait_for(0b1000);
  check_passes_ = false;
  machine_.write("gpus 4\necc 0 2\nhot 1\n");
  const DeviceFacts facts = told_.wait_for(0b1011);
  EXPECT_THAT(facts.reasons,
              ElementsAre(HasSubstr("2 uncorrected memory errors"),
                          HasSubstr("slowed down by heat"),
                          HasSubstr("device 3")));
  check_passes_ = true;
  machine_.write("gpus 4\necc 0 2\n");
  told_.wait_for(0);
  EXPECT_LT(watcher->since_last_look(), Duration::seconds(3600));
}

}  // namespace
}  // namespace orrery::runtime
