#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/ask.hpp"

namespace orrery::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Sjf, StartsTheShortestStatedTimeThatFits) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto sjf = policy("sjf");
  const JobId unknown = cluster.submit(job().replicas(1));
  const JobId slow = cluster.submit(job().replicas(1).estimate(300));
  const JobId wide = cluster.submit(job().replicas(5).estimate(1));
  const JobId quick = cluster.submit(job().replicas(2).estimate(30));
  EXPECT_THAT(started_by_optimize(cluster, *sjf), ElementsAre(quick, slow, unknown));
  EXPECT_FALSE(runs(cluster, wide));
}

TEST(Sjf, TakesNothingBackForAShorterJob) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto sjf = policy("sjf");
  const JobId runner = submit_and_ask(cluster, *sjf, job().estimate(500).preemptible());
  const JobId shorter = submit_and_ask(cluster, *sjf, job().estimate(5));
  EXPECT_THAT(started_by_optimize(cluster, *sjf), IsEmpty());
  EXPECT_TRUE(runs(cluster, runner));
  EXPECT_FALSE(runs(cluster, shorter));
}

// The stated time, not what is left of it: the job that ran half of its 100 s waits behind 80 s.
TEST(Sjf, CountsTheWholeStatedTimeOfAJobThatRanAlready) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto sjf = policy("sjf");
  const JobId lost = submit_and_ask(cluster, *sjf, job().estimate(100));
  const JobId other = cluster.submit(job().estimate(80));
  cluster.advance(50);
  cluster.set_usable(NodeId{0}, false);
  cluster.set_usable(NodeId{0}, true);
  EXPECT_THAT(started_by_optimize(cluster, *sjf), ElementsAre(other));
  EXPECT_FALSE(runs(cluster, lost));
}

TEST(Sjf, HighPriorityComesFirstAndPushesOut) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto sjf = policy("sjf");
  const JobId quick = submit_and_ask(cluster, *sjf, job().estimate(5).preemptible());
  const JobId high = submit_and_ask(cluster, *sjf, job().estimate(500).priority(100));
  EXPECT_TRUE(runs(cluster, high));
  EXPECT_FALSE(runs(cluster, quick));
}

}  // namespace
}  // namespace orrery::testing
