// What orrery promises beside the contract of all policies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/models/pollux_application.hpp"
#include "policies/orrery_policy.hpp"
#include "policies/orrery_speeds.hpp"
#include "tests/policies/ask.hpp"
#include "tests/support/fake_run.hpp"
#include "tests/support/reporting_cluster.hpp"

namespace orrery {
namespace {

using policies::OrrerySpeeds;
using policies::SparseSpeed;
using testing::Arrival;
using testing::FakeCluster;
using testing::FakeRun;
using testing::job;
using testing::ReportingCluster;

void ask(FakeCluster& cluster, Policy& policy, std::int64_t seconds = 60) {
  cluster.advance(seconds);
  cluster.carry_out(cluster.ask_optimize(policy));
}

// A job that has the cluster for itself: whatever its speed is like, it is not slower than with its
// minimum all the time.
TEST(Orrery, NeverWorseThanRigidForASingleJob) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random = Random::stream(seed, "single job");
    const auto least = static_cast<std::int32_t>(random.between(1, 3));
    const auto most = least + static_cast<std::int32_t>(random.between(1, 13));
    const double friction = random.uniform();
    const auto ended = [&](const char* name) {
      FakeCluster cluster;
      cluster.add_nodes(2, 8);
      Arrival arrival{Instant{}, job().preemptible().replicas(least, most).spec(), 5000, {}};
      arrival.curve = [=](std::int32_t n) { return n / (1 + friction * (n - 1)); };
      FakeRun run(std::move(cluster), {arrival});
      const auto policy = testing::policy(name);
      EXPECT_TRUE(run.run(*policy)) << name << ", seed " << seed;
      return run.cluster().ended_at(JobId{0});
    };
    EXPECT_LE(ended("orrery"), ended("fifo")) << "seed " << seed;
  }
}

TEST(Orrery, WhoHasLittleLeftHasMore) {
  FakeCluster cluster;
  cluster.add_nodes(4, 8);
  cluster.report_progress();
  const auto policy = testing::policy("orrery", {{"horizon", "10h"}});
  const JobId is_long = cluster.submit(job().preemptible().replicas(1, 32), 1e6);
  const JobId is_short = cluster.submit(job().preemptible().replicas(1, 32), 1e5);
  for (int i = 0; i < 5; ++i) ask(cluster, *policy);
  EXPECT_EQ(cluster.capacity().free_devices(), 0);
  EXPECT_GE(cluster.replicas(is_short), 2 * cluster.replicas(is_long));
  EXPECT_GE(cluster.replicas(is_long), 1);
}

// One device comes free: not worth a restart of anyone within the horizon, or a part of what the
// job has left, but within a longer one.
TEST(Orrery, AChangeHasToPayWithinTheHorizon) {
  const auto grows = [](const char* horizon, const char* payback) {
    FakeCluster cluster;
    cluster.add_nodes(1, 8);
    const auto policy = testing::policy(
        "orrery", {{"horizon", horizon}, {"payback", payback}, {"first_replicas", "8"}});
    const JobId fixed = cluster.submit(job().devices(4), 1000);
    const JobId elastic = cluster.submit(job().preemptible().replicas(4, 8), 1e6);
    cluster.set_rate(elastic, [](std::int32_t n) { return n <= 4 ? n : 4 + 0.1 * (n - 4); });
    ask(cluster, *policy, 1);
    EXPECT_EQ(cluster.replicas(elastic), 4);
    EXPECT_EQ(cluster.replicas(fixed), 1);
    cluster.end_now(fixed);
    ask(cluster, *policy);
    return cluster.replicas(elastic) > 4;
  };
  EXPECT_FALSE(grows("30s", "1000"));
  EXPECT_FALSE(grows("10000s", "0.01"));
  EXPECT_TRUE(grows("10000s", "1000"));
}

