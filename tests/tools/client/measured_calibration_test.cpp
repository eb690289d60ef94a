// What probe jobs measured, as the file that a scenario reads.
#include "tools/client/measured_calibration.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "scenarios/language/loader.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::cli {
namespace {

ProbeReport report(double bandwidth) {
  ProbeReport out;
  out.starts_s = {2, 3, 9};
  out.stops_s = {1};
  out.rescales_s = {0.5, 0.5};
  out.multiply_s = {0.01};
  out.flops = 67.2e12;
  out.device = "cuda: NVIDIA H200";
  out.backend = "nccl";
  const AllReduceFit known{20e-6, bandwidth, {}};
  for (double bytes = 4096; bytes < 1e7; bytes *= 4)
    out.sums.push_back({4, bytes, {known.seconds(4, bytes)}});
  return out;
}

scenarios::Scenario read(const MeasuredCalibration& measured) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/measured.yaml";
  std::ofstream(path) << measured.yaml("a test");
  const auto scenario = scenarios::load_scenario_text(
      "calibration: measured.yaml\ncluster: {nodes: 1, gpu: h200}\njobs: [{name: a, work: 9s}]\n",
      folder.path() + "/scenario.yaml");
  EXPECT_TRUE(scenario) << scenario.errors().front().text();
  return scenario ? *scenario : scenarios::Scenario{};
}

TEST(MeasuredCalibration, IsReadByAScenario) {
  for (const double bandwidth : {3e5, 2.5e8, 4.1e11}) {
    SCOPED_TRACE(bandwidth);
    const MeasuredCalibration measured =
        measured_calibration(report(bandwidth), {.devices = 1}, {"h200"});
    const scenarios::Scenario scenario = read(measured);
    EXPECT_EQ(scenario.timing.start, Duration::seconds(3));
    EXPECT_EQ(scenario.timing.spread.start.quantiles.size(), 11U);
    EXPECT_EQ(scenario.timing.spread.start.longest(), Duration::seconds(9));
    EXPECT_EQ(scenario.timing.stop, Duration::seconds(1));
    EXPECT_NEAR(scenario.network.nic_bandwidth / bandwidth, 1, 0.01);
    EXPECT_NEAR(scenario.network.latency.in_seconds(), 10e-6, 1e-9);
    const auto* model = scenarios::find_device_model(scenario.device_models, "h200");
    ASSERT_NE(model, nullptr);
    EXPECT_NEAR(model->flops, 67.2e12, 1e9);
  }
}

TEST(MeasuredCalibration, SaysWhatItDoesNotKnow) {
  const MeasuredCalibration on_cpus = measured_calibration(report(1e9), {}, {"h200"});
  EXPECT_THAT(on_cpus.remarks, testing::Contains(testing::HasSubstr("ranks had no devices")));
  EXPECT_THAT(on_cpus.yaml("a test"), testing::Not(testing::HasSubstr("compute:")));
  const MeasuredCalibration mixed =
      measured_calibration(report(1e9), {.devices = 1}, {"h200", "a100"});
  EXPECT_THAT(mixed.remarks, testing::Contains(testing::HasSubstr("devices have 2 models")));
  EXPECT_THAT(mixed.remarks, testing::Not(testing::Contains(testing::HasSubstr("vouches"))));
  ProbeReport two = report(1e9);
  two.sums.resize(2);
  EXPECT_THAT(measured_calibration(std::move(two), {}, {}).remarks,
              testing::Contains(testing::HasSubstr("2 all-reduces were measured")));
  ProbeReport alone = report(1e9);
  alone.sums.clear();
  EXPECT_THAT(measured_calibration(std::move(alone), {}, {}).remarks,
              testing::Contains(testing::HasSubstr("no job had two ranks")));
}

}  // namespace
}  // namespace orrery::cli
