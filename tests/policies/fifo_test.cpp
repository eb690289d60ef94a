#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/ask.hpp"

namespace orrery::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Fifo, StartsWholeGangsInOrderAndStopsAtTheFirstMisfit) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto fifo = policy("fifo");
  const JobId a = cluster.submit(job().replicas(4));
  const JobId b = cluster.submit(job().replicas(8));
  const JobId c = cluster.submit(job().replicas(1));
  EXPECT_THAT(started_by_optimize(cluster, *fifo), ElementsAre(a));
  cluster.advance(60);
  EXPECT_THAT(started_by_optimize(cluster, *fifo), ElementsAre(b));
  cluster.advance(60);
  EXPECT_THAT(started_by_optimize(cluster, *fifo), ElementsAre(c));
}

TEST(Fifo, CountsNodesNotOnlyDevices) {
  FakeCluster cluster;
  cluster.add_nodes(2, 4);
  const auto fifo = policy("fifo");
  EXPECT_TRUE(runs(cluster, submit_and_ask(cluster, *fifo, job().devices(2))));
  EXPECT_TRUE(runs(cluster, submit_and_ask(cluster, *fifo, job().devices(4))));
  const JobId wide = submit_and_ask(cluster, *fifo, job().devices(4));
  EXPECT_FALSE(runs(cluster, wide));
}

TEST(Fifo, GivesElasticJobsTheirMinimum) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto fifo = policy("fifo");
  const JobId id = submit_and_ask(cluster, *fifo, job().replicas(2, 8).preemptible());
  EXPECT_EQ(cluster.replicas(id), 2);
}

TEST(Fifo, PassesOverJobsBeyondTheirQuota) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  cluster.set_quota("limited", 2);
  const auto fifo = policy("fifo");
  const JobId a = cluster.submit(job().replicas(2).group("limited"));
  cluster.submit(job().replicas(1).group("limited"));
  const JobId c = cluster.submit(job().replicas(6));
  EXPECT_THAT(started_by_optimize(cluster, *fifo), ElementsAre(a, c));
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(Fifo, HighPriorityGoesFirst) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto fifo = policy("fifo");
  cluster.submit(job().replicas(4));
  const JobId high = cluster.submit(job().replicas(4).priority(100));
  EXPECT_THAT(started_by_optimize(cluster, *fifo), ElementsAre(high));
}

TEST(Fifo, HighPriorityPushesOutPreemptibleJobsOnly) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto fifo = policy("fifo");
  const JobId fixed = submit_and_ask(cluster, *fifo, job().replicas(4));
  const JobId soft = submit_and_ask(cluster, *fifo, job().replicas(4).preemptible());
  const JobId high = submit_and_ask(cluster, *fifo, job().replicas(4).priority(100));
  EXPECT_TRUE(runs(cluster, high));
  EXPECT_TRUE(runs(cluster, fixed));
  EXPECT_FALSE(runs(cluster, soft));
  const JobId higher = submit_and_ask(cluster, *fifo, job().replicas(8).priority(200));
  EXPECT_FALSE(runs(cluster, higher)) << "the fixed job holds half of the devices";
  EXPECT_TRUE(runs(cluster, high)) << "no job is preempted in vain";
}

TEST(Fifo, SparesAPreemptibleJobThatIsNotInTheWay) {
  FakeCluster cluster;
  cluster.add_nodes(2, 4);
  const auto fifo = policy("fifo");
  const JobId wide = submit_and_ask(cluster, *fifo, job().devices(4).preemptible());
  const JobId narrow = submit_and_ask(cluster, *fifo, job().devices(1).preemptible());
  const JobId fixed = submit_and_ask(cluster, *fifo, job().devices(2));
  // The youngest goes first, but its place does not help: the wide one has to go alone.
  const JobId high = submit_and_ask(cluster, *fifo, job().devices(4).priority(100));
  EXPECT_TRUE(runs(cluster, high));
  EXPECT_TRUE(runs(cluster, narrow));
  EXPECT_TRUE(runs(cluster, fixed));
  EXPECT_FALSE(runs(cluster, wide));
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

}  // namespace
}  // namespace orrery::testing
