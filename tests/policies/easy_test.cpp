#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policies/ask.hpp"

namespace orrery::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Eight devices: five held until 100 s, three free; the head wants six.
struct Reserved {
  Reserved() {
    cluster.add_nodes(1, 8);
    submit_and_ask(cluster, *easy, job().replicas(5).estimate(100));
    head = submit_and_ask(cluster, *easy, job().replicas(6).estimate(50));
  }

  std::unique_ptr<Policy> easy = policy("easy");
  FakeCluster cluster;
  JobId head;
};

TEST(Easy, BackfillsWhatEndsByTheShadowTime) {
  Reserved r;
  EXPECT_TRUE(runs(r.cluster, submit_and_ask(r.cluster, *r.easy, job().replicas(3).estimate(100))));
}

TEST(Easy, RefusesWhatWouldDelayTheHead) {
  Reserved r;
  EXPECT_FALSE(
      runs(r.cluster, submit_and_ask(r.cluster, *r.easy, job().replicas(3).estimate(101))));
  EXPECT_FALSE(runs(r.cluster, submit_and_ask(r.cluster, *r.easy, job().replicas(3))));
}

TEST(Easy, BackfillsLongJobsIntoTheExtraDevices) {
  Reserved r;
  // At 100 s eight are free, the head takes six: two are extra, once.
  EXPECT_TRUE(runs(r.cluster, submit_and_ask(r.cluster, *r.easy, job().replicas(2))));
  EXPECT_FALSE(runs(r.cluster, submit_and_ask(r.cluster, *r.easy, job().replicas(1))));
}

TEST(Easy, TheHeadStartsAtItsShadowTime) {
  Reserved r;
  submit_and_ask(r.cluster, *r.easy, job().replicas(3).estimate(100));
  submit_and_ask(r.cluster, *r.easy, job().replicas(3).estimate(100));
  r.cluster.advance(100);
  EXPECT_THAT(started_by_optimize(r.cluster, *r.easy), ElementsAre(r.head));
}

TEST(Easy, AnOverdueJobEndsNow) {
  Reserved r;
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto easy = policy("easy");
  submit_and_ask(cluster, *easy, job().replicas(2).estimate(10), 1000);
  const JobId head = submit_and_ask(cluster, *easy, job().replicas(4).estimate(10));
  cluster.advance(20);
  // The shadow time is now, nothing is extra: even one second is too long.
  EXPECT_FALSE(runs(cluster, submit_and_ask(cluster, *easy, job().replicas(1).estimate(1))));
  EXPECT_FALSE(runs(cluster, head));
}

TEST(Easy, BackfillsNothingWhereTheHeadHasNoShadowTime) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto easy = policy("easy");
  submit_and_ask(cluster, *easy, job().replicas(2));
  submit_and_ask(cluster, *easy, job().replicas(4).estimate(10));
  EXPECT_FALSE(runs(cluster, submit_and_ask(cluster, *easy, job().replicas(1).estimate(1))));
}

TEST(Easy, LooksAtNoMoreThanBackfillDepthWaitingJobs) {
  for (const auto& [depth, starts] :
       {std::pair{"1", false}, std::pair{"2", true}, std::pair{"0", true}}) {
    const auto easy = policy("easy", {{"backfill_depth", depth}});
    FakeCluster cluster;
    cluster.add_nodes(1, 8);
    submit_and_ask(cluster, *easy, job().replicas(5).estimate(100));
    submit_and_ask(cluster, *easy, job().replicas(6).estimate(50));
    submit_and_ask(cluster, *easy, job().replicas(8).estimate(50));
    const JobId id = submit_and_ask(cluster, *easy, job().replicas(1).estimate(50));
    EXPECT_EQ(runs(cluster, id), starts) << "depth " << depth;
  }
}

