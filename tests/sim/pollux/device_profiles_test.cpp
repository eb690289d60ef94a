// Profiles of several models of device, on invented rows.
#include "sim/pollux/device_profiles.hpp"

#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/models/pollux_job.hpp"

namespace orrery::tests {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::array kOneDevice = {1};
constexpr std::array kTwoDevices = {2};

/// Two models of device, each with a folder of applications that reads well.
class DeviceProfilesReader : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / ("orrery_device_profiles_" + std::string(test->name()));
    fs::remove_all(root_);
    add("slow/yolov3", "2.0");
    add("fast/yolov3", "0.5");
  }

  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
  }

  /// An application whose step on one device takes so many seconds, whatever its batch.
  void add(const std::string& folder, const std::string& step_s) const {
    write(folder + "/placements.csv",
          "placement,local_bsz,step_time,sync_time\n1,8," + step_s + ",0\n1,64," + step_s +
              ",0\n2,8,2.5,0.5\n2,64,2.5,0.5\n");
    write(folder + "/scalability.csv",
          "num_nodes,num_replicas,local_bsz,step_time,sync_time\n2,4,8,3,1\n2,4,64,3,1\n");
    std::string run = "progress,iteration,metric,grad_sqr,grad_var\n";
    for (int epoch = 1; epoch <= 50; ++epoch)
      run += std::to_string(100 * epoch) + "," + std::to_string(100 * epoch) + ",0.5,1,2000\n";
    write(folder + "/validation-16.csv", run);
    write(folder + "/validation-64.csv", run);
  }

  Result<DeviceProfiles> read() const {
    return sim::read_device_profiles({{"slow", root_ / "slow"}, {"fast", root_ / "fast"}});
  }

  /// Error texts without the folder.
  std::vector<std::string> errors() const {
    std::vector<std::string> texts;
    const auto profiles = read();
    if (profiles) return texts;
    for (const Error& error : profiles.errors()) {
      std::string text = error.text();
      if (text.starts_with(root_.string())) text.erase(0, root_.string().size() + 1);
      texts.push_back(text);
    }
    return texts;
  }

  fs::path root_;
};

TEST_F(DeviceProfilesReader, KeepsEachModelsTimes) {
  const auto profiles = read();
  ASSERT_TRUE(profiles.has_value()) << profiles.errors().front().text();
  EXPECT_EQ(find_application(*profiles, "slow", "yolov3")->step_time(kOneDevice, 16)->step_s, 2);
  EXPECT_EQ(find_application(*profiles, "fast", "yolov3")->step_time(kOneDevice, 16)->step_s, 0.5);
  EXPECT_EQ(find_application(*profiles, "other", "yolov3"), nullptr);
  EXPECT_EQ(find_application(*profiles, "fast", "bert"), nullptr);
}

TEST_F(DeviceProfilesReader, TheLimitOfTheArtifactsOwnDeviceIsNoOthers) {
  const auto profiles = read();
  ASSERT_TRUE(profiles.has_value());
  EXPECT_EQ(find_application(*profiles, "fast", "yolov3")->limits().atomic_max, 64);
}

TEST_F(DeviceProfilesReader, AllModelsHaveTheSameApplications) {
  add("fast/toy", "1");
  add("slow/other", "1");
  EXPECT_THAT(errors(),
              ElementsAre("fast: other: found no profile for device model fast, needed one, for "
                          "slow has it; add the folder, or remove it from all models",
                          "slow: toy: found no profile for device model slow, needed one, for "
                          "fast has it; add the folder, or remove it from all models"));
}

TEST_F(DeviceProfilesReader, AnApplicationTrainsAlikeOnAllModels) {
  fs::rename(root_ / "slow/yolov3/validation-64.csv", root_ / "slow/yolov3/validation-32.csv");
  EXPECT_THAT(errors(),
              ElementsAre("slow/yolov3: yolov3: found total batches of 16 to 32 and 50 epochs, "
                          "needed total batches of 16 to 64 and 50 epochs as for device model "
                          "fast; give all models the same validation files"));
}

TEST_F(DeviceProfilesReader, BrokenLinesOfAllModelsAreNamed) {
  write("fast/yolov3/placements.csv", "placement,local_bsz\n");
  write("slow/yolov3/scalability.csv",
        "num_nodes,num_replicas,local_bsz,step_time,sync_time\n2,x,8,3,1\n");
  EXPECT_THAT(errors(),
              ElementsAre("fast/yolov3/placements.csv:1: header: found `placement,local_bsz`, "
                          "needed `placement,local_bsz,step_time,sync_time`; name the columns in "
                          "this order",
                          "slow/yolov3/scalability.csv:2: num_replicas: found `x`, needed a whole "
                          "number of at least 1; mend or remove the line"));
}

TEST_F(DeviceProfilesReader, AJobIsAsFastAsTheModelThatItIsOn) {
  const auto profiles = read();
  ASSERT_TRUE(profiles.has_value());
  const PolluxApplication& slow = *find_application(*profiles, "slow", "yolov3");
  const PolluxApplication& fast = *find_application(*profiles, "fast", "yolov3");
  PolluxJob job(slow, 16, Instant::zero());
  ASSERT_TRUE(job.reallocate(kOneDevice));
  job.step(Duration::seconds(60));
  EXPECT_DOUBLE_EQ(job.progress(), 30 / 2.0);
  job.measured_as(fast);
  ASSERT_TRUE(job.reallocate(kOneDevice));
  job.step(Duration::seconds(60));
  EXPECT_DOUBLE_EQ(job.progress(), 30 / 2.0 + 30 / 0.5) << "what was done is kept";
}

TEST_F(DeviceProfilesReader, WhatAJobMeasuredIsRememberedModelByModel) {
  const auto profiles = read();
  ASSERT_TRUE(profiles.has_value());
  const PolluxApplication& slow = *find_application(*profiles, "slow", "yolov3");
  const PolluxApplication& fast = *find_application(*profiles, "fast", "yolov3");
  const auto stay = [](PolluxJob& job, const PolluxApplication& application) {
    job.measured_as(application);
    EXPECT_TRUE(job.reallocate(kTwoDevices));
    job.step(Duration::seconds(120));
    return job.split();
  };
  PolluxJob job(slow, PolluxJob::kTuned, Instant::zero());
  const BatchSplit tuned = stay(job, slow);
  EXPECT_GT(tuned.total(2), 16) << "a larger batch has less of the synchronisation";
  job.measured_as(fast);
  ASSERT_TRUE(job.reallocate(kTwoDevices));
  EXPECT_EQ(job.split().total(2), 16) << "nothing was measured there";
  stay(job, fast);
  job.measured_as(slow);
  ASSERT_TRUE(job.reallocate(kTwoDevices));
  EXPECT_GT(job.split().total(2), 16);
}

TEST_F(DeviceProfilesReader, NothingIsWrongWithWhatReadsWell) { EXPECT_THAT(errors(), IsEmpty()); }

}  // namespace
}  // namespace orrery::tests
