#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/ask.hpp"

namespace orrery::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Srtf, StartsTheShortestThatFits) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto srtf = policy("srtf");
  const JobId unknown = cluster.submit(job().replicas(1));
  const JobId slow = cluster.submit(job().replicas(1).estimate(300));
  const JobId wide = cluster.submit(job().replicas(5).estimate(1));
  const JobId quick = cluster.submit(job().replicas(2).estimate(30));
  EXPECT_THAT(started_by_optimize(cluster, *srtf), ElementsAre(quick, slow, unknown));
  EXPECT_FALSE(runs(cluster, wide));
}

TEST(Srtf, PreemptsTheLongestRunnerForAShorterJob) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto srtf = policy("srtf");
  const JobId longest =
      submit_and_ask(cluster, *srtf, job().replicas(2).estimate(500).preemptible());
  const JobId longer =
      submit_and_ask(cluster, *srtf, job().replicas(2).estimate(400).preemptible());
  cluster.advance(200);
  // 300 s and 200 s are left.
  const JobId same = submit_and_ask(cluster, *srtf, job().replicas(2).estimate(300));
  EXPECT_FALSE(runs(cluster, same)) << "no gain in swapping equals";
  const JobId shorter = submit_and_ask(cluster, *srtf, job().replicas(2).estimate(250));
  EXPECT_TRUE(runs(cluster, shorter));
  EXPECT_FALSE(runs(cluster, longest));
  EXPECT_TRUE(runs(cluster, longer));
}

TEST(Srtf, NeverMovesFixedJobs) {
  FakeCluster cluster;
  cluster.add_nodes(1, 2);
  const auto srtf = policy("srtf");
  const JobId fixed = submit_and_ask(cluster, *srtf, job().replicas(2).estimate(5000));
  EXPECT_FALSE(runs(cluster, submit_and_ask(cluster, *srtf, job().replicas(1).estimate(1))));
  EXPECT_TRUE(runs(cluster, fixed));
}

TEST(Srtf, CountsServiceOfAPreemptedJob) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto srtf = policy("srtf");
  const JobId first = submit_and_ask(cluster, *srtf, job().estimate(100).preemptible());
  cluster.advance(60);
  const JobId brief = submit_and_ask(cluster, *srtf, job().estimate(10));
  EXPECT_FALSE(runs(cluster, first));
  const JobId rival = submit_and_ask(cluster, *srtf, job().estimate(50));
  cluster.advance(10);
  EXPECT_FALSE(cluster.is_live(brief));
  EXPECT_THAT(started_by_optimize(cluster, *srtf), ElementsAre(first)) << "40 s left, rival 50 s";
  EXPECT_FALSE(runs(cluster, rival));
}

TEST(Srtf, PrefersReportsToEstimates) {
  FakeCluster cluster;
  cluster.report_progress();
  cluster.add_nodes(1, 1);
  const auto srtf = policy("srtf");
  // It says 100 s and reports 1000 s.
  const JobId liar = submit_and_ask(cluster, *srtf, job().estimate(100).preemptible(), 1000);
  const JobId other = submit_and_ask(cluster, *srtf, job().estimate(500));
  EXPECT_FALSE(runs(cluster, liar));
  EXPECT_TRUE(runs(cluster, other));
}

TEST(Srtf, PriorityComesBeforeRemainingTime) {
  FakeCluster cluster;
  cluster.add_nodes(1, 2);
  const auto srtf = policy("srtf");
  const JobId quick = submit_and_ask(cluster, *srtf, job().replicas(2).estimate(5).preemptible());
  const JobId high =
      submit_and_ask(cluster, *srtf, job().replicas(2).estimate(500).priority(100).preemptible());
  EXPECT_TRUE(runs(cluster, high));
  EXPECT_FALSE(runs(cluster, quick));
  EXPECT_THAT(started_by_optimize(cluster, *srtf), IsEmpty());
}

}  // namespace
}  // namespace orrery::testing
