// Tiresias and Optimus on one node of four GPUs and an application made by hand.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/models/speed_estimates.hpp"
#include "policies/optimus.hpp"
#include "policies/tiresias.hpp"
#include "tests/support/pollux_reference.hpp"

namespace orrery::tests {
namespace {

using policies::Optimus;
using policies::OptimusParameters;
using policies::Tiresias;
using policies::TiresiasParameters;

/// An iteration of 40 examples takes 4 s on one GPU, 2 s on two, 1.3 s on three and 1 s on four; a
/// job needs 240 iterations.
const PolluxProfiles& toy_profiles() {
  static const PolluxProfiles profiles = [] {
    PolluxTables tables;
    tables.name = "toy";
    tables.limits = {.initial_total = 10, .total_max = 40, .atomic_min = 10, .atomic_max = 40};
    tables.epochs_max = 1;
    for (int gpus = 1; gpus <= 4; ++gpus) {
      tables.placements.emplace(std::vector<int>{gpus}, StepCurve({{10, {1, 0}}, {40, {4, 0}}}));
    }
    tables.runs = {{10, {{240, 240, {1, 0}}}}, {40, {{240, 240, {1, 0}}}}};
    PolluxProfiles made;
    made.emplace("toy", PolluxApplication(std::move(tables)));
    return made;
  }();
  return profiles;
}

sim::PolluxSubmission submission(const std::string& name, std::int64_t at_s, int replicas) {
  return {name, Instant::zero() + Duration::seconds(at_s), "toy", replicas, 40};
}

std::map<std::string, std::int64_t> run(Policy& policy,
                                        const std::vector<sim::PolluxSubmission>& jobs) {
  return PolluxReference(toy_profiles(), jobs, 1, 4).run(policy);
}

std::unique_ptr<Optimus> optimus() {
  const std::shared_ptr<const PolluxProfiles> profiles(&toy_profiles(), [](const auto*) {});
  return std::make_unique<Optimus>(OptimusParameters{},
                                   std::make_unique<PolluxEstimates>(profiles, 4));
}

// One GPU: 960 s and 30 s of delay, from the tick at 60 s. Two: 480 s. Four: 240 s.
TEST(Tiresias, LetsASmallJobPassABigOneUntilThatFits) {
  Tiresias policy({});
  const auto times =
      run(policy, {submission("two", 60, 2), submission("four", 60, 4), submission("one", 60, 1)});
  EXPECT_EQ(times.at("two"), 510);
  // At 600 s the big one fits by count, being the older: the small one gives its GPU back.
  EXPECT_EQ(times.at("four"), 600 - 60 + 270);
  // 510 s of its 960 s were done; it comes back at the tick after the big one's end at 870 s.
  EXPECT_EQ(times.at("one"), 900 - 60 + 30 + 450);
}

TEST(Tiresias, PreemptsADemotedJobForANewOne) {
  Tiresias policy({.thresholds_device_s = {240}});
  const auto times = run(policy, {submission("old", 60, 4), submission("new", 120, 4)});
  // The old one is demoted at 120 s, when the new one comes; that one at 180 s, to the tail.
  EXPECT_EQ(times.at("old"), 180 - 60 + 30 + 210);
  EXPECT_EQ(times.at("new"), 420 - 120 + 30 + 210);
}

TEST(Tiresias, KeepsItsSecondQueueOverSaveAndLoad) {
  Tiresias policy({.thresholds_device_s = {240}});
  run(policy, {submission("old", 60, 2), submission("new", 120, 2)});
  ByteWriter saved;
  policy.save(saved);
  Tiresias loaded({.thresholds_device_s = {240}});
  ByteReader reader(saved.bytes());
  loaded.load(reader);
  EXPECT_TRUE(reader.finished());
  ByteWriter again;
  loaded.save(again);
  EXPECT_EQ(again.text(), saved.text());
  EXPECT_GT(saved.size(), 1u);
}

TEST(Optimus, GivesALoneJobEveryGpuThatHelps) {
  EXPECT_EQ(run(*optimus(), {submission("alone", 60, 1)}).at("alone"), 270);
}

TEST(Optimus, SharesEvenlyBetweenEqualJobs) {
  const auto times = run(*optimus(), {submission("a", 60, 1), submission("b", 60, 1)});
  EXPECT_EQ(times.at("a"), 510);
  EXPECT_EQ(times.at("b"), 510);
}

TEST(Optimus, ShrinksARunningJobForANewOne) {
  const auto times = run(*optimus(), {submission("a", 60, 1), submission("b", 120, 1)});
  // 30 iterations at four GPUs, then 30 s of delay and 210 iterations at two.
  EXPECT_EQ(times.at("a"), 60 + 30 + 420);
}

}  // namespace
}  // namespace orrery::tests
