// ElastiSim's example project run here.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/sim/import/import_runs.hpp"

namespace orrery::tests {
namespace {

std::string example(const std::string& policy, const std::string& level) {
  return "fidelity: " + level + "\npolicy: " + policy +
         "\ncluster: {nodes: 128, gpus_per_node: 1, network: {topology: star, nic_bandwidth: "
         "12.5GB/s, storage_bandwidth: 50GB/s}}\n"
         "workload: {elastisim: {file: '" +
         (traces_folder() / "elastisim" / "configuration.json").string() +
         "', host_flops: 1e11}}\n";
}

TEST(ElastisimRuns, AllJobsOfTheExampleComplete) {
  SKIP_WITHOUT_TRACES();
  for (const char* level : {"L0", "L1"})
    for (const char* policy : {"fifo", "fit"}) {
      const auto run = run_imported(example(policy, level));
      ASSERT_TRUE(run);
      EXPECT_EQ(run->summary.jobs_finished, 500U) << policy << " at " << level;
      EXPECT_EQ(run->summary.workload.rows_read, 500U);
      EXPECT_THAT(run->warnings, testing::IsEmpty()) << policy << " at " << level;
    }
}

TEST(ElastisimRuns, NeighboursOnTheStorageCostTime) {
  SKIP_WITHOUT_TRACES();
  const auto alone = run_imported(example("fifo", "L0"));
  const auto shared = run_imported(example("fifo", "L1"));
  ASSERT_TRUE(alone && shared);
  EXPECT_GT(shared->summary.jct_avg_s, alone->summary.jct_avg_s);
}

TEST(ElastisimRuns, APolicyThatSizesJobsShortensThem) {
  SKIP_WITHOUT_TRACES();
  const auto rigid = run_imported(example("fifo", "L1"));
  const auto sized = run_imported(example("fit", "L1"));
  ASSERT_TRUE(rigid && sized);
  EXPECT_GT(sized->summary.reallocations, 0U);
  EXPECT_LT(sized->summary.jct_avg_s, rigid->summary.jct_avg_s);
}

// The first rigid job has the cluster almost to itself: its time is the sum of its stages.
TEST(ElastisimRuns, ARigidJobTakesTheSumOfItsStages) {
  SKIP_WITHOUT_TRACES();
  const auto run = run_imported(example("fifo", "L0"));
  ASSERT_TRUE(run);
  // Job 1: 14 nodes, 15 iterations; figures from jobs.json and application_model.json.
  const double model = 103865464903.0;
  const double flops = 196401146004155.0;
  const double sent = 77944540573.0;
  const double saved = 373590598860.0;
  const double init = model / 12.5e9 + model / 14 * 13 / 12.5e9;
  const double compute = flops / std::pow(14, 0.7750765860099164) / 1e11;
  const double exchange = sent / 14 / 12.5e9;
  const double write = std::max(saved / 14 / 12.5e9, saved / 50e9);
  EXPECT_NEAR(
      run->number("1", "execution_time"), init + 15 * (std::max(compute, exchange) + write), 1e-3);
}

}  // namespace
}  // namespace orrery::tests
