// For whom queues make room, and who has to give it.
#include <gtest/gtest.h>

#include <string>

#include "tests/policies/played_queues.hpp"
#include "tests/support/fake_view.hpp"

namespace orrery {
namespace {

using testing::FakeCluster;
using testing::in;

class QueueClaims : public testing::Queues {
 protected:
  void on_one_node(std::int32_t devices) {
    cluster_ = FakeCluster();
    cluster_.add_nodes(1, devices);
  }

  void pass_minutes(int n) {
    for (int minute = 0; minute < n; ++minute) pass(60);
  }
};

// The queue above, three of whose three and a half devices are in use, would cross its share by a
// fraction if the device came from outside.
TEST_F(QueueClaims, WhatIsGuaranteedComesFromASiblingWhereTheQueueAboveHasItsShare) {
  on_one_node(6);
  use("fifo", "patience=36000s; team guarantee=1; a parent=team guarantee=1; b parent=team; other");
  submit(3, in("b").preemptible());
  submit(5, in("other").preemptible());
  pass_minutes(120);
  ASSERT_EQ(held("b"), 3);
  submit(1, in("a").preemptible());
  pass(60);
  EXPECT_EQ(held("a"), 1) << "within one period";
  EXPECT_EQ(held("other"), 3) << "a sibling gives it";
}

TEST_F(QueueClaims, ASharesPartComesFromASiblingWhereTheQueueAboveHasItsShare) {
  on_one_node(7);
  use("fifo", "patience=36000s; team; a parent=team; b parent=team; other");
  submit(3, in("b").preemptible());
  submit(4, in("other").preemptible());
  pass_minutes(120);
  ASSERT_EQ(held("b"), 3);
  submit(1, in("a").preemptible());
  pass(60);
  EXPECT_EQ(held("a"), 1);
  EXPECT_EQ(held("b"), 2);
}

// No sibling may be preempted.
TEST_F(QueueClaims, WhatIsGuaranteedComesFromOutsideWhereNoSiblingCanGiveIt) {
  on_one_node(6);
  use("fifo", "patience=36000s; team guarantee=1; a parent=team guarantee=1; b parent=team; other");
  submit(3, in("b"));
  submit(5, in("other").preemptible());
  pass_minutes(120);
  submit(1, in("a").preemptible());
  pass(60);
  EXPECT_EQ(held("a"), 1);
  EXPECT_EQ(held("other"), 2);
}

// In the first minute one queue held all, so that the team is owed a fraction for ever.
TEST_F(QueueClaims, SiblingsThatHoldTheirSharesTakeNoTurnsForAFractionThatIsOwedAbove) {
  on_one_node(4);
  use("fifo", "other; team; a parent=team; b parent=team priority=2");
  submit(4, in("other").preemptible());
  submit(3, in("a").preemptible());
  submit(1, in("b").preemptible());
  pass_minutes(60);
  const std::uint64_t before = cluster_.preemptions();
  pass_minutes(24 * 60);
  EXPECT_EQ(cluster_.preemptions(), before);
  EXPECT_EQ(held("a"), 1);
  EXPECT_EQ(held("b"), 1);
  EXPECT_EQ(held("other"), 2);
}

// The queue above has less than half of what the job needs for both below it, and never more.
TEST_F(QueueClaims, AJobWiderThanTheShareOfTheQueueAboveRunsInTurn) {
  on_one_node(8);
  use("fifo", "patience=600s; team; a parent=team; b parent=team; other weight=3");
  submit(8, in("b").preemptible());
  submit(8, in("other").preemptible());
  const JobId wide = submit(1, in("a").devices(8).preemptible()).front();
  int minutes = 0;
  for (int minute = 0; minute < 1200; ++minute) {
    pass(60);
    minutes += cluster_.replicas(wide);
  }
  EXPECT_NEAR(minutes, 1200 / 8, 40) << "a half of a quarter of the time";
}

// The youngest would be the next to go, and leaves too little.
TEST_F(QueueClaims, OneThatMakesRoomByItselfGoesAlone) {
  use("fifo", "patience=36000s; a; b");
  const JobId old = submit(1, in("b").devices(6).preemptible()).front();
  const JobId wide = submit(1, in("b").devices(8).preemptible()).front();
  const JobId young = submit(1, in("b").devices(2).preemptible()).front();
  pass(60);
  ASSERT_EQ(held("b"), 16);
  submit(1, in("a").devices(6).preemptible());
  pass(60);
  EXPECT_EQ(held("a"), 6);
  EXPECT_EQ(cluster_.replicas(wide), 0);
  EXPECT_EQ(cluster_.replicas(young), 1) << "it would not have made the room";
  EXPECT_EQ(cluster_.replicas(old), 1);
}

class QueuesThatBorrow : public QueueClaims, public ::testing::WithParamInterface<const char*> {};

// Some policies share out no more than what a queue is entitled to, holds, or needs for a job.
TEST_P(QueuesThatBorrow, UseWhatNobodyElseCanUse) {
  on_one_node(4);
  use(GetParam(), "period=30s patience=18000s; a weight=3; b");
  submit(1, in("b").replicas(2));
  pass(30);
  submit(1, in("a").replicas(3).preemptible());
  pass(30);
  submit(1, in("b").preemptible());
  for (int i = 0; i < 12; ++i) pass(30);
  EXPECT_EQ(held("b"), 3);
}

INSTANTIATE_TEST_SUITE_P(
    Policies,
    QueuesThatBorrow,
    ::testing::Values("fifo", "fit", "elasticflow", "optimus", "tiresias", "shockwave"));

// The job that is behind could grow by a replica of two, of which one is free: nobody gives
// another.
TEST_F(QueueClaims, WhatAPolicyLeavesIsLentOnceItWasKeptForPatience) {
  on_one_node(8);
  use("fit", "patience=600s; a; b");
  submit(5, in("a"));
  const JobId behind = submit(1, in("b").devices(2).replicas(1, 2).preemptible()).front();
  pass(60);
  submit(1, in("a"));
  pass_minutes(9);
  EXPECT_EQ(held("a"), 5) << "the eighth device is kept";
  pass_minutes(3);
  EXPECT_EQ(held("a"), 6);
  EXPECT_EQ(cluster_.replicas(behind), 1);
}

// As long as something comes within that time, it is put together.
TEST_F(QueueClaims, WhatIsKeptForGrowthIsPutTogether) {
  on_one_node(8);
  use("fit", "patience=600s; a; b");
  const std::vector<JobId> fixed = submit(5, in("a"));
  const JobId behind = submit(1, in("b").devices(2).replicas(1, 2).preemptible()).front();
  pass(60);
  submit(3, in("a"));
  pass_minutes(5);
  cluster_.end_now(fixed.front());
  pass_minutes(2);
  EXPECT_EQ(cluster_.replicas(behind), 2);
  EXPECT_EQ(held("a"), 4);
}

// Three devices are missing to the next replica of the queue behind; one could be given.
TEST_F(QueueClaims, NothingIsTakenForGrowthThatItDoesNotSufficeFor) {
  on_one_node(8);
  use("fit", "patience=36000s; a; b weight=3");
  const JobId giver = submit(1, in("a").replicas(2, 6).preemptible()).front();
  submit(2, in("a"));
  pass(60);
  ASSERT_EQ(held("a"), 8);
  const JobId behind = submit(1, in("b").devices(3).replicas(1, 2).preemptible()).front();
  pass_minutes(5);
  EXPECT_EQ(cluster_.replicas(behind), 1);
  EXPECT_EQ(cluster_.replicas(giver), 3);
}

TEST_F(QueueClaims, WhatIsGuaranteedComesFromASiblingWhereALimitAboveKeepsIt) {
  on_one_node(8);
  use("las", "team guarantee=4 limit=4; a parent=team; b parent=team guarantee=2; other");
  submit(4, in("a").preemptible());
  submit(3, in("other").preemptible());
  pass_minutes(2);
  ASSERT_EQ(held("a"), 4);
  submit(1, in("b").replicas(2).preemptible());
  pass(60);
  EXPECT_EQ(held("b"), 2);
  EXPECT_EQ(held("a"), 2) << "one device is free, which the limit does not let the team have";
  EXPECT_EQ(held("other"), 3) << "who cannot help";
}

TEST_F(QueueClaims, SharesBelowALimitAreTakenBack) {
  on_one_node(8);
  use("fifo", "team limit=4; a parent=team; b parent=team; other");
  submit(4, in("a").preemptible());
  submit(2, in("other").preemptible());
  pass_minutes(2);
  submit(4, in("b").preemptible());
  pass_minutes(2);
  EXPECT_EQ(held("a"), 2);
  EXPECT_EQ(held("b"), 2);
  EXPECT_EQ(held("other"), 2);
}

}  // namespace
}  // namespace orrery