// The same device, and a job of which nothing is known: it may soon be done.
TEST(Orrery, WhatAJobOfUnknownLengthIsTakenToHaveLeft) {
  const auto grows = [](const char* guess) {
    FakeCluster cluster;
    cluster.add_nodes(1, 8);
    const auto policy = testing::policy(
        "orrery",
        {{"guess", guess}, {"horizon", "10h"}, {"payback", "1"}, {"first_replicas", "8"}});
    const JobId fixed = cluster.submit(job().devices(4), 1000);
    const JobId elastic = cluster.submit(job().preemptible().replicas(4, 8), 1e6);
    ask(cluster, *policy, 1);
    EXPECT_EQ(cluster.replicas(elastic), 4);
    cluster.end_now(fixed);
    ask(cluster, *policy);
    return cluster.replicas(elastic) > 4;
  };
  EXPECT_FALSE(grows("1s"));
  EXPECT_TRUE(grows("10h"));
}

// A job that needs five devices waits, and younger ones have what came free two by two. Were all of
// it taken back there would be five, but it is not: what is left is no use to it.
TEST(Orrery, WhatIsKeptForAJobThatDoesNotStartHoldsUpNoOther) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto policy = testing::policy("orrery");
  cluster.submit(job(), 1e5);
  const JobId last = cluster.submit(job(), 1e5);
  std::vector<JobId> fixed;
  for (int i = 0; i < 3; ++i) fixed.push_back(cluster.submit(job().replicas(2), 1e5));
  ask(cluster, *policy, 1);
  const JobId wide = cluster.submit(job().preemptible().replicas(5, 6).estimate(1000), 1e5);
  for (const JobId each : fixed) {
    const JobId narrow = cluster.submit(job().preemptible().replicas(2, 4).estimate(900), 1e5);
    cluster.set_rate(narrow, [](std::int32_t) { return 2.0; });
    cluster.end_now(each);
    ask(cluster, *policy, 1);
    ASSERT_EQ(cluster.replicas(narrow), 2);
  }
  cluster.end_now(last);
  ask(cluster, *policy, 1);
  ASSERT_EQ(cluster.replicas(wide), 0);
  ASSERT_EQ(cluster.capacity().free_devices(), 1);
  const JobId small = cluster.submit(job(), 1e5);
  ask(cluster, *policy, 1);
  EXPECT_EQ(cluster.replicas(small), 1);
  EXPECT_TRUE(cluster.ask_optimize(*policy).grants.empty()) << "asked again on its own outcome";
}

// Of two epochs of a thousand seconds one is over for both: what they had since then counts.
TEST(Orrery, WhoIsAtTheEndOfItsLastEpochHasLittleLeft) {
  PolluxTables tables;
  tables.name = "toy";
  tables.limits = {.initial_total = 10, .total_max = 40, .atomic_min = 10, .atomic_max = 40};
  tables.epochs_max = 2;
  tables.placements.emplace(std::vector<int>{1}, StepCurve({{10, {1, 0}}, {40, {4, 0}}}));
  tables.runs = {{10, {{240, 240, {1, 0}}, {480, 480, {1, 0}}}},
                 {40, {{240, 240, {1, 0}}, {480, 480, {1, 0}}}}};
  auto profiles = std::make_shared<PolluxProfiles>();
  profiles->emplace("toy", PolluxApplication(std::move(tables)));
  policies::OrreryPolicy policy({}, std::make_unique<policies::NoEstimates>(), profiles);
  FakeCluster cluster;
  cluster.add_nodes(1, 5);
  const auto start = [&] {
    JobSpec spec = *job().preemptible().replicas(1, 4).spec();
    spec.profile = "toy";
    const JobId id = cluster.submit(std::make_shared<const JobSpec>(spec), 1e6);
    Plan plan;
    plan.grant(id, 1);
    cluster.carry_out(plan);
    return id;
  };
  const auto pass = [&](std::int64_t seconds) {
    cluster.advance(seconds);
    return cluster.ask_optimize(policy);
  };
  const JobId first = start();
  (void)pass(600);
  const JobId second = start();
  cluster.advance(400);
  cluster.complete_epochs(first, 1);
  (void)pass(30);
  cluster.advance(570);
  cluster.complete_epochs(second, 1);
  (void)pass(0);
  cluster.carry_out(pass(300));
  EXPECT_EQ(cluster.replicas(first), 4) << "100 s on one device are left, 700 of the other";
  EXPECT_EQ(cluster.replicas(second), 1);
}

