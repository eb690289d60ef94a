// Sia's program and policy, against numbers by its formulas and against every choice there is.
#include "policies/sia.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/math.hpp"
#include "core/base/random.hpp"
#include "tests/policies/ask.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/long_form.hpp"
#include "tests/support/reporting_cluster.hpp"

namespace orrery {
namespace {

using policies::choose_options;
using policies::KindAndSize;
using policies::option_value;
using policies::restart_factor;
using policies::SiaChoice;
using policies::SiaJob;
using policies::SiaOption;
using policies::SiaPath;
using policies::SiaSettings;
using testing::FakeCluster;
using testing::job;
using testing::ReportingCluster;

constexpr double kSiaExact = 1e-9;

SiaJob sia_job(std::initializer_list<SiaOption> options) { return {options, 1}; }

/// Goodputs 10, 18 and 30 on 1, 2 and 4 devices of one node.
SiaJob fresh_job() { return sia_job({{0, 1, 1, 10}, {0, 1, 2, 18}, {0, 1, 4, 30}}); }

TEST(SiaFormulas, GoodputsAreScaledByTheSmallest) {
  const std::vector<double> scaled = policies::scaled_goodputs(std::vector<double>{10, 18, 30, 0});
  EXPECT_NEAR(scaled[0], 1, kSiaExact);
  EXPECT_NEAR(scaled[1], 1.8, kSiaExact);
  EXPECT_NEAR(scaled[2], 3, kSiaExact);
  EXPECT_NEAR(scaled[3], 1e-4, kSiaExact) << "cannot run so";
  EXPECT_EQ(policies::scaled_goodputs(std::vector<double>{0, 0}),
            (std::vector<double>{1e-4, 1e-4}));
}

TEST(SiaFormulas, PowersAreRoundedToTwoDecimals) {
  EXPECT_NEAR(option_value(1, -0.5), 1.0, kSiaExact);
  EXPECT_NEAR(option_value(1.8, -0.5), 0.75, kSiaExact);
  EXPECT_NEAR(option_value(3, -0.5), 0.58, kSiaExact);
  EXPECT_NEAR(option_value(1e-4, -0.5), 100, kSiaExact) << "never chosen";
  EXPECT_NEAR(option_value(1e-9, -0.5), 3000, kSiaExact);
  // A rigid job on two kinds, 100 and 250 a device, four of them.
  EXPECT_NEAR(option_value(4, -0.5), 0.5, kSiaExact);
  EXPECT_NEAR(option_value(10, -0.5), 0.32, kSiaExact);
}

TEST(SiaFormulas, RestartsCostPartOfTheTimeLeft) {
  const double factor = restart_factor(Duration::seconds(600), 2, Duration::seconds(30));
  EXPECT_NEAR(factor, 540.0 / 630, kSiaExact);
  EXPECT_NEAR(1.8 * factor, 1.542857142857143, kSiaExact);
  EXPECT_NEAR(option_value(1.8 * factor, -0.5), 0.81, kSiaExact);
  EXPECT_EQ(restart_factor(Duration::seconds(20), 0, Duration::seconds(30)), 1);
  EXPECT_EQ(restart_factor(Duration::seconds(50), 9, Duration::seconds(30)), 0);
}

TEST(SiaProgram, TwoFreshJobsShareANode) {
  const SiaChoice choice = choose_options({fresh_job(), fresh_job()}, {4}, {});
  EXPECT_EQ(choice.options, (std::vector<int>{1, 1})) << "two devices each";
  EXPECT_NEAR(choice.objective, 1.5, kSiaExact);
}

TEST(SiaProgram, WhatAJobHasCountsInFull) {
  SiaJob held = fresh_job();
  held.options[1].current = true;
  held.restart_factor = 540.0 / 630;
  const SiaChoice kept = choose_options({held}, {2}, {});
  EXPECT_EQ(kept.options, std::vector<int>{1});
  EXPECT_NEAR(kept.objective, 0.75, kSiaExact);
  held.options[1].current = false;
  held.options[0].current = true;
  const SiaChoice moved = choose_options({held}, {2}, {});
  EXPECT_EQ(moved.options, std::vector<int>{1});
  EXPECT_NEAR(moved.objective, 0.81, kSiaExact);
}

TEST(SiaProgram, AJobThatGainsTooLittleStaysWhereItIs) {
  SiaJob held = sia_job({{0, 1, 1, 10, true}, {0, 1, 2, 11, false}});
  held.restart_factor = 0.5;
  EXPECT_EQ(choose_options({held}, {8}, {}).options, std::vector<int>{0});
}

TEST(SiaProgram, AboveZeroThePowerIsMaximised) {
  SiaSettings settings;
  settings.power = 1;
  settings.unallocated = -1;
  const SiaChoice choice = choose_options({fresh_job(), fresh_job()}, {4}, settings);
  EXPECT_NEAR(choice.objective, 3.6, kSiaExact) << "1.8 twice beats 3 and a job without";
}

std::vector<SiaJob> sia_market(Random& random, int count, int kinds) {
  std::vector<SiaJob> jobs;
  for (int i = 0; i < count; ++i) {
    SiaJob each;
    each.restart_factor = static_cast<double>(random.between(50, 100)) / 100;
    for (int kind = 0; kind < kinds; ++kind) {
      double goodput = static_cast<double>(random.between(50, 300));
      for (std::int64_t gpus = 1; gpus <= 8; gpus *= 2) {
        each.options.push_back({kind, 1, gpus, goodput});
        goodput *= static_cast<double>(random.between(100, 200)) / 100;
      }
    }
    if (random.below(2) == 0) each.options[random.below(each.options.size())].current = true;
    jobs.push_back(std::move(each));
  }
  return jobs;
}

/// The objective of a choice, by the formulas alone.
double choice_objective(const std::vector<SiaJob>& jobs, const std::vector<int>& options) {
  double sum = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (options[i] < 0) {
      sum += 1.1;
      continue;
    }
    std::vector<double> goodputs;
    bool held = false;
    for (const SiaOption& option : jobs[i].options) {
      goodputs.push_back(option.goodput);
      held = held || option.current;
    }
    const auto chosen = static_cast<std::size_t>(options[i]);
    const double factor = held && !jobs[i].options[chosen].current ? jobs[i].restart_factor : 1;
    sum += option_value(factor * policies::scaled_goodputs(goodputs)[chosen], -0.5);
  }
  return sum;
}

bool choice_fits(const std::vector<SiaJob>& jobs,
                 const std::vector<int>& options,
                 std::vector<std::int64_t> left) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (options[i] < 0) continue;
    const SiaOption& option = jobs[i].options[static_cast<std::size_t>(options[i])];
    if ((left[static_cast<std::size_t>(option.kind)] -= option.gpus) < 0) return false;
  }
  return true;
}

