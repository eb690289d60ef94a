// Workloads of other simulators at level L2, on their own platform files. One SimGrid engine per
// process: each case runs alone.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/simgrid/make_fluid_fabric.hpp"
#include "tests/sim/import/import_runs.hpp"

namespace orrery::tests {
namespace {

std::string on_platform(int nodes, const std::filesystem::path& platform) {
  return "world: sim\ncluster: {nodes: " + std::to_string(nodes) +
         ", gpus_per_node: 1, network: {topology: platform, platform: '" + platform.string() +
         "'}}\n";
}

class ParallelTaskAlone : public testing::TestWithParam<int> {};

// Batsim runs these jobs one by one, so each is alone on the cluster here. The times that its file
// expects are SimGrid's of a parallel task: 10 s of compute, or of a link, or 20 s of the
// backbone, which five hosts that all send to each other fill. Flows come within 1 % of them.
TEST_P(ParallelTaskAlone, TakesTheTimeThatItsFileExpects) {
  SKIP_WITHOUT_TRACES();
  std::ifstream in(traces_folder() / "batsim" / "test_homo_ptasks.json");
  nlohmann::json file = nlohmann::json::parse(in);
  const nlohmann::json job = file["jobs"].at(static_cast<std::size_t>(GetParam()));
  const std::string profile = job["profile"];
  const double expected = file["profiles"][profile]["expected_execution_time"];
  file["jobs"] = nlohmann::json::array({job});
  const std::filesystem::path alone =
      std::filesystem::path(testing::TempDir()) / ("alone_" + std::to_string(GetParam()) + ".json");
  std::ofstream(alone) << file.dump();
  const auto run =
      run_imported(on_platform(512, traces_folder() / "batsim" / "platforms" / "cluster512.xml") +
                       "workload: {batsim: {file: '" + alone.string() + "'}}\n",
                   sim::make_fluid_fabric);
  ASSERT_TRUE(run);
  const std::string id = job["id"];
  EXPECT_EQ(run->jobs.at(id).at("final_state"), "COMPLETED_SUCCESSFULLY") << id;
  EXPECT_NEAR(run->number(id, "execution_time"), expected, expected * 0.01) << id;
}

INSTANTIATE_TEST_SUITE_P(Jobs, ParallelTaskAlone, testing::Range(0, 6));

TEST(FluidRuns, AllJobsOfElastiSimsExampleCompleteOnItsPlatform) {
  SKIP_WITHOUT_TRACES();
  const std::filesystem::path folder = traces_folder() / "elastisim";
  const auto run =
      run_imported(on_platform(128, folder / "crossbar.xml") + "workload: {elastisim: {file: '" +
                       (folder / "configuration.json").string() + "'}}\n",
                   sim::make_fluid_fabric);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->summary.jobs_finished, 500U);
}

TEST(FluidRuns, EveryProfileTypeOfBatsimsExamplesRuns) {
  SKIP_WITHOUT_TRACES();
  const std::filesystem::path folder = traces_folder() / "batsim";
  const auto run = run_imported(on_platform(512, folder / "platforms" / "cluster512.xml") +
                                    "workload: {batsim: {file: '" +
                                    (folder / "test_various_profile_types.json").string() + "'}}\n",
                                sim::make_fluid_fabric);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->summary.jobs_finished, 11U);
  // The busiest link of `simple` carries 15 MB at 1 GB/s, and 13 us pass before.
  EXPECT_NEAR(run->number("simple", "execution_time"), 0.015, 0.015 * 0.01);
}

}  // namespace
}  // namespace orrery::tests