// Small gangs come for ever, so that eight devices are never free at once by themselves.
TEST(Orrery, AGangIsNotPassedForEver) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto policy = testing::policy("orrery", {{"patience", "600s"}});
  const auto submit_small = [&] { cluster.submit(job().devices(2), 250); };
  for (int i = 0; i < 4; ++i) submit_small();
  ask(cluster, *policy);
  const JobId big = cluster.submit(job().devices(8), 100);
  for (int i = 0; i < 40 && !testing::runs(cluster, big) && cluster.is_live(big); ++i) {
    submit_small();
    ask(cluster, *policy);
  }
  EXPECT_TRUE(testing::runs(cluster, big)) << "after " << cluster.now().in_seconds() << " s";
  EXPECT_LE(cluster.now().in_seconds(), 600 + 4 * 250 + 120);
}

/// Of eight devices four are free in 1,000 s, two in 3,000 s; who needs all has waited too long.
struct Overdue {
  FakeCluster cluster;
  std::unique_ptr<Policy> policy = testing::policy("orrery", {{"patience", "600s"}});
  JobId big;

  explicit Overdue(std::int32_t big_devices) {
    cluster.add_nodes(2, 4);
    cluster.submit(job().replicas(4).estimate(1000), 1000);
    cluster.submit(job().replicas(2).estimate(3000), 3000);
    ask(cluster, *policy, 0);
    big = cluster.submit(job().replicas(big_devices).estimate(100), 100);
    ask(cluster, *policy, 660);
    EXPECT_FALSE(testing::runs(cluster, big));
  }

  bool starts(std::int32_t devices, std::int64_t estimate_s) {
    const JobId id = cluster.submit(job().replicas(devices).estimate(estimate_s), estimate_s);
    ask(cluster, *policy, 0);
    return testing::runs(cluster, id);
  }
};

TEST(Orrery, AnOverdueGangIsPassedByWhatIsOverBeforeItCouldStart) {
  Overdue all(8);
  EXPECT_FALSE(all.starts(2, 3000)) << "it would delay the overdue one";
  EXPECT_FALSE(all.starts(1, 2500));
  EXPECT_TRUE(all.starts(1, 2300)) << "it ends in time";
  EXPECT_TRUE(all.starts(1, 100));
  ask(all.cluster, *all.policy, 2340);
  EXPECT_TRUE(testing::runs(all.cluster, all.big));
}