TEST(SiaProgram, IsAsGoodAsEveryChoice) {
  if (!solver::is_available()) GTEST_SKIP() << "built without the solver";
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Random random = Random::stream(seed, "market");
    const int kinds = seed % 2 == 0 ? 1 : 2;
    const std::vector<SiaJob> jobs = sia_market(random, 4, kinds);
    const std::vector<std::int64_t> capacity =
        kinds == 1 ? std::vector<std::int64_t>{7} : std::vector<std::int64_t>{6, 3};
    const SiaChoice choice = choose_options(jobs, capacity, {});
    EXPECT_TRUE(choice_fits(jobs, choice.options, capacity));
    EXPECT_NEAR(choice_objective(jobs, choice.options), choice.objective, kSiaExact)
        << "seed " << seed;
    double best = 1e300;
    std::vector<int> options(jobs.size(), -1);
    for (std::size_t at = 0; at < options.size();) {
      if (choice_fits(jobs, options, capacity))
        best = std::min(best, choice_objective(jobs, options));
      at = 0;
      while (at < options.size() && ++options[at] == static_cast<int>(jobs[at].options.size()))
        options[at++] = -1;
    }
    EXPECT_NEAR(choice.objective, best, 1e-4 * best) << "seed " << seed;
  }
}

TEST(SiaProgram, IsNeverWorseThanRigidJobs) {
  for (std::uint64_t seed = 1; seed <= tests::count_of(10, 50); ++seed) {
    Random random = Random::stream(seed, "rigid");
    const std::vector<SiaJob> jobs = sia_market(random, 30, 3);
    const std::vector<std::int64_t> capacity{24, 16, 8};
    // Each job one device, of the first kind that has one left.
    std::vector<std::int64_t> left = capacity;
    std::vector<int> rigid;
    for (const SiaJob& each : jobs) {
      rigid.push_back(-1);
      for (std::size_t i = 0; i < each.options.size() && rigid.back() < 0; ++i) {
        const auto kind = static_cast<std::size_t>(each.options[i].kind);
        if (each.options[i].gpus != 1 || left[kind] == 0) continue;
        --left[kind];
        rigid.back() = static_cast<int>(i);
      }
    }
    for (const std::int32_t nodes : {0, 50}) {
      SiaSettings settings;
      settings.limits.nodes = nodes;
      const SiaChoice choice = choose_options(jobs, capacity, settings);
      EXPECT_TRUE(choice_fits(jobs, choice.options, capacity));
      EXPECT_LE(choice.objective, choice_objective(jobs, rigid) + kSiaExact) << "seed " << seed;
    }
  }
}

