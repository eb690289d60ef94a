// What orrery promises beside the contract of all policies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "policies/orrery_speeds.hpp"
#include "tests/policies/ask.hpp"
#include "tests/support/fake_run.hpp"

namespace orrery {
namespace {

using policies::SparseSpeed;
using testing::Arrival;
using testing::FakeCluster;
using testing::FakeRun;
using testing::job;

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

/// What a long and a short job have of 32 devices after some cycles.
std::pair<std::int32_t, std::int32_t> long_and_short(const char* short_first) {
  FakeCluster cluster;
  cluster.add_nodes(4, 8);
  cluster.report_progress();
  const auto policy = testing::policy("orrery", {{"short_first", short_first}, {"horizon", "10h"}});
  const JobId is_long = cluster.submit(job().preemptible().replicas(1, 32), 1e6);
  const JobId is_short = cluster.submit(job().preemptible().replicas(1, 32), 1e5);
  for (int i = 0; i < 5; ++i) ask(cluster, *policy);
  EXPECT_EQ(cluster.capacity().free_devices(), 0);
  return {cluster.replicas(is_long), cluster.replicas(is_short)};
}

TEST(Orrery, WhoHasLittleLeftHasMore) {
  const auto [is_long, is_short] = long_and_short("0.75");
  EXPECT_GE(is_short, 2 * is_long) << is_long << " and " << is_short;
  EXPECT_GE(is_long, 1);
  EXPECT_EQ(long_and_short("0"), std::pair(16, 16)) << "all weigh alike";
}

// One device comes free: not worth a restart of anyone within the horizon, but within a longer one.
TEST(Orrery, AChangeHasToPayWithinTheHorizon) {
  const auto grows = [](const char* horizon) {
    FakeCluster cluster;
    cluster.add_nodes(1, 8);
    const auto policy = testing::policy("orrery", {{"horizon", horizon}, {"first_replicas", "8"}});
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
  EXPECT_FALSE(grows("30s"));
  EXPECT_TRUE(grows("10000s"));
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

ThroughputObservation observed(int nodes, int replicas, int batch, double compute, double step) {
  return {{nodes, replicas}, batch, compute, step};
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
