// What Sia's traces let a scheduler change of a job (column `category` of a Pollux workload).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "scenarios/language/loader.hpp"
#include "tests/sim/run/one_run.hpp"

namespace orrery::sim {
namespace adaptivity_tests {

namespace fs = std::filesystem;

/// The sizes and batches that each job had at work.
class Watch final : public RunListener {
 public:
  struct Seen {
    std::set<int> replicas;
    std::set<double> batches;
  };

  void on_notices(std::span<const Notice>, const State& state, const JobTable& jobs) override {
    state.for_each_job([&](const JobState& job) {
      Seen& at = seen[std::string(jobs.name(job.row.id))];
      if (job.row.holds) at.replicas.insert(job.row.replicas);
      for (const ProfilingSeries& series : *job.profilings)
        if (series.key == "batch_size" && !series.samples.empty())
          at.batches.insert(series.samples.back().value);
    });
  }

  std::map<std::string, Seen> seen;
};

std::map<std::string, Watch::Seen> run(const std::string& category, const std::string& policy) {
  const fs::path file = fs::path(testing::TempDir()) / "orrery_adaptivity.csv";
  std::ofstream(file) << "name,time,application,num_replicas,batch_size,category\n"
                      << "a,0,vision,2,32," << category << "\n"
                      << "b,0,speech,2,32," << category << "\n";
  const auto scenario = scenarios::load_scenario(
      std::string(ORRERY_SOURCE_ROOT) + "/scenarios/device_profiles.yaml",
      {{"workload.file", file.string()}, {"policy", policy}, {"expect", "[]"}});
  EXPECT_TRUE(scenario) << scenario.errors().front().text();
  Watch watch;
  RunOptions options;
  options.listeners = {&watch};
  const RunReport report = run_of(*scenario, options);
  EXPECT_EQ(report.summary.jobs_finished, 2) << category << " under " << policy;
  fs::remove(file);
  return watch.seen;
}

int most(const Watch::Seen& seen) { return seen.replicas.empty() ? 0 : *seen.replicas.rbegin(); }

TEST(Adaptivity, AnAdaptiveJobGrows) {
  for (const char* policy : {"pollux", "orrery"})
    for (const auto& [job, seen] : run("adaptive", policy)) EXPECT_GT(most(seen), 2) << policy;
}

TEST(Adaptivity, AJobThatOnlyScalesKeepsItsBatchAndItsSize) {
  for (const char* policy : {"pollux", "orrery", "sia", "optimus", "fifo"})
    for (const auto& [job, seen] : run("scale-gpus", policy)) {
      EXPECT_LE(most(seen), 2) << job << " under " << policy;
      for (const double batch : seen.batches) EXPECT_EQ(batch, 32) << job << " under " << policy;
    }
}

TEST(Adaptivity, ARigidJobHasWhatItAsksFor) {
  for (const char* policy : {"pollux", "orrery", "sia", "optimus", "fifo"})
    for (const auto& [job, seen] : run("rigid", policy)) {
      EXPECT_EQ(seen.replicas, std::set<int>{2}) << job << " under " << policy;
      for (const double batch : seen.batches) EXPECT_EQ(batch, 32) << job << " under " << policy;
    }
}

TEST(Adaptivity, ReportsOfAFixedBatchAreMade) {
  for (const auto& [job, seen] : run("scale-gpus", "pollux")) EXPECT_FALSE(seen.batches.empty());
}

}  // namespace adaptivity_tests
}  // namespace orrery::sim