TEST(SiaProgram, WithoutIterationsTheGreedyChoiceCounts) {
  SiaSettings settings;
  settings.limits = {.iterations = 0, .nodes = 0, .relative_gap = 0};
  SiaJob elsewhere = sia_job({{1, 1, 8, 1}});
  const SiaChoice choice = choose_options({fresh_job(), fresh_job(), elsewhere}, {4, 0}, settings);
  EXPECT_EQ(choice.path, SiaPath::Greedy);
  EXPECT_NEAR(choice.objective, 1.5 + 1.1, kSiaExact);
}

// ---- The policy ----

/// Speeds that a test makes up: by kind, in proportion to the replicas to a power; up to a number
/// of replicas.
class MadeUp : public policies::GoodputEstimates {
 public:
  struct Speed {
    std::string model;
    double one = 1;
    double power = 1;
    std::int32_t known_to = 1000;
  };

  explicit MadeUp(std::vector<Speed> speeds) : speeds_(std::move(speeds)) {}

  std::optional<double> goodput(const ClusterView& view,
                                const JobView& /*job*/,
                                const KindAndSize& where) override {
    for (const Speed& speed : speeds_)
      if (view.model_named(speed.model) == where.kind && where.replicas <= speed.known_to)
        return speed.one * math::pow(where.replicas, speed.power);
    return std::nullopt;
  }

 private:
  std::vector<Speed> speeds_;
};

std::unique_ptr<Policy> sia_with(std::vector<MadeUp::Speed> speeds) {
  return std::make_unique<policies::Sia>(policies::SiaParameters{},
                                         std::make_unique<MadeUp>(std::move(speeds)));
}

void sia_cycle(FakeCluster& cluster, Policy& policy) {
  cluster.advance(60);
  cluster.carry_out(cluster.ask_optimize(policy));
}

/// Devices of the model that the job has.
std::int32_t devices_on(const FakeCluster& cluster, JobId id, const std::string& model) {
  std::int32_t devices = 0;
  for (const NodeCount& n : cluster.job(id).nodes)
    if (cluster.capacity().at(n.node).model == cluster.model_named(model)) devices += n.replicas;
  return devices;
}

