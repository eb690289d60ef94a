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

}  // namespace
}  // namespace orrery
