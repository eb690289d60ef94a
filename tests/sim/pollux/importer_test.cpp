// The importer names file, line and remedy of what it cannot read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/pollux/profiles.hpp"
#include "sim/pollux/workload.hpp"

namespace orrery::tests {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// A folder of its own for each test, with the files of one small application that reads well.
class PolluxImporter : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / ("orrery_pollux_" + std::string(test->name()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "toy");
    write("toy/placements.csv",
          "placement,local_bsz,step_time,sync_time\n"
          "1,8,0.5,0.1\n1,16,0.8,0.1\n2,8,0.6,0.2\n2,16,0.9,0.2\n11,8,0.7,0.3\n11,16,1.0,0.3\n");
    write("toy/scalability.csv",
          "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
          "6,6,8,0.9,0.4\n6,6,16,1.2,0.4\n");
    write("toy/validation-16.csv", kRun);
    write("toy/validation-64.csv", kRun);
  }

  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name, std::ios::binary) << text;
  }

  /// Error texts without the folder.
  std::vector<std::string> texts_of(const Errors& errors) const {
    std::vector<std::string> texts;
    for (const Error& error : errors) {
      std::string text = error.text();
      if (text.starts_with(root_.string())) text.erase(0, root_.string().size() + 1);
      texts.push_back(text);
    }
    return texts;
  }

  std::vector<std::string> profile_errors() const {
    const auto profiles = sim::read_pollux_profiles(root_);
    return profiles ? std::vector<std::string>{} : texts_of(profiles.errors());
  }

  static constexpr const char* kRun =
      "progress,iteration,metric,grad_sqr,grad_var\n10,10,0.5,1,2\n20,20,0.6,1,2\n";

  fs::path root_;
};

TEST_F(PolluxImporter, TakesLimitsFromTheFiles) {
  const auto profiles = sim::read_pollux_profiles(root_);
  ASSERT_TRUE(profiles.has_value()) << profiles.errors().front().text();
  const PolluxApplication& application = profiles->at("toy");
  EXPECT_EQ(application.limits().initial_total, 16);
  EXPECT_EQ(application.limits().total_max, 64);
  EXPECT_EQ(application.limits().atomic_min, 8);
  EXPECT_EQ(application.limits().atomic_max, 16);
  EXPECT_EQ(application.epochs_max(), 2);
}

TEST_F(PolluxImporter, KnowsMoreNodesThanWereMeasuredAndPartsOfThem) {
  write("toy/placements.csv",
        "placement,local_bsz,step_time,sync_time\n"
        "1,8,0.5,0\n1,16,0.8,0\n2,8,0.6,0.1\n2,16,0.9,0.1\n4,8,0.7,0.2\n4,16,1.0,0.2\n");
  write("toy/scalability.csv",
        "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
        "1,1,8,0.5,0\n1,1,16,0.8,0\n1,4,8,0.7,0.2\n1,4,16,1.0,0.2\n"
        "2,8,8,0.9,0.4\n2,8,16,1.2,0.4\n");
  const auto profiles = sim::read_pollux_profiles(root_);
  ASSERT_TRUE(profiles.has_value()) << profiles.errors().front().text();
  const PolluxApplication& application = profiles->at("toy");
  const auto step_s = [&](std::vector<int> gpus_per_node) {
    const auto time = application.step_time(gpus_per_node, 8);
    return time ? time->step_s : 0;
  };
  EXPECT_DOUBLE_EQ(step_s({4, 4}), 0.9);
  EXPECT_DOUBLE_EQ(step_s({2, 1}), 0.9) << "as whole nodes, of which alone there is a time";
  EXPECT_DOUBLE_EQ(step_s({2, 2, 2, 2}), 0.9) << "as on two nodes";
}

TEST_F(PolluxImporter, NamesEveryBrokenLine) {
  write("toy/placements.csv",
        "placement,local_bsz,step_time,sync_time\n"
        "1,8,fast,0.1\n1,16,0.8,0.1\n21,8,0.6,0.2\n2,16\n11,8,0.7,0.3\n11,16,1.0,-1\n");
  EXPECT_THAT(profile_errors(),
              ElementsAre("toy/placements.csv:2: step_time: found `fast`, needed a number of at "
                          "least 1e-09; mend or remove the line",
                          "toy/placements.csv:4: placement: found `21`, needed one digit per node "
                          "from 1 to 9, as the smallest rotation; mend or remove the line",
                          "toy/placements.csv:5: row: found 2 fields, needed 4 "
                          "(placement,local_bsz,step_time,sync_time); add or remove commas",
                          "toy/placements.csv:7: sync_time: found `-1`, needed a number of at "
                          "least 0; mend or remove the line"));
}

TEST_F(PolluxImporter, ReadsFilesWithAByteOrderMarkAndLinesOfOldMacs) {
  write("toy/scalability.csv",
        "\xef\xbb\xbfnum_nodes,num_replicas,local_bsz,step_time,sync_time\r"
        "6,6,8,0.9,0.4\r6,6,16,1.2,0.4\r");
  EXPECT_THAT(profile_errors(), ElementsAre());
}

