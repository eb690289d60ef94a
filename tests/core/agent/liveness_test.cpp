#include "core/agent/liveness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/agent/agent_builders.hpp"

namespace orrery {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

RunningWorker running(std::uint32_t rank,
                      std::uint32_t generation = 1,
                      std::uint32_t incarnation = 1) {
  return {JobId{7}, Generation{generation}, Incarnation{incarnation}, Rank{rank}};
}

class LivenessTest : public ::testing::Test {
 protected:
  HeartbeatVerdict hear(double seconds,
                        std::vector<RunningWorker> workers,
                        bool registers = false) {
    Heartbeat beat;
    beat.node = NodeId{0};
    beat.epoch = Epoch{2};
    beat.session = session_;
    beat.number = ++number_;
    beat.sent_at = at(seconds);
    beat.registers = registers;
    beat.workers = std::move(workers);
    edges_.clear();
    return liveness_.heard(beat, at(seconds), edges_);
  }

  template <class Edge>
  const Edge* only_edge() const {
    return edges_.size() == 1 ? std::get_if<Edge>(&edges_[0]) : nullptr;
  }

  std::uint64_t session_ = 1;
  std::uint64_t number_ = 0;
  Liveness liveness_{Epoch{2}, Settings{}, 2, at(0)};
  std::vector<EventBody> edges_;
};

TEST_F(LivenessTest, ANewEpochWaitsALeaseAndTheGraceForEachNode) {
  EXPECT_EQ(liveness_.next_deadline(), at(70));
  liveness_.time_reached(at(69), edges_);
  EXPECT_THAT(edges_, IsEmpty());
  liveness_.time_reached(at(70), edges_);
  EXPECT_THAT(edges_, SizeIs(2));
  EXPECT_TRUE(liveness_.next_deadline().is_never());
}

TEST_F(LivenessTest, AReplacedNodeHasToRegisterAndReturnsWithItsWholeList) {
  hear(5, {running(0)}, true);
  liveness_.replaced(NodeId{0});
  EXPECT_EQ(hear(6, {running(0)}), HeartbeatVerdict::NotRegistered);
  EXPECT_EQ(hear(7, {running(0)}, true), HeartbeatVerdict::Renewed);
  const auto* returned = only_edge<NodeReturned>();
  ASSERT_NE(returned, nullptr);
  EXPECT_THAT(returned->workers, SizeIs(1)) << "what is an orphan is found in it";
}

TEST_F(LivenessTest, AReplacedNodeWithoutARegistrationIsSilentAtTheEndOfItsLease) {
  hear(5, {running(0)}, true);
  liveness_.replaced(NodeId{0});
  edges_.clear();
  liveness_.time_reached(at(15), edges_);
  EXPECT_NE(only_edge<NodeSilent>(), nullptr);
  liveness_.replaced(NodeId{0});
  EXPECT_FALSE(liveness_.is_heard(NodeId{0}));
  EXPECT_EQ(liveness_.next_deadline(), at(70)) << "of the other one";
}

TEST_F(LivenessTest, ANodeReturnsWithItsListAndGoesSilentWithItsLease) {
  EXPECT_EQ(hear(5, {running(0)}, true), HeartbeatVerdict::Renewed);
  const auto* returned = only_edge<NodeReturned>();
  ASSERT_NE(returned, nullptr);
  EXPECT_THAT(returned->workers, SizeIs(1));
  EXPECT_EQ(hear(7, {running(0)}), HeartbeatVerdict::Renewed);
  EXPECT_THAT(edges_, IsEmpty()) << "an equal list is no edge";
  EXPECT_EQ(liveness_.next_deadline(), at(17));
  liveness_.time_reached(at(17), edges_);
  const auto* silent = only_edge<NodeSilent>();
  ASSERT_NE(silent, nullptr);
  EXPECT_EQ(silent->node, NodeId{0});
  EXPECT_EQ(hear(18, {}), HeartbeatVerdict::NotRegistered);
  EXPECT_EQ(hear(19, {}, true), HeartbeatVerdict::Renewed);
  EXPECT_NE(only_edge<NodeReturned>(), nullptr);
}

TEST_F(LivenessTest, SilenceAboutAWorkerIsItsLoss) {
  hear(1, {running(0), running(1), running(2)}, true);
  hear(2, {running(0)});
  const auto* lost = only_edge<WorkersChanged>();
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(lost->fact, WorkerFact::Lost);
  EXPECT_EQ(lost->first, Rank{1});
  EXPECT_EQ(lost->count, 2U);
}

TEST_F(LivenessTest, AReportedEndIsNoLoss) {
  hear(1, {running(0)}, true);
  edges_.clear();
  liveness_.reported(NodeId{0},
                     {JobId{7}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 1, 0},
                     edges_);
  EXPECT_THAT(edges_, SizeIs(1));
  hear(2, {});
  EXPECT_THAT(edges_, IsEmpty());
}

TEST_F(LivenessTest, TheListOfANewLifeIsTakenAsItIs) {
  hear(1, {running(0)}, true);
  liveness_.reported(NodeId{0},
                     {JobId{7}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 1, 0},
                     edges_);
  session_ = 2;
  hear(2, {running(0)}, true);
  ASSERT_NE(only_edge<NodeReturned>(), nullptr);
  hear(3, {running(0)});
  EXPECT_THAT(edges_, IsEmpty()) << "it says the same once more";
}

TEST_F(LivenessTest, AnOrderOnItsWayIsNeitherLossNorSurprise) {
  hear(1, {}, true);
  liveness_.ordered(start_ranks(7, 1, 2));
  hear(2, {});
  EXPECT_THAT(edges_, IsEmpty());
  hear(3, {running(0), running(1)});
  EXPECT_THAT(edges_, IsEmpty());
}

TEST_F(LivenessTest, AStartThatIsTakenBackOnANodeThatIsNotKnownChangesNothing) {
  liveness_.ordered(start_ranks(7, 1, 1));
  liveness_.withdrawn(NodeId{1'000'000}, running(0));
  EXPECT_THAT(liveness_.on_their_way(NodeId{0}), SizeIs(1));
  liveness_.withdrawn(NodeId{0}, running(0));
  EXPECT_THAT(liveness_.on_their_way(NodeId{0}), IsEmpty());
}

TEST_F(LivenessTest, AnOrderThatAnEarlierConnectionLostIsGivenUpWithTheNextList) {
  hear(1, {running(9)}, true);
  liveness_.ordered(start_ranks(7, 1, 2));
  liveness_.connected(NodeId{0});
  liveness_.ordered(start_ranks(7, 2, 1, 2));
  hear(2, {running(9), running(1)});
  EXPECT_THAT(edges_, IsEmpty()) << "it has not registered yet";
  hear(3, {running(9), running(1)}, true);
  const auto* returned = only_edge<NodeReturned>();
  ASSERT_NE(returned, nullptr);
  // Rank 0 was lost; the later start is on its way on the new connection.
  EXPECT_EQ(returned->workers,
            (std::vector<RunningWorker>{running(1), running(9), running(0, 2, 2)}));
  hear(4, {running(1), running(9), running(0, 2, 2)});
  EXPECT_THAT(edges_, IsEmpty());
}

TEST_F(LivenessTest, TheFirstListDoesNotGiveUpWhatIsOnItsWay) {
  liveness_.ordered(start_ranks(7, 1, 1));
  hear(1, {}, true);
  const auto* returned = only_edge<NodeReturned>();
  ASSERT_NE(returned, nullptr);
  EXPECT_EQ(returned->workers, std::vector<RunningWorker>{running(0)});
}

TEST_F(LivenessTest, AJobThatIsOverLeavesItsStartsOnTheirWay) {
  hear(1, {running(9)}, true);
  liveness_.ordered(start_ranks(7, 1, 1));
  liveness_.ordered(CleanJob{JobId{7}});
  edges_.clear();
  liveness_.reported(NodeId{0},
                     {JobId{7}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{9}, 1, 0},
                     edges_);
  // Made before any of it, and overtaken.
  hear(2, {running(9)});
  const auto* returned = only_edge<NodeReturned>();
  ASSERT_NE(returned, nullptr);
  EXPECT_EQ(returned->workers, (std::vector<RunningWorker>{running(0), running(9)}))
      << "a worker that starts is not counted as missing";
  EXPECT_EQ(liveness_.noted(), 1U);
  liveness_.reported(NodeId{0},
                     {JobId{7}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 1, 0},
                     edges_);
  EXPECT_EQ(liveness_.noted(), 0U) << "its end is what ends it";
}

TEST_F(LivenessTest, AWorkerThatStillStopsWhenItsJobIsOverIsNoSurprise) {
  hear(1, {}, true);
  liveness_.ordered(start_ranks(7, 1, 1));
  liveness_.ordered(CleanJob{JobId{7}});
  hear(2, {running(0)});
  EXPECT_THAT(edges_, IsEmpty());
  EXPECT_EQ(liveness_.noted(), 0U);
}

TEST_F(LivenessTest, ALateListThatNamesAnEndedWorkerMakesTheNodeReturn) {
  hear(1, {running(0)}, true);
  edges_.clear();
  liveness_.reported(NodeId{0},
                     {JobId{7}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 1, 0},
                     edges_);
  hear(2, {running(0)});
  EXPECT_NE(only_edge<NodeReturned>(), nullptr) << "the controller asks for its end once more";
}

TEST_F(LivenessTest, DeadlinesOfManyNodesComeInTheirOrder) {
  Liveness liveness{Epoch{1}, Settings{}, 50, at(0)};
  std::vector<EventBody> edges;
  for (std::uint32_t n = 0; n < 50; ++n) {
    Heartbeat beat;
    beat.node = NodeId{n};
    beat.epoch = Epoch{1};
    beat.session = beat.number = 1;
    beat.registers = true;
    liveness.heard(beat, at((n * 7) % 50), edges);
  }
  edges.clear();
  for (std::uint32_t second = 10; second < 60; ++second) {
    EXPECT_EQ(liveness.next_deadline(), at(second));
    liveness.time_reached(at(second), edges);
    ASSERT_THAT(edges, SizeIs(second - 9));
    EXPECT_EQ(std::get<NodeSilent>(edges.back()).node.value * 7 % 50, second - 10);
  }
  EXPECT_TRUE(liveness.next_deadline().is_never());
}

TEST_F(LivenessTest, AWorkerThatWasNotOrderedMakesTheNodeReturn) {
  hear(1, {}, true);
  hear(2, {running(3)});
  EXPECT_NE(only_edge<NodeReturned>(), nullptr);
}

TEST_F(LivenessTest, HeartbeatsAreLatestWins) {
  hear(1, {running(0)}, true);
  number_ = 0;
  EXPECT_EQ(hear(2, {}), HeartbeatVerdict::StaleNumber);
  EXPECT_THAT(edges_, IsEmpty());
  session_ = 5;
  EXPECT_EQ(hear(3, {}), HeartbeatVerdict::NotRegistered);
  EXPECT_EQ(hear(4, {}, true), HeartbeatVerdict::Renewed);
  EXPECT_NE(only_edge<NodeReturned>(), nullptr);
  session_ = 1;
  number_ = 100;
  EXPECT_EQ(hear(5, {running(0)}), HeartbeatVerdict::StaleSession);
}

TEST_F(LivenessTest, AnotherEpochRenewsNothing) {
  Heartbeat beat;
  beat.node = NodeId{1};
  beat.epoch = Epoch{1};
  beat.number = 1;
  beat.registers = true;
  EXPECT_EQ(liveness_.heard(beat, at(1), edges_), HeartbeatVerdict::StaleEpoch);
  beat.node = NodeId{9};
  EXPECT_EQ(liveness_.heard(beat, at(1), edges_), HeartbeatVerdict::UnknownNode);
  EXPECT_EQ(liveness_.next_deadline(), at(70));
  EXPECT_EQ(liveness_.renewals(), 0U);
}

TEST_F(LivenessTest, AJobsProfilingHasNoMoreKeysThanItsBound) {
  constexpr std::size_t kMax = 64;
  ProfilingChanged measured{JobId{7}, Generation{1}, Rank{0}, {}};
  for (std::size_t i = 0; i <= kMax; ++i) measured.values.push_back({"key" + std::to_string(i), 1});
  liveness_.profiled(measured, edges_);
  const auto* changed = only_edge<ProfilingChanged>();
  ASSERT_NE(changed, nullptr);
  EXPECT_THAT(changed->values, SizeIs(kMax));
  edges_.clear();
  measured.values = {{"key0", 2}};
  liveness_.profiled(measured, edges_);
  EXPECT_NE(only_edge<ProfilingChanged>(), nullptr) << "a key that is known may change";
}

TEST_F(LivenessTest, OnlyProfilingsThatDifferBecomeEdges) {
  const ProfilingChanged first{
      JobId{7}, Generation{1}, Rank{0}, {{"step_time_s", 0.5}, {"throughput", 10}}};
  liveness_.profiled(first, edges_);
  EXPECT_NE(only_edge<ProfilingChanged>(), nullptr);
  liveness_.profiled(first, edges_);
  EXPECT_THAT(edges_, SizeIs(1));
  edges_.clear();
  liveness_.profiled({JobId{7}, Generation{1}, Rank{0}, {{"step_time_s", 0.4}, {"throughput", 10}}},
                     edges_);
  const auto* changed = only_edge<ProfilingChanged>();
  ASSERT_NE(changed, nullptr);
  ASSERT_THAT(changed->values, SizeIs(1));
  EXPECT_EQ(changed->values[0].key, "step_time_s");
  edges_.clear();
  liveness_.forget(JobId{7});
  liveness_.profiled(first, edges_);
  EXPECT_THAT(edges_, SizeIs(1));
}

TEST_F(LivenessTest, WhatHasMeasuredSomethingElseIsToldApartByItsBytes) {
  const auto bytes_after = [&](const std::string& key, double value) {
    Liveness liveness{Epoch{2}, Settings{}, 2, at(0)};
    liveness.profiled({JobId{7}, Generation{1}, Rank{0}, {{key, value}}}, edges_);
    ByteWriter out;
    liveness.save(out);
    return std::string(out.text());
  };
  EXPECT_EQ(bytes_after("loss", 1), bytes_after("loss", 1));
  EXPECT_NE(bytes_after("loss", 1), bytes_after("loss", 2));
  EXPECT_NE(bytes_after("loss", 1), bytes_after("lost", 1));
}

}  // namespace
}  // namespace orrery