TEST(Orrery, AnOverdueGangIsPassedByWhatLeavesItsDevicesAlone) {
  Overdue five(5);  // It can start in 340 s, and then one of the free devices is not its own.
  EXPECT_TRUE(five.starts(1, 100'000)) << "beside it one is left";
  EXPECT_FALSE(five.starts(1, 100'000)) << "and no second";
  ask(five.cluster, *five.policy, 340);
  EXPECT_TRUE(testing::runs(five.cluster, five.big));
}

TEST(Orrery, WithoutEstimatesNobodyPassesAnOverdueGang) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto policy = testing::policy("orrery", {{"patience", "600s"}});
  cluster.submit(job().devices(4), 5000);
  ask(cluster, *policy, 0);
  cluster.submit(job().devices(8), 100);
  ask(cluster, *policy, 660);
  const JobId small = cluster.submit(job().devices(1).estimate(10), 10);
  ask(cluster, *policy, 0);
  EXPECT_FALSE(testing::runs(cluster, small));
}

TEST(Orrery, EachKindGoesToWhomItHelpsMost) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4, 1000, "slow");
  cluster.add_nodes(1, 4, 1000, "fast");
  const auto policy = testing::policy("orrery");
  const JobId only_fast = cluster.submit(job().preemptible().replicas(1, 4).model("fast"), 1e5);
  const JobId any = cluster.submit(job().preemptible().replicas(1, 4), 1e5);
  ask(cluster, *policy);
  EXPECT_EQ(cluster.replicas(only_fast), 4);
  EXPECT_EQ(cluster.replicas(any), 4);
}

TEST(Orrery, AJobThatNoKindHoldsByItselfStartsAcrossKinds) {
  FakeCluster cluster;
  cluster.add_nodes(3, 4, 1000, "old");
  cluster.add_nodes(1, 4, 1000, "new");
  const auto policy = testing::policy("orrery");
  const JobId other = cluster.submit(job().preemptible().replicas(1, 8), 1e6);
  ask(cluster, *policy);
  const JobId wide = cluster.submit(job().preemptible().replicas(4, 5).devices(3), 1e6);
  ask(cluster, *policy);
  EXPECT_EQ(cluster.replicas(wide), 4);
  EXPECT_GE(cluster.replicas(other), 1) << "on what is left";
  EXPECT_THAT(cluster.violations(), ::testing::IsEmpty());
}

// Cores allow two on a node; devices would allow four.
TEST(Orrery, WhatCannotBePlacedLeavesTheJobWithWhatItHas) {
  FakeCluster cluster;
  cluster.add_nodes(2, 8, 5);
  const auto policy = testing::policy("orrery");
  const JobId apart = cluster.submit(job().preemptible().cpu(2).replicas(3, 8), 1e6);
  const JobId beside = cluster.submit(job().preemptible().cpu(1).replicas(1, 8), 1e6);
  for (int i = 0; i < 8; ++i) ask(cluster, *policy);
  EXPECT_GE(cluster.replicas(apart), 3);
  EXPECT_GE(cluster.replicas(beside), 1);
  EXPECT_EQ(cluster.preemptions(), 0u);
  EXPECT_THAT(cluster.violations(), ::testing::IsEmpty());
}

std::shared_ptr<const JobSpec> with_profile(const std::string& profile) {
  JobSpec spec = *job().preemptible().replicas(1, 8).spec();
  spec.profile = profile;
  return std::make_shared<const JobSpec>(std::move(spec));
}

/// A job that grows on eight devices until its reports tell that it had better not, and ends.
void teach(ReportingCluster& cluster, Policy& policy) {
  const JobId first = cluster.submit(with_profile("bert"), 1e6);
  for (int i = 0; i < 5; ++i) ask(cluster, policy);
  EXPECT_EQ(cluster.replicas(first), 1) << "two devices synchronise longer than they save";
  cluster.end_now(first);
  ask(cluster, policy);
}

TEST(Orrery, JobsOfAProfileStartWithWhatOthersOfItReported) {
  const auto starts_with = [](const char* alike, const char* profile) {
    ReportingCluster cluster(1e-6, 4096);
    cluster.add_nodes(1, 8);
    const auto policy = testing::policy("orrery", {{"alike", alike}});
    teach(cluster, *policy);
    const JobId next = cluster.submit(with_profile(profile), 1e6);
    ask(cluster, *policy);
    return cluster.replicas(next);
  };
  EXPECT_EQ(starts_with("true", "bert"), 1);
  EXPECT_EQ(starts_with("false", "bert"), 4) << "as one of unknown speed";
  EXPECT_EQ(starts_with("true", "yolo"), 4) << "another profile";
  EXPECT_EQ(starts_with("true", ""), 4) << "none";
}

TEST(Orrery, WhatWasReportedOfAProfileIsSavedAndLoaded) {
  ReportingCluster cluster(1e-6, 4096);
  cluster.add_nodes(1, 8);
  const auto policy = testing::policy("orrery");
  teach(cluster, *policy);
  const JobId other = cluster.submit(job().preemptible().replicas(1, 4), 1e6);
  for (int i = 0; i < 3; ++i) ask(cluster, *policy);
  const auto loaded = testing::policy("orrery");
  testing::hand_over(*policy, *loaded);
  cluster.everything_changed();
  const JobId next = cluster.submit(with_profile("bert"), 1e6);
  ask(cluster, *loaded);
  EXPECT_EQ(cluster.replicas(next), 1);
  EXPECT_GE(cluster.replicas(other), 1);
}

class ProfileSpeeds : public ::testing::Test {
 protected:
  ProfileSpeeds() { cluster_.add_nodes(1, 8); }

  JobId run(const std::string& profile, double times = 1) {
    const JobId id = cluster_.submit(with_profile(profile), 1e6);
    cluster_.slow_down(id, times);
    Plan plan;
    plan.grant(id, 1);
    cluster_.carry_out(plan);
    cluster_.advance(60);
    speeds_.learn(cluster_);
    return id;
  }

  /// Of one and of four replicas.
  std::pair<double, double> speeds_of(JobId id) {
    const JobView job = cluster_.job(id);
    const DeviceModelId kind = cluster_.capacity().at(NodeId{0}).model;
    return {speeds_.goodput(cluster_, job, {kind, 1, 1}),
            speeds_.goodput(cluster_, job, {kind, 1, 4})};
  }

  JobId waiting(const std::string& profile) { return cluster_.submit(with_profile(profile), 1e6); }

  ReportingCluster cluster_{1e-6, 4096};
  OrrerySpeeds speeds_{std::make_unique<policies::NoEstimates>(), true};
};

// 64 examples in 74 ms.
TEST_F(ProfileSpeeds, AJobThatDiffersHasAModelOfItsOwn) {
  const JobId usual = run("bert");
  const JobId slow = run("bert", 3);
  const JobId like = run("bert", 1.05);
  const JobId next = waiting("bert");
  EXPECT_NEAR(speeds_of(usual).first, 64 / 0.074, 90);
  EXPECT_NEAR(speeds_of(slow).first, 64 / 0.222, 30);
  EXPECT_NEAR(speeds_of(next).first, 64 / 0.074, 90);
  EXPECT_EQ(speeds_of(like), speeds_of(usual)) << "nearly as fast is as fast";
}

TEST_F(ProfileSpeeds, OnlyTheLatestProfilesAreRemembered) {
  const auto name = [](std::size_t i) { return "profile-" + std::to_string(i); };
  for (std::size_t i = 0; i <= OrrerySpeeds::kProfilesMax; ++i) cluster_.end_now(run(name(i)));
  EXPECT_EQ(speeds_of(waiting(name(0))), std::pair(1.0, 4.0)) << "in proportion: not known";
  EXPECT_GT(speeds_of(waiting(name(1))).first, 100);
  EXPECT_GT(speeds_of(waiting(name(OrrerySpeeds::kProfilesMax))).first, 100);
}

// Its profile is learned anew, of jobs that are three times as slow.
TEST_F(ProfileSpeeds, AJobThatWaitsGoesByWhatIsLearnedAnewOfAForgottenProfile) {
  const JobId waits = run("bert");
  EXPECT_NEAR(speeds_of(waits).first, 64 / 0.074, 90);
  Plan plan;
  plan.preempt(waits);
  cluster_.carry_out(plan);
  for (std::size_t i = 0; i <= OrrerySpeeds::kProfilesMax; ++i)
    cluster_.end_now(run("profile-" + std::to_string(i)));
  const JobId next = run("bert", 3);
  EXPECT_NEAR(speeds_of(next).first, 64 / 0.222, 30);
  EXPECT_EQ(speeds_of(waits), speeds_of(next));
}

TEST_F(ProfileSpeeds, WhatAJobNeedsIsTheMeanOfThoseThatEnded) {
  EXPECT_EQ(speeds_.total_of(cluster_.job(waiting("bert"))), std::nullopt);
  cluster_.end_now(run("bert"));
  const JobId longer = run("bert");
  cluster_.advance(120);
  speeds_.learn(cluster_);
  cluster_.end_now(longer);
  speeds_.learn(cluster_);
  EXPECT_EQ(speeds_.total_of(cluster_.job(waiting("bert"))), (60.0 + 180.0) / 2);
  EXPECT_EQ(speeds_.total_of(cluster_.job(waiting("yolo"))), std::nullopt);
}

// It had a minute before its first epoch was over, and looks come later.
TEST_F(ProfileSpeeds, WhatEpochsTookIsWithoutWhatCameAfterThem) {
  const JobId id = run("bert");
  EXPECT_EQ(speeds_.had_in_epochs(cluster_.job(id)), 0);
  cluster_.complete_epochs(id, 1);
  cluster_.advance(40);
  speeds_.learn(cluster_);
  EXPECT_EQ(speeds_.had_in_epochs(cluster_.job(id)), 60);
  cluster_.advance(60);
  speeds_.learn(cluster_);
  EXPECT_EQ(speeds_.had_in_epochs(cluster_.job(id)), 60);
  ByteWriter saved;
  speeds_.save(saved);
  OrrerySpeeds loaded(std::make_unique<policies::NoEstimates>(), true);
  ByteReader in(saved.bytes());
  loaded.load(in);
  EXPECT_EQ(loaded.had_in_epochs(cluster_.job(id)), 60);
}

ThroughputObservation observed(int nodes, int replicas, int batch, double compute, double step) {
  return {{nodes, replicas}, batch, compute, step};
}

// Steps that no model of its form foretells: with an odd number of replicas they take twice as
// long. Another one that is as wrong says nothing new, which it would where the others are right.
TEST(SparseSpeed, IsNotSurprisedByErrorsThatItHasAnyway) {
  SparseSpeed even;
  SparseSpeed uneven;
  for (int replicas = 1; replicas <= 8; ++replicas) {
    const double step_s = 0.1 + 0.05 * (replicas - 1);
    even.add(observed(1, replicas, 32, 0.1, step_s));
    uneven.add(observed(1, replicas, 32, 0.1, step_s * (replicas % 2 == 1 ? 2 : 1)));
  }
  EXPECT_FALSE(even.add(observed(1, 9, 32, 0.1, 0.5 * 1.3)));
  EXPECT_TRUE(uneven.add(observed(1, 9, 32, 0.1, 0.5 * 1.3)));
  EXPECT_TRUE(uneven.add(observed(1, 10, 32, 0.1, 0.55)));
  EXPECT_FALSE(uneven.add(observed(1, 12, 32, 0.1, 0.65 * 8))) << "more than that is new";
}

TEST(SparseSpeed, KeepsOnlyWhatItDidNotForetell) {
  SparseSpeed speed;
  EXPECT_TRUE(speed.empty());
  EXPECT_FALSE(speed.add(observed(1, 1, 32, 0.1, 0.1))) << "nothing was known";
  EXPECT_TRUE(speed.add(observed(1, 1, 32, 0.101, 0.101))) << "as foretold";
  EXPECT_FALSE(speed.add(observed(1, 4, 32, 0.1, 0.3))) << "synchronisation was not known";
  const BatchLimits limits{32, 1024, 8, 128};
  const double one = speed.goodputs(limits, {1, 1}).at({1, 1});
  const double four = speed.goodputs(limits, {1, 1}).at({1, 4});
  EXPECT_NE(four, 4 * one) << "synchronisation costs something";
  EXPECT_FALSE(speed.contradicts(observed(1, 1, 32, 0.12, 0.12)));
  EXPECT_TRUE(speed.contradicts(observed(1, 1, 32, 0.2, 0.2)));
  EXPECT_FALSE(speed.contradicts(observed(1, 2, 32, 0.2, 0.2))) << "a shape that was not seen";
  ByteWriter out;
  speed.save(out);
  SparseSpeed loaded;
  ByteReader in(out.bytes());
  loaded.load(in);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(loaded.goodputs(limits, {1, 1}).at({1, 4}), four);
  ByteWriter again;
  loaded.save(again);
  EXPECT_EQ(std::vector(out.bytes().begin(), out.bytes().end()),
            std::vector(again.bytes().begin(), again.bytes().end()));
}

}  // namespace
}  // namespace orrery