TEST_F(PolluxImporter, RefusesAnotherHeader) {
  write("toy/scalability.csv", "nodes,replicas\n1,2\n");
  EXPECT_THAT(profile_errors(),
              ElementsAre("toy/scalability.csv:1: header: found `nodes,replicas`, needed "
                          "`num_nodes,num_replicas,local_bsz,step_time,sync_time`; name the "
                          "columns in this order"));
}

TEST_F(PolluxImporter, RefusesProgressThatFalls) {
  write("toy/validation-64.csv",
        "progress,iteration,metric,grad_sqr,grad_var\n10,10,0.5,1,2\n9,20,0.6,1,2\n");
  EXPECT_THAT(profile_errors(), ElementsAre(HasSubstr("validation-64.csv:3: progress: found `9`")));
}

TEST_F(PolluxImporter, NamesMissingFiles) {
  fs::remove(root_ / "toy/scalability.csv");
  fs::remove(root_ / "toy/validation-16.csv");
  fs::remove(root_ / "toy/validation-64.csv");
  EXPECT_THAT(profile_errors(),
              ElementsAre(HasSubstr("holds no validation-B.csv"),
                          "toy/scalability.csv: cannot be read, a readable file is needed; check "
                          "the path"));
  EXPECT_FALSE(sim::read_pollux_profiles(root_ / "absent").has_value());
}

TEST_F(PolluxImporter, ReadsWhatMayBeChangedOfAJob) {
  const auto profiles = sim::read_pollux_profiles(root_);
  ASSERT_TRUE(profiles.has_value());
  const std::string header = "name,time,application,num_replicas,batch_size,category\n";
  write("workload.csv",
        header +
            "a,60,toy,1,16,adaptive\nb,60,toy,1,16,scale-gpus\nc,60,toy,1,16,rigid\n"
            "d,60,toy,1,16,\n");
  const auto jobs = sim::read_pollux_workload(root_ / "workload.csv", *profiles);
  ASSERT_TRUE(jobs.has_value()) << jobs.errors().front().text();
  std::vector<sim::Adaptivity> seen;
  for (const sim::PolluxSubmission& job : *jobs) seen.push_back(job.adaptivity);
  EXPECT_THAT(seen,
              ElementsAre(sim::Adaptivity::Adaptive,
                          sim::Adaptivity::ScaleOnly,
                          sim::Adaptivity::Rigid,
                          sim::Adaptivity::Adaptive));

  write("workload.csv", header + "a,60,toy,1,16\nb,60,toy,1,16,elastic\n");
  const auto broken = sim::read_pollux_workload(root_ / "workload.csv", *profiles);
  ASSERT_FALSE(broken.has_value());
  std::vector<std::string> texts;
  for (const Error& error : broken.errors()) texts.push_back(error.text());
  EXPECT_THAT(texts,
              ElementsAre(HasSubstr("workload.csv:2: row: found 5 fields, needed 6"),
                          HasSubstr("workload.csv:3: category: found `elastic`, needed adaptive, "
                                    "scale-gpus, rigid or nothing")));
}

TEST_F(PolluxImporter, ReadsAWorkloadInItsOwnOrder) {
  const auto profiles = sim::read_pollux_profiles(root_);
  ASSERT_TRUE(profiles.has_value());
  write("workload.csv",
        "name,time,application,num_replicas,batch_size\r\nb,70,toy,2,32\r\na,60,toy,1,16\r\n");
  const auto jobs = sim::read_pollux_workload(root_ / "workload.csv", *profiles);
  ASSERT_TRUE(jobs.has_value()) << jobs.errors().front().text();
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_EQ(jobs->front().name, "b");
  EXPECT_EQ(jobs->front().submitted_at, Instant::zero() + Duration::seconds(70));
  EXPECT_EQ(jobs->front().replicas, 2);
  EXPECT_EQ(jobs->front().total_batch, 32);
}

TEST_F(PolluxImporter, NamesEveryBrokenJob) {
  const auto profiles = sim::read_pollux_profiles(root_);
  ASSERT_TRUE(profiles.has_value());
  write("workload.csv",
        "name,time,application,num_replicas,batch_size\n"
        "a,0,toy,0,16\na,1,other,1,16\nb,2,toy,1,128\n");
  const auto jobs = sim::read_pollux_workload(root_ / "workload.csv", *profiles);
  ASSERT_FALSE(jobs.has_value());
  EXPECT_THAT(texts_of(jobs.errors()),
              ElementsAre("workload.csv:2: num_replicas: found `0`, needed a whole number of at "
                          "least 1; mend or remove the line",
                          "workload.csv:3: name: found `a`, needed a name not used above; mend or "
                          "remove the line",
                          "workload.csv:3: application: found `other`, needed one of the profiled "
                          "applications (toy); mend or remove the line",
                          "workload.csv:4: batch_size: found `128`, needed a batch that `toy` was "
                          "trained at, 16 to 64; mend or remove the line"));
}

}  // namespace
}  // namespace orrery::tests
