#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/ask.hpp"

namespace orrery::testing {
namespace {

using ::testing::IsEmpty;

void cycle(FakeCluster& cluster, Policy& policy) {
  cluster.advance(60);
  cluster.carry_out(cluster.ask_optimize(policy));
}

TEST(Fit, GivesAFixedJobItsMinimumAndAnElasticOneWhatFits) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto fit = policy("fit");
  const JobId fixed = submit_and_ask(cluster, *fit, job().replicas(2, 4));
  const JobId elastic = submit_and_ask(cluster, *fit, job().replicas(1, 5).preemptible());
  EXPECT_EQ(cluster.replicas(fixed), 2);
  EXPECT_EQ(cluster.replicas(elastic), 5);
}

TEST(Fit, SharesEquallyAtTheNextCycle) {
  FakeCluster cluster;
  cluster.add_nodes(2, 4);
  const auto fit = policy("fit");
  const JobId a = submit_and_ask(cluster, *fit, job().replicas(1, 8).preemptible(), 1e5);
  const JobId b = submit_and_ask(cluster, *fit, job().replicas(1, 8).preemptible(), 1e5);
  EXPECT_EQ(cluster.replicas(a), 8);
  EXPECT_FALSE(runs(cluster, b));
  EXPECT_THAT(cluster.ask_optimize(*fit).grants, IsEmpty()) << "not between the cycles";
  for (int i = 0; i < 3; ++i) cycle(cluster, *fit);
  EXPECT_EQ(cluster.replicas(a), 4);
  EXPECT_EQ(cluster.replicas(b), 4);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(Fit, StaysAsItIsWhereNothingChanged) {
  FakeCluster cluster;
  cluster.add_nodes(3, 4);
  const auto fit = policy("fit");
  for (int i = 0; i < 3; ++i)
    submit_and_ask(cluster, *fit, job().replicas(1, 8).preemptible(), 1e6);
  for (int i = 0; i < 4; ++i) cycle(cluster, *fit);
  for (int i = 0; i < 5; ++i) {
    cluster.advance(60);
    EXPECT_THAT(cluster.ask_optimize(*fit).grants, IsEmpty());
  }
}

TEST(Fit, IsSettledAfterACycleInVainAndNoLonger) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto fit = policy("fit");
  EXPECT_FALSE(fit->is_settled());
  submit_and_ask(cluster, *fit, job().replicas(1, 2).preemptible(), 1e6);
  EXPECT_FALSE(fit->is_settled()) << "a cycle may still change something";
  cycle(cluster, *fit);
  EXPECT_TRUE(fit->is_settled());
  EXPECT_THAT(cluster.ask_optimize(*fit).grants, IsEmpty());
  EXPECT_FALSE(fit->is_settled()) << "not between the cycles";
  cycle(cluster, *fit);
  EXPECT_TRUE(fit->is_settled());
  submit_and_ask(cluster, *fit, job().replicas(3, 4).preemptible(), 1e6);
  EXPECT_FALSE(fit->is_settled());
  cluster.advance(60);
  const Plan plan = cluster.ask_optimize(*fit);
  EXPECT_FALSE(plan.empty());
  EXPECT_FALSE(fit->is_settled());
  cluster.carry_out(plan);
  cycle(cluster, *fit);
  ByteWriter out;
  fit->save(out);
  ByteReader in(out.bytes());
  fit->load(in);
  EXPECT_FALSE(fit->is_settled()) << "what it was shown is forgotten";
}

TEST(Fit, AProfilingThatShowsLittleGainChangesTheNextCycle) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto fit = policy("fit");
  const JobId fixed = submit_and_ask(cluster, *fit, job().replicas(2), 1e6);
  const JobId flat = cluster.submit(job().replicas(1, 6).preemptible(), 1e6);
  // Two replicas are as good as six.
  cluster.set_rate(flat, [](std::int32_t n) { return n == 1 ? 1.0 : 1.5; });
  cluster.carry_out(cluster.ask_allocate(*fit, flat));
  EXPECT_EQ(cluster.replicas(flat), 6) << "nothing is known yet";
  const JobId steep = submit_and_ask(cluster, *fit, job().replicas(1, 6).preemptible(), 1e6);
  cycle(cluster, *fit);
  EXPECT_EQ(cluster.replicas(flat), 3) << "equal shares";
  EXPECT_EQ(cluster.replicas(steep), 3);
  cycle(cluster, *fit);
  EXPECT_LT(cluster.replicas(flat), 3) << "three replicas were seen to be as fast as six";
  EXPECT_GT(cluster.replicas(steep), 3);
  EXPECT_EQ(cluster.replicas(fixed), 2);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(Fit, WhatGainsNothingGivesItsDevicesBack) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto fit = policy("fit");
  const JobId flat = cluster.submit(job().replicas(1, 8).preemptible(), 1e6);
  cluster.set_rate(flat, [](std::int32_t) { return 1.0; });
  cluster.carry_out(cluster.ask_allocate(*fit, flat));
  const JobId other = submit_and_ask(cluster, *fit, job().replicas(1, 2).preemptible(), 1e6);
  for (int i = 0; i < 6; ++i) cycle(cluster, *fit);
  EXPECT_EQ(cluster.replicas(flat), 1);
  EXPECT_EQ(cluster.replicas(other), 2);
}

