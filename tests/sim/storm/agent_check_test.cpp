// The rules on agents, each with what it must see and what it must let pass.
#include "sim/storm/agent_check.hpp"

#include <gtest/gtest.h>

#include <string>

namespace orrery::sim {
namespace {

constexpr Instant second(std::int64_t s) { return Instant::zero() + Duration::seconds(s); }

class AgentCheckTest : public ::testing::Test {
 protected:
  AgentCheckTest() : check_(2, {Duration::seconds(10), Duration::seconds(1)}, found_) {
    check_.leader(Epoch{1});
    check_.lease(second(0), NodeId{0}, second(10));
  }

  static WorkerStart start(std::uint32_t node) {
    WorkerStart start{Rank{0}, RoleIndex{0}, 0, NodeId{node}, Incarnation{1}, 3};
    return start;
  }

  void hear(std::int64_t s, CommandBody body, std::uint32_t node = 0) {
    check_.heard(second(s), NodeId{node}, {Sequence{5}, 0, Epoch{1}, std::move(body)});
  }

  void hear_start(std::int64_t s) { hear(s, StartWorkers{JobId{0}, Generation{1}, 1, {start(0)}}); }

  void hear_stop(std::int64_t s, Duration grace) {
    hear(s, StopWorkers{JobId{0}, Generation{1}, grace, {{Rank{0}, NodeId{0}, Incarnation{1}}}});
  }

  void begin(std::int64_t s, std::uint64_t devices = 3) {
    WorldProcess process{
        JobId{0}, Incarnation{1}, Rank{0}, Generation{1}, Generation{1}, Rank{0}, RoleIndex{0}};
    process.node = NodeId{0};
    process.devices = devices;
    check_.began(second(s), process);
  }

  void signal(std::int64_t s, bool kill) {
    check_.signalled(second(s), NodeId{0}, {JobId{0}, Incarnation{1}, Rank{0}}, kill);
  }

  /// Something else happens on the node.
  void later(std::int64_t s) { check_.lease(second(s), NodeId{0}, second(s + 10)); }

  void expect(const std::string& part) {
    ASSERT_FALSE(found_.empty()) << part;
    EXPECT_NE(found_.kept().front().text.find(part), std::string::npos)
        << found_.kept().front().text;
  }

  Violations found_;
  AgentCheck check_;
};

TEST_F(AgentCheckTest, WhatIsOrderedMayBeDone) {
  hear_start(1);
  begin(1);
  hear_stop(2, Duration::seconds(5));
  signal(2, false);
  signal(7, true);
  later(8);
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
}

TEST_F(AgentCheckTest, AStartIsNotLeftOut) {
  hear_start(1);
  later(2);
  expect("was ordered to start, held a lease, and did not");
}

TEST_F(AgentCheckTest, NothingBeginsThatWasNotOrdered) {
  begin(1);
  expect("was not ordered there");
}

TEST_F(AgentCheckTest, NothingBeginsOtherwiseThanOrdered) {
  hear_start(1);
  begin(1, 1);
  expect("otherwise than it was ordered");
}

TEST_F(AgentCheckTest, NothingBeginsTwice) {
  hear_start(1);
  begin(1);
  check_.ended(second(2), NodeId{0}, {JobId{0}, Incarnation{1}, Rank{0}});
  begin(3);
  expect("a second time");
}

TEST_F(AgentCheckTest, NothingBeginsWithoutALease) {
  hear_start(11);
  begin(11);
  expect("without a lease");
}

TEST_F(AgentCheckTest, AStopIsNotLeftOut) {
  hear_start(1);
  begin(1);
  hear_stop(2, Duration::seconds(5));
  later(3);
  expect("was ordered to stop, and is not asked to");
}

TEST_F(AgentCheckTest, NothingIsAskedToStopUnordered) {
  hear_start(1);
  begin(1);
  signal(2, false);
  expect("nobody has ordered that");
}

TEST_F(AgentCheckTest, NothingIsKilledBeforeItsGraceIsOver) {
  hear_start(1);
  begin(1);
  hear_stop(2, Duration::seconds(5));
  signal(2, false);
  signal(5, true);
  expect("is killed before its time");
}

TEST_F(AgentCheckTest, ALeaseIsNoLongerThanItMayBe) {
  check_.lease(second(1), NodeId{0}, second(13));
  expect("10.000000 s are allowed");
}

TEST_F(AgentCheckTest, NothingOutlivesTheLease) {
  hear_start(1);
  begin(1);
  later(12);
  expect("outlives the lease");
}

TEST_F(AgentCheckTest, WhoStaysIsToldItsPlace) {
  hear_start(1);
  begin(1);
  WorkerStart member = start(0);
  member.birth_rank = Rank{0};
  hear(2, UpdateMembership{JobId{0}, Generation{2}, 1, {member}});
  later(3);
  expect("was not told its place");
}

TEST_F(AgentCheckTest, ANodeKnowsOfAJobBeforeItsOrders) {
  const Command order{Sequence{5}, 0, Epoch{1}, StartWorkers{JobId{0}, Generation{1}, 1, {}}};
  check_.sent(second(1), NodeId{0}, order, true, true);
  EXPECT_TRUE(found_.empty());
  check_.sent(second(1), NodeId{0}, order, true, false);
  expect("who the members are");
}

TEST_F(AgentCheckTest, AnOrderGoesWhereItChangesSomething) {
  hear(1, StartWorkers{JobId{0}, Generation{1}, 1, {start(0)}}, 1);
  expect("where it changes nothing");
}

}  // namespace
}  // namespace orrery::sim