TEST(Sia, GrowsNoMoreThanTwiceACycle) {
  FakeCluster cluster;
  cluster.add_nodes(2, 8);
  const auto policy = sia_with({{"gpu", 1, 1}});
  const JobId id = cluster.submit(job().preemptible().replicas(1, 16).estimate(100'000));
  std::vector<std::int32_t> sizes;
  for (int i = 0; i < 6; ++i) {
    sia_cycle(cluster, *policy);
    sizes.push_back(cluster.replicas(id));
  }
  EXPECT_EQ(sizes, (std::vector<std::int32_t>{2, 4, 8, 16, 16, 16}));
  EXPECT_THAT(cluster.violations(), ::testing::IsEmpty());
}

TEST(Sia, RigidJobsChooseTheirKindOnly) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4, 1000, "slow");
  cluster.add_nodes(1, 4, 1000, "fast");
  const auto policy = sia_with({{"slow", 100, 1}, {"fast", 250, 1}});
  const JobId id = cluster.submit(job().preemptible().replicas(4).estimate(100'000));
  sia_cycle(cluster, *policy);
  EXPECT_EQ(devices_on(cluster, id, "fast"), 4);
}

TEST(Sia, UnknownJobsStartAtTheirMinimum) {
  if (!solver::is_available()) GTEST_SKIP() << "built without the solver";
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto policy = testing::policy("sia");
  const JobId id = cluster.submit(job().preemptible().replicas(1, 8).estimate(100'000));
  sia_cycle(cluster, *policy);
  EXPECT_EQ(cluster.replicas(id), 1) << "nothing was ever reported";
}

TEST(Sia, ReportsBringUnknownJobsToGrow) {
  if (!solver::is_available()) GTEST_SKIP() << "built without the solver";
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  cluster.report_progress();
  const auto policy = testing::policy("sia");
  const JobId id = cluster.submit(job().preemptible().replicas(1, 8).estimate(100'000), 100'000);
  for (int i = 0; i < 5; ++i) sia_cycle(cluster, *policy);
  EXPECT_EQ(cluster.replicas(id), 8);
}

TEST(Sia, AnotherKindIsKnownByTheRatioOfSingleReplicas) {
  // The estimates tell of single replicas; what two do is measured where they run first.
  FakeCluster cluster;
  cluster.add_nodes(1, 4, 1000, "old");
  cluster.add_nodes(1, 4, 1000, "new");
  cluster.report_progress();
  const auto policy = sia_with({{"old", 1, 1, 1}, {"new", 3, 1, 1}});
  const JobId id = cluster.submit(job().preemptible().replicas(2).estimate(100'000), 100'000);
  sia_cycle(cluster, *policy);
  ASSERT_EQ(devices_on(cluster, id, "old"), 2) << "unknown: the first kind";
  sia_cycle(cluster, *policy);
  EXPECT_EQ(devices_on(cluster, id, "new"), 2) << "three times what was measured on the old ones";
}

/// An application of one epoch whose iteration of 40 examples takes `one_s` on one device, and as
/// much less on more.
PolluxApplication measured_application(double one_s) {
  PolluxTables tables;
  tables.name = "toy";
  tables.limits = {.initial_total = 10, .total_max = 40, .atomic_min = 10, .atomic_max = 40};
  tables.epochs_max = 1;
  for (int gpus = 1; gpus <= 4; ++gpus)
    tables.placements.emplace(std::vector<int>{gpus},
                              StepCurve({{10, {one_s / 4, 0}}, {40, {one_s, 0}}}));
  tables.runs = {{10, {{240, 240, {1, 0}}}}, {40, {{240, 240, {1, 0}}}}};
  return PolluxApplication(std::move(tables));
}

TEST(Sia, ProfilesOfEachKindTellWhereAJobIsFast) {
  DeviceProfiles profiles;
  profiles["old"].emplace("wide", measured_application(8));
  profiles["new"].emplace("wide", measured_application(2));
  profiles["old"].emplace("narrow", measured_application(2.5));
  profiles["new"].emplace("narrow", measured_application(2));
  FakeCluster cluster;
  cluster.add_nodes(1, 1, 1000, "old");
  cluster.add_nodes(1, 1, 1000, "new");
  policies::Sia policy({},
                       std::make_unique<policies::DeviceGoodput>(
                           std::make_shared<const DeviceProfiles>(std::move(profiles))));
  const auto submit = [&](const char* application) {
    JobSpec spec = *job().preemptible().replicas(1).estimate(100'000).spec();
    spec.profile = application;
    spec.batch_size = 40;
    return cluster.submit(std::make_shared<const JobSpec>(spec), 100'000);
  };
  const JobId narrow = submit("narrow");
  const JobId wide = submit("wide");
  sia_cycle(cluster, policy);
  EXPECT_EQ(devices_on(cluster, wide, "new"), 1) << "four times as fast there";
  EXPECT_EQ(devices_on(cluster, narrow, "old"), 1);
}

TEST(DeviceGoodput, IsNothingBeyondTheProfiles) {
  DeviceProfiles profiles;
  profiles["old"].emplace("toy", measured_application(8));
  FakeCluster cluster;
  cluster.add_nodes(1, 4, 1000, "old");
  cluster.add_nodes(1, 4, 1000, "other");
  policies::DeviceGoodput goodput(std::make_shared<const DeviceProfiles>(std::move(profiles)));
  JobSpec spec = *job().preemptible().replicas(1, 8).spec();
  spec.profile = "toy";
  spec.batch_size = 40;
  const JobId id = cluster.submit(std::make_shared<const JobSpec>(spec), 100);
  const auto at = [&](const char* model, std::int32_t nodes, std::int32_t replicas) {
    return goodput.goodput(cluster, cluster.job(id), {cluster.model_named(model), nodes, replicas});
  };
  EXPECT_DOUBLE_EQ(*at("old", 1, 4), 1 / 2.0);
  EXPECT_FALSE(at("other", 1, 4).has_value());
  spec.profile = "unknown";
  const JobId unknown = cluster.submit(std::make_shared<const JobSpec>(spec), 100);
  EXPECT_FALSE(goodput.goodput(cluster, cluster.job(unknown), {cluster.model_named("old"), 1, 1}));
}

// Devices for more are there, cores are not. Such a job once gave back what it had for what no
// placer could find, or never began.
TEST(Sia, WhatCannotBePlacedLeavesTheJobWithWhatItHas) {
  if (!solver::is_available()) GTEST_SKIP() << "built without the solver";
  FakeCluster cluster;
  cluster.add_nodes(2, 8, 5);
  cluster.report_progress();
  const auto policy = testing::policy("sia");
  const JobId apart =
      cluster.submit(job().preemptible().cpu(2).replicas(3).estimate(100'000), 100'000);
  const JobId elastic =
      cluster.submit(job().preemptible().cpu(1).replicas(1, 8).estimate(100'000), 100'000);
  for (int i = 0; i < 5; ++i) sia_cycle(cluster, *policy);
  EXPECT_EQ(cluster.replicas(apart), 3) << "two on a node, as cores allow";
  EXPECT_GE(cluster.replicas(elastic), 1);
  EXPECT_THAT(cluster.violations(), ::testing::IsEmpty());
}

// By count there are devices for a second replica, and no node has them all.
TEST(Sia, WhatNoNodeHoldsOfAJobThatWouldGrowIsForThoseThatWait) {
  FakeCluster cluster;
  cluster.add_nodes(4, 4);
  const auto policy = sia_with({{"gpu", 1, 1}});
  for (const std::int32_t devices : {3, 2, 3}) cluster.submit(job().devices(devices), 1e6);
  sia_cycle(cluster, *policy);
  const JobId grows = cluster.submit(
      job().devices(4).replicas(1, 2).preemptible().priority(100).estimate(100'000), 100'000);
  sia_cycle(cluster, *policy);
  EXPECT_EQ(cluster.replicas(grows), 1);
  const JobId small = cluster.submit(job().replicas(2).estimate(1000), 1000);
  sia_cycle(cluster, *policy);
  EXPECT_EQ(cluster.replicas(small), 2);
  EXPECT_EQ(cluster.replicas(grows), 1);
  EXPECT_THAT(cluster.violations(), ::testing::IsEmpty());
}

// Each kind has devices enough and too few nodes. Storms found such jobs waiting for ever.
TEST(Sia, AJobThatNoKindHoldsByItselfStartsAcrossKinds) {
  if (!solver::is_available()) GTEST_SKIP() << "built without the solver";
  for (const char* name : {"sia", "gavel_fifo", "gavel_makespan"}) {
    FakeCluster cluster;
    cluster.add_nodes(3, 4, 1000, "old");
    cluster.add_nodes(1, 4, 1000, "new");
    const auto policy = testing::policy(name);
    const JobId id = cluster.submit(job().replicas(4).devices(3).estimate(100'000));
    for (int i = 0; i < 12; ++i) sia_cycle(cluster, *policy);
    EXPECT_EQ(cluster.replicas(id), 4) << name;
  }
}

// By count the first kind holds it, node by node only the second one does: found by a storm.
TEST(Sia, AJobGoesToAKindThatHoldsItNodeByNode) {
  if (!solver::is_available()) GTEST_SKIP() << "built without the solver";
  FakeCluster cluster;
  cluster.add_nodes(3, 4, 1000, "old");
  cluster.add_nodes(2, 8, 1000, "new");
  const auto policy = testing::policy("sia");
  const JobId id = cluster.submit(job().replicas(4).devices(3).estimate(100'000));
  sia_cycle(cluster, *policy);
  EXPECT_EQ(cluster.replicas(id), 4);
}

std::unique_ptr<Policy> sia_that_tunes() {
  policies::SiaParameters parameters;
  parameters.tune_batch = true;
  return std::make_unique<policies::Sia>(parameters, std::make_unique<policies::NoEstimates>());
}

/// Devices, of eight on one node, that a lone elastic job has after some cycles.
std::int32_t devices_with(Policy& policy, double grad_var, int batch_max) {
  ReportingCluster cluster(grad_var, batch_max);
  cluster.add_nodes(1, 8);
  const JobId id = cluster.submit(job().preemptible().replicas(1, 8).estimate(1'000'000), 1e6);
  for (int i = 0; i < 30; ++i) sia_cycle(cluster, policy);
  EXPECT_THAT(cluster.violations(), ::testing::IsEmpty());
  return cluster.replicas(id);
}

TEST(Sia, WithTunedBatchesAJobGrowsWhereALargerBatchIsWorthIt) {
  EXPECT_EQ(devices_with(*sia_that_tunes(), 1e6, 4096), 8) << "larger batches count in full";
  EXPECT_EQ(devices_with(*sia_that_tunes(), 1e-6, 4096), 1)
      << "they count for nothing, and two devices synchronise longer than they save";
  EXPECT_EQ(devices_with(*sia_that_tunes(), 1e6, 64), 1) << "there are none";
  policies::Sia untuned({}, std::make_unique<policies::NoEstimates>());
  EXPECT_FALSE(untuned.tunes_batches());
  EXPECT_TRUE(sia_that_tunes()->tunes_batches());
  EXPECT_EQ(devices_with(untuned, 1e-6, 4096), 8) << "reports of gradients tell it nothing";
}

TEST(Sia, FittedModelsAreSavedAndLoaded) {
  ReportingCluster cluster(1e6, 4096);
  cluster.add_nodes(1, 8);
  const JobId id = cluster.submit(job().preemptible().replicas(1, 8).estimate(1'000'000), 1e6);
  const auto policy = sia_that_tunes();
  for (int i = 0; i < 3; ++i) sia_cycle(cluster, *policy);
  ASSERT_EQ(cluster.replicas(id), 4);
  const auto loaded = sia_that_tunes();
  testing::hand_over(*policy, *loaded);
  cluster.everything_changed();
  sia_cycle(cluster, *loaded);
  EXPECT_EQ(cluster.replicas(id), 8);
}

TEST(Sia, HigherPrioritiesChooseFirst) {
  FakeCluster cluster;
  cluster.add_nodes(1, 2);
  const auto policy = sia_with({{"gpu", 1, 0.5}});
  const JobId normal = cluster.submit(job().preemptible().replicas(1, 2).estimate(1000));
  const JobId high =
      cluster.submit(job().preemptible().priority(100).replicas(1, 2).estimate(1000));
  sia_cycle(cluster, *policy);
  EXPECT_EQ(cluster.replicas(high), 2);
  EXPECT_EQ(cluster.replicas(normal), 0);
}

}  // namespace
}  // namespace orrery