// Those that one call starts do not count, and those of other sizes that it passes over do.
TEST(Easy, OneCallLooksBehindThoseItStarts) {
  const auto easy = policy("easy", {{"backfill_depth", "2"}});
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  submit_and_ask(cluster, *easy, job().replicas(5).estimate(100));
  cluster.submit(job().replicas(6).estimate(50));
  const JobId a = cluster.submit(job().replicas(1).estimate(50));
  cluster.submit(job().replicas(8).estimate(50));
  const JobId b = cluster.submit(job().replicas(1).estimate(50));
  cluster.submit(job().replicas(7).estimate(50));
  cluster.submit(job().replicas(1).estimate(50));
  EXPECT_THAT(started_by_optimize(cluster, *easy), ElementsAre(a, b));
}

// Five of ten devices are free. Once all are, the head takes eight: two are for long jobs.
TEST(Easy, LongJobsOfOneCallShareWhatTheHeadLeaves) {
  const auto easy = policy("easy", {{"reserve_nodes", "true"}});
  FakeCluster cluster;
  cluster.add_nodes(1, 10);
  submit_and_ask(cluster, *easy, job().replicas(5).estimate(100));
  cluster.submit(job().replicas(8).estimate(50));
  const JobId a = cluster.submit(job().replicas(2));
  cluster.submit(job().replicas(2));
  const JobId b = cluster.submit(job().replicas(2).estimate(100));
  EXPECT_THAT(started_by_optimize(cluster, *easy), ElementsAre(a, b));
  EXPECT_THAT(started_by_optimize(cluster, *easy), IsEmpty());
}

// Six nodes of one device. Nodes 0 and 1 are free, 2 and 3 will be when the head gets its three: it
// is to have 0, 1 and 2. A long job could take node 0 and leave the head node 3, counted; but known
// nodes are the head's alone.
TEST(Easy, ReservesKnownNodesWhereItIsAskedTo) {
  for (const auto& [reserve, starts] : {std::pair{"false", true}, std::pair{"true", false}}) {
    const auto easy = policy("easy", {{"reserve_nodes", reserve}});
    FakeCluster cluster;
    cluster.add_nodes(6, 1);
    submit_and_ask(cluster, *easy, job().replicas(2).estimate(10));
    submit_and_ask(cluster, *easy, job().replicas(2).estimate(100));
    submit_and_ask(cluster, *easy, job().replicas(2).estimate(200));
    cluster.advance(10);
    started_by_optimize(cluster, *easy);
    const JobId head = submit_and_ask(cluster, *easy, job().replicas(3).estimate(50));
    const JobId id = submit_and_ask(cluster, *easy, job().replicas(1).estimate(150));
    EXPECT_EQ(runs(cluster, id), starts) << "reserve_nodes " << reserve;
    cluster.advance(90);
    EXPECT_THAT(started_by_optimize(cluster, *easy), ::testing::Contains(head));
  }
}

