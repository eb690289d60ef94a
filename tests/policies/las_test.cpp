#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/ask.hpp"

namespace orrery::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Las, SwapsOnceAQuantumAndOnlyBeyondTheMargin) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto las = policy("las", {{"quantum", "100s"}});
  EXPECT_EQ(las->triggers().period, Duration::seconds(100));
  const JobId first = submit_and_ask(cluster, *las, job().replicas(4).preemptible(), 10000);
  const JobId second = submit_and_ask(cluster, *las, job().replicas(4).preemptible(), 10000);
  cluster.advance(100);
  EXPECT_THAT(started_by_optimize(cluster, *las), IsEmpty()) << "exactly one quantum of service";
  cluster.advance(50);
  EXPECT_THAT(started_by_optimize(cluster, *las), IsEmpty()) << "between the cycles";
  cluster.advance(50);
  EXPECT_THAT(started_by_optimize(cluster, *las), ElementsAre(second));
  EXPECT_FALSE(runs(cluster, first));
  // 200 s against 100 s: not yet back.
  cluster.advance(100);
  EXPECT_THAT(started_by_optimize(cluster, *las), IsEmpty());
}

TEST(Las, StartsTheLeastServedWheneverDevicesComeFree) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto las = policy("las", {{"quantum", "100s"}});
  const JobId served = submit_and_ask(cluster, *las, job().replicas(4).preemptible(), 10000);
  cluster.advance(250);
  const JobId fresh = submit_and_ask(cluster, *las, job().replicas(4), 10);
  EXPECT_THAT(started_by_optimize(cluster, *las), ElementsAre(fresh));
  const JobId fresher = submit_and_ask(cluster, *las, job().replicas(4), 10);
  cluster.advance(10);
  EXPECT_THAT(started_by_optimize(cluster, *las), ElementsAre(fresher));
  cluster.advance(10);
  EXPECT_THAT(started_by_optimize(cluster, *las), ElementsAre(served));
}

TEST(Las, NeverMovesFixedJobs) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto las = policy("las", {{"quantum", "10s"}});
  const JobId fixed = submit_and_ask(cluster, *las, job(), 10000);
  submit_and_ask(cluster, *las, job(), 10);
  cluster.advance(5000);
  EXPECT_THAT(started_by_optimize(cluster, *las), IsEmpty());
  EXPECT_TRUE(runs(cluster, fixed));
}

TEST(Las, HighPriorityDoesNotWaitForTheQuantum) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto las = policy("las");
  const JobId soft = submit_and_ask(cluster, *las, job().preemptible());
  const JobId high = submit_and_ask(cluster, *las, job().priority(100));
  EXPECT_TRUE(runs(cluster, high));
  EXPECT_FALSE(runs(cluster, soft));
}

}  // namespace
}  // namespace orrery::testing
