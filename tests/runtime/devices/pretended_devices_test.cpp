// Pretended devices are lost and come back as a file says.
#include "runtime/devices/pretended_devices.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/runtime/devices/told.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PretendedDevicesTest : public testing::Test {
 protected:
  std::string file() const { return folder_.path() + "/state/lost_devices"; }

  void write(const std::string& text) const { std::ofstream(file()) << text; }

  PretendedDevices four() {
    return {4, "gpu", {file(), [this](const std::string& said) { said_.push_back(said); }}};
  }

  std::uint64_t lost(PretendedDevices& devices) const {
    std::uint64_t bits = 0;
    const std::vector<DeviceReading> readings = devices.read();
    for (std::size_t i = 0; i < readings.size(); ++i)
      if (!readings[i].answers) bits |= std::uint64_t{1} << i;
    return bits;
  }

  TemporaryFolder folder_;
  std::vector<std::string> said_;
};

TEST_F(PretendedDevicesTest, WorkWhereThereIsNoFile) {
  PretendedDevices devices = four();
  EXPECT_EQ(devices.devices().size(), 4U);
  EXPECT_EQ(devices.devices()[3].model, "gpu");
  EXPECT_EQ(lost(devices), 0U);
  EXPECT_THAT(devices.wait_for_xids({}), IsEmpty());
}

TEST_F(PretendedDevicesTest, AreLostBeforeTheAgentBeginsWithoutAnErrorOfTheDriver) {
  std::filesystem::create_directories(folder_.path() + "/state");
  write("1\n");
  PretendedDevices devices = four();
  EXPECT_EQ(lost(devices), 0b0010U);
  EXPECT_THAT(devices.wait_for_xids({}), IsEmpty());
}

TEST_F(PretendedDevicesTest, ALossIsAnErrorOfTheDriverOnceForEachDevice) {
  PretendedDevices devices = four();
  write("0, 3");
  EXPECT_THAT(devices.wait_for_xids({}), ElementsAre(DeviceXid{0, 79}, DeviceXid{3, 79}));
  EXPECT_EQ(lost(devices), 0b1001U);
  EXPECT_THAT(devices.wait_for_xids({}), IsEmpty());
  write("3\n2\n");
  EXPECT_THAT(devices.wait_for_xids({}), ElementsAre(DeviceXid{2, 79}));
  EXPECT_EQ(lost(devices), 0b1100U);
  std::filesystem::remove(file());
  EXPECT_THAT(devices.wait_for_xids({}), IsEmpty());
  EXPECT_EQ(lost(devices), 0U);
  write("3");
  EXPECT_THAT(devices.wait_for_xids({}), ElementsAre(DeviceXid{3, 79})) << "lost anew";
}

TEST_F(PretendedDevicesTest, WhatIsNoDeviceIsSaidOnceAndTheOthersCount) {
  PretendedDevices devices = four();
  write("1 4 gpu2");
  EXPECT_THAT(devices.wait_for_xids({}), ElementsAre(DeviceXid{1, 79}));
  (void)devices.wait_for_xids({});
  EXPECT_THAT(said_,
              ElementsAre(HasSubstr("'4', 'gpu2' found, needed numbers of devices (0 to 3)")));
}

// The watcher's next look is an hour away, and its wait is over when the file changes.
TEST_F(PretendedDevicesTest, ALossIsToldAtOnce) {
  Told told;
  DeviceWatcherSettings settings;
  settings.period = Duration::seconds(3600);
  const DeviceWatcher watcher(
      std::make_unique<PretendedDevices>(2, "gpu", LossFile{file(), nullptr}),
      settings,
      [](std::size_t) { return true; },
      [&](const DeviceFacts& facts) { told.take(facts); });
  write("1");
  EXPECT_THAT(told.wait_for(0b10).reasons, ElementsAre(HasSubstr("XID 79")));
}

TEST_F(PretendedDevicesTest, WithoutRestADeviceWorksWithTheNextLook) {
  Told told;
  DeviceWatcherSettings settings;
  settings.period = Duration::milliseconds(5);
  settings.health.rest = Duration::zero();
  const DeviceWatcher watcher(
      std::make_unique<PretendedDevices>(2, "gpu", LossFile{file(), nullptr}),
      settings,
      [](std::size_t) { return true; },
      [&](const DeviceFacts& facts) { told.take(facts); });
  write("0 1");
  told.wait_for(0b11);
  write("0");
  told.wait_for(0b01);
  std::filesystem::remove(file());
  told.wait_for(0);
}

}  // namespace
}  // namespace orrery::runtime
