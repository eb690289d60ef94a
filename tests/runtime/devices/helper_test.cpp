// The program that reads devices for an agent, with a stand-in for NVML: it may end, or hang in the
// driver, and the agent goes on.
#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "runtime/devices/device_lines.hpp"
#include "runtime/devices/helper_process.hpp"
#include "runtime/devices/helper_reader.hpp"
#include "tests/runtime/devices/fake_machine.hpp"

namespace orrery::runtime {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::StartsWith;

constexpr Duration kPatience = Duration::seconds(60);

std::unique_ptr<DeviceReader> open(Duration patience = kPatience) {
  // On a busy machine a start may take longer than a short patience.
  for (int i = 0; i < 200; ++i) {
    auto reader = open_helper(ORRERY_DEVICES_PROGRAM, FakeMachine::library(), patience);
    if (reader) return std::move(reader).value();
  }
  ADD_FAILURE() << "the program does not start";
  return nullptr;
}

std::vector<DeviceXid> next_xids(DeviceReader& reader) {
  for (int i = 0; i < 600; ++i)
    if (auto xids = reader.wait_for_xids(Duration::milliseconds(100)); !xids.empty()) return xids;
  return {};
}

TEST(Helper, TellsWhatNvmlTells) {
  const FakeMachine machine("gpus 2\necc 1 4\n");
  const auto reader = open();
  ASSERT_NE(reader, nullptr);
  auto direct = open_nvml(FakeMachine::library());
  ASSERT_TRUE(direct);
  EXPECT_EQ(reader->devices(), (*direct)->devices());
  EXPECT_EQ(reader->read(), (*direct)->read());
  machine.write("gpus 2\nxid 1 1 79\nlost 1\n");
  EXPECT_THAT(next_xids(*reader), ElementsAre(DeviceXid{1, 79}));
  EXPECT_EQ(reader->read(), (*direct)->read());
}

TEST(Helper, OneThatFailsSaysWhy) {
  const FakeMachine machine("gpus 2\ninit 9\n");
  const auto failed = open_helper(ORRERY_DEVICES_PROGRAM, FakeMachine::library(), kPatience);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.errors().front().code, ErrorCode::NotFound);
  EXPECT_THAT(failed.errors().front().text(), HasSubstr("Driver Not Loaded"));
  const auto missing = open_helper("/there/is/none", "", kPatience);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.errors().front().text(), StartsWith("/there/is/none: helper: cannot be"));
  EXPECT_FALSE(open_helper("/bin/true", "", kPatience)) << "it ends without a word";
}

TEST(Helper, OneThatHangsInTheDriverIsStartedAgain) {
  const FakeMachine machine("gpus 2\n");
  const auto reader = open(Duration::milliseconds(300));
  ASSERT_NE(reader, nullptr);
  machine.write("gpus 2\nhang\n");
  EXPECT_THAT(reader->read(), Each(Field(&DeviceReading::answers, false)));
  EXPECT_THAT(reader->read(), Each(Field(&DeviceReading::answers, false))) << "it hangs anew";
  machine.write("gpus 2\n");
  std::vector<DeviceReading> readings;
  for (int i = 0; i < 600 && (readings.empty() || !readings[0].answers); ++i)
    readings = reader->read();
  EXPECT_THAT(readings, ElementsAre(DeviceReading{}, DeviceReading{}));
}

TEST(Helper, ADeviceThatIsNotThereAfterAStartDoesNotAnswer) {
  const FakeMachine machine("gpus 3\n");
  const auto reader = open(Duration::milliseconds(300));
  ASSERT_NE(reader, nullptr);
  machine.write("gpus 3\nhang\n");
  reader->read();
  machine.write("gpus 2\n");
  std::vector<DeviceReading> readings;
  for (int i = 0; i < 600 && (readings.empty() || !readings[0].answers); ++i)
    readings = reader->read();
  ASSERT_EQ(readings.size(), 3U);
  EXPECT_TRUE(readings[1].answers);
  EXPECT_EQ(readings[2].failure, "it is not there any more");
}

TEST(Helper, LinesComeBackAsTheyWere) {
  const FoundDevice device{"h200", "GPU-1", "", Bytes{5}, -1};
  std::string line = device_line(device);
  line.pop_back();
  EXPECT_EQ(parse_device_line(line), device);
  const DeviceReading reading{false, "two\nlines", 7, true};
  line = reading_line(reading);
  line.pop_back();
  const auto back = parse_reading_line(line);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->failure, "two lines");
  EXPECT_EQ(back->ecc_errors, 7U);
  for (const char* broken : {"",
                             "device",
                             "device a b c d 1",
                             "reading 1 x 0 -",
                             "xid 1",
                             "ready",
                             "failed 99 words",
                             "reading 1 0 0"}) {
    EXPECT_FALSE(parse_device_line(broken)) << broken;
    EXPECT_FALSE(parse_reading_line(broken)) << broken;
    EXPECT_FALSE(parse_xid_line(broken)) << broken;
    EXPECT_FALSE(parse_failed_line(broken)) << broken;
  }
}

}  // namespace
}  // namespace orrery::runtime