TEST(Easy, AFragmentedClusterDoesNotStarveAHeadThatNeedsAWholeNode) {
  FakeCluster cluster;
  cluster.add_nodes(2, 4);
  const auto easy = policy("easy");
  // Four devices are free, but no node is: the head has to wait for the first node.
  const JobId first = submit_and_ask(cluster, *easy, job().devices(3).estimate(100));
  submit_and_ask(cluster, *easy, job().devices(1).replicas(1).estimate(10));
  const JobId second = submit_and_ask(cluster, *easy, job().devices(3).estimate(500));
  const JobId head = submit_and_ask(cluster, *easy, job().devices(4).estimate(50));
  EXPECT_TRUE(runs(cluster, first));
  EXPECT_TRUE(runs(cluster, second));
  cluster.advance(10);
  EXPECT_THAT(started_by_optimize(cluster, *easy), IsEmpty());
  // One device is free on each node. A long job may take the one on the second node only.
  const JobId a = submit_and_ask(cluster, *easy, job().estimate(1000));
  const JobId b = submit_and_ask(cluster, *easy, job().estimate(1000));
  EXPECT_TRUE(runs(cluster, a));
  EXPECT_FALSE(runs(cluster, b));
  EXPECT_TRUE(runs(cluster, submit_and_ask(cluster, *easy, job().estimate(90))));
  cluster.advance(90);
  EXPECT_THAT(started_by_optimize(cluster, *easy), ElementsAre(head));
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

/// Eight devices: some held until 1,000 s, a head that wants them all, and a small job that would
/// delay it.
struct SmallBehindHead {
  explicit SmallBehindHead(std::int32_t held) {
    cluster.add_nodes(2, 4);
    submit_and_ask(cluster, *easy, job().replicas(held).estimate(1000));
    submit_and_ask(cluster, *easy, job().replicas(8).estimate(100));
    small = submit_and_ask(cluster, *easy, job().replicas(1).estimate(1200));
    EXPECT_FALSE(runs(cluster, small));
  }

  std::unique_ptr<Policy> easy = policy("easy");
  FakeCluster cluster;
  JobId small;
};

TEST(Easy, AJobThatStartsBeforeTheHeadMovesItsShadowTime) {
  SmallBehindHead r(4);
  const JobId urgent =
      submit_and_ask(r.cluster, *r.easy, job().replicas(2).priority(3).estimate(2000));
  EXPECT_TRUE(runs(r.cluster, urgent));
  EXPECT_TRUE(runs(r.cluster, r.small)) << "it ends at 1200 s, the head cannot start before 2000 s";
}

TEST(Easy, ANewHeadLeavesOtherDevicesThanTheOldOne) {
  SmallBehindHead r(6);
  const JobId urgent =
      submit_and_ask(r.cluster, *r.easy, job().replicas(7).priority(3).estimate(2000));
  EXPECT_FALSE(runs(r.cluster, urgent));
  EXPECT_TRUE(runs(r.cluster, r.small)) << "of eight devices at 1000 s the new head takes seven";
}

TEST(Easy, AJobBehindTheHeadStartsNoOther) {
  SmallBehindHead r(4);
  submit_and_ask(r.cluster, *r.easy, job().replicas(2).estimate(500));
  EXPECT_FALSE(runs(r.cluster, r.small));
}

// Four devices: three halves lie on two of them, which come free together. Counted as three they
// would leave one beside the head that is not there.
TEST(Easy, PartsOfDevicesThatEndAreNoWholeOnes) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto easy = policy("easy");
  submit_and_ask(cluster, *easy, job().estimate(900), 1000);
  submit_and_ask(cluster, *easy, job().share(500).replicas(3).estimate(400), 1000);
  ASSERT_EQ(cluster.capacity().free_devices(), 1);
  const JobId head = submit_and_ask(cluster, *easy, job().replicas(3).estimate(100), 1000);
  EXPECT_FALSE(runs(cluster, head));
  EXPECT_FALSE(runs(cluster, submit_and_ask(cluster, *easy, job().estimate(700), 1000)))
      << "the head has all three that are free at 400 s";
  EXPECT_TRUE(runs(cluster, submit_and_ask(cluster, *easy, job().estimate(400), 1000)));
}

// Of two devices one is half taken for long; the other one will be the head's. A small part would
// fit best beside what is on that now.
TEST(Easy, ALongPartKeepsClearOfTheDeviceThatWillBeTheHeads) {
  for (const char* reserve_nodes : {"false", "true"}) {
    FakeCluster cluster;
    cluster.add_nodes(1, 2);
    const auto easy = policy("easy", {{"reserve_nodes", reserve_nodes}});
    submit_and_ask(cluster, *easy, job().share(500).estimate(4000), 4000);
    submit_and_ask(cluster, *easy, job().share(600).estimate(300), 300);
    EXPECT_FALSE(runs(cluster, submit_and_ask(cluster, *easy, job().estimate(100), 100)));
    EXPECT_FALSE(
        runs(cluster, submit_and_ask(cluster, *easy, job().share(300).estimate(600), 600)));
    EXPECT_TRUE(runs(cluster, submit_and_ask(cluster, *easy, job().share(300).estimate(300), 300)));
  }
}

TEST(Easy, HighPriorityPushesOutPreemptibleJobs) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto easy = policy("easy");
  const JobId soft = submit_and_ask(cluster, *easy, job().replicas(3).preemptible());
  const JobId high = submit_and_ask(cluster, *easy, job().replicas(4).priority(100));
  EXPECT_TRUE(runs(cluster, high));
  EXPECT_FALSE(runs(cluster, soft));
}

}  // namespace
}  // namespace orrery::testing