TEST(Fit, ShrinksElasticJobsToLetWaitingOnesStart) {
  FakeCluster cluster;
  cluster.add_nodes(2, 4);
  const auto fit = policy("fit");
  const JobId elastic = submit_and_ask(cluster, *fit, job().replicas(2, 8).preemptible(), 1e6);
  const JobId fixed = submit_and_ask(cluster, *fit, job().devices(4));
  EXPECT_FALSE(runs(cluster, fixed));
  cycle(cluster, *fit);
  EXPECT_TRUE(runs(cluster, fixed));
  EXPECT_EQ(cluster.replicas(elastic), 4);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(Fit, TakesNothingOffANodeThatTakesNothingNew) {
  FakeCluster cluster;
  cluster.add_nodes(2, 2);
  const auto fit = policy("fit");
  const JobId elastic = submit_and_ask(cluster, *fit, job().replicas(1, 4).preemptible(), 1e6);
  ASSERT_EQ(cluster.replicas(elastic), 4);
  for (const std::uint32_t node : {1u, 0u}) {
    cluster.cordon(NodeId{node});
    for (int i = 0; i < 3; ++i) cycle(cluster, *fit);
    EXPECT_EQ(cluster.replicas(elastic), 4) << "with node " << node << " closed";
  }
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(Fit, GivesOthersWhatItHasElsewhereThanOnANodeThatTakesNothingNew) {
  FakeCluster cluster;
  cluster.add_nodes(2, 2);
  const auto fit = policy("fit");
  const JobId elastic = submit_and_ask(cluster, *fit, job().replicas(1, 4).preemptible(), 1e6);
  cluster.cordon(NodeId{1});
  const JobId fixed = submit_and_ask(cluster, *fit, job().replicas(2), 1e6);
  for (int i = 0; i < 3; ++i) cycle(cluster, *fit);
  EXPECT_TRUE(runs(cluster, fixed));
  EXPECT_EQ(cluster.replicas(elastic), 2);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(Fit, JobsOfOneQuotaGrowWithinItTogether) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  cluster.set_quota("limited", 4);
  const auto fit = policy("fit");
  const JobId fixed = submit_and_ask(cluster, *fit, job().replicas(6), 1e6);
  const JobId a =
      submit_and_ask(cluster, *fit, job().replicas(1, 8).preemptible().group("limited"), 1e6);
  const JobId b =
      submit_and_ask(cluster, *fit, job().replicas(1, 8).preemptible().group("limited"), 1e6);
  for (int i = 0; i < 2; ++i) cycle(cluster, *fit);
  EXPECT_EQ(cluster.replicas(a) + cluster.replicas(b), 2);
  cluster.end_now(fixed);
  for (int i = 0; i < 2; ++i) cycle(cluster, *fit);
  EXPECT_EQ(cluster.replicas(a) + cluster.replicas(b), 4);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(Fit, HighPriorityTakesOverAnElasticJobAsAWhole) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto fit = policy("fit");
  const JobId elastic = submit_and_ask(cluster, *fit, job().replicas(1, 4).preemptible(), 1e6);
  const JobId high = submit_and_ask(cluster, *fit, job().replicas(4).priority(100));
  EXPECT_TRUE(runs(cluster, high));
  EXPECT_FALSE(runs(cluster, elastic));
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

}  // namespace
}  // namespace orrery::testing
