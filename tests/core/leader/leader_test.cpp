// The session of a leader with its nodes.
#include "core/leader/leader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/bytes.hpp"
#include "tests/core/leader/streams_in_test.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A controller with two nodes of four devices, and a leader whose orders wait as long as a test
/// says: `issue` is when the store has them.
class LeaderTest : public ::testing::Test {
 protected:
  LeaderTest() {
    streams_.leader = &leader_;
    leader_.establish(at(0));
  }

  static Instant at(int seconds) { return Instant::zero() + Duration::seconds(seconds); }

  void issue() {
    for (const CommandBody& body : h_.orders)
      leader_.order({h_.controller.state().sequence, 0, Epoch{1}, body});
  }

  HeartbeatVerdict beat(std::uint32_t node,
                        bool registers,
                        std::vector<RunningWorker> workers = {},
                        Epoch epoch = Epoch{1}) {
    HeardBeat heard;
    heard.beat = {NodeId{node}, epoch, 1, ++number_, at(0), registers, Sequence{}, workers};
    return leader_.beat(NodeId{node}, heard, may_renew_, at(1));
  }

  void registered(std::uint32_t node) {
    leader_.connected(NodeId{node});
    ASSERT_EQ(beat(node, true), HeartbeatVerdict::Renewed);
  }

  /// The job is granted on these nodes, and its order to start is not out yet.
  JobId granted(const std::vector<NodeCount>& nodes) {
    std::int32_t replicas = 0;
    for (const NodeCount& each : nodes) replicas += each.replicas;
    const JobId id = h_.submit(JobBuilder("job" + std::to_string(++jobs_)).replicas(replicas));
    h_.plan(grant(id, replicas, nodes));
    return id;
  }

  std::vector<Event> news() {
    std::vector<Event> events;
    leader_.take_news(events);
    return events;
  }

  ControllerHarness h_{{nodes_of(2, 4)}};
  StreamsInTest streams_;
  Leader leader_{Epoch{1},
                 h_.controller.state(),
                 h_.controller.state().settings,
                 2,
                 at(0),
                 Duration::zero(),
                 streams_};
  bool may_renew_ = true;
  std::uint64_t number_ = 0;
  int jobs_ = 0;
};

TEST_F(LeaderTest, OrdersWaitForTheRegistrationAndFollowTheLeaseAndWhatTheyNeed) {
  granted({on(0, 1), on(1, 1)});
  issue();
  EXPECT_THAT(streams_.take(), IsEmpty());
  leader_.connected(NodeId{0});
  EXPECT_THAT(streams_.take(), IsEmpty()) << "connected is not registered";
  beat(0, true);
  EXPECT_THAT(streams_.take(), ElementsAre("0 renew", "0 job", "0 members", "0 start"));
  ASSERT_EQ(streams_.orders.size(), 1u);
  EXPECT_EQ(std::get<StartWorkers>(streams_.orders[0]).workers.size(), 1u) << "the node's part";
  EXPECT_EQ(leader_.entries().waiting, 1u) << "of the other node";
}

TEST_F(LeaderTest, AMeasurementIsASignOfLife) {
  JobBuilder builder("trains");
  builder.raw().failover.edit().hang_after = Duration::seconds(5);
  const JobId id = h_.running(builder, 1, {on(0, 1)});
  StreamsInTest streams;
  Leader next(Epoch{1}, h_.controller.state(), Settings{}, 2, at(0), Duration::zero(), streams);
  next.establish(at(0));
  const auto measured = [&](int seconds) {
    next.measured({id, h_.row(id).generation, Rank{0}, {{"throughput", 10}}}, at(seconds));
    return next.next_deadline();
  };
  EXPECT_EQ(measured(2), at(7));
  EXPECT_EQ(measured(4), at(9));
}

TEST_F(LeaderTest, WhatWasToldOnAStreamIsToldOnce) {
  registered(0);
  const JobId id = granted({on(0, 2)});
  issue();
  streams_.take();
  h_.settle();
  h_.step(StopRequested{0, id});
  issue();
  EXPECT_THAT(streams_.take(), ElementsAre("0 stop", "0 clean"));
  EXPECT_EQ(leader_.entries().told, 0u);
}

TEST_F(LeaderTest, EachNodeIsToldToStopItsOwnWorkersOnly) {
  registered(0);
  registered(1);
  const JobId id = granted({on(0, 1), on(1, 2)});
  issue();
  h_.settle();
  h_.step(StopRequested{0, id});
  streams_.take();
  streams_.orders.clear();
  issue();
  std::vector<std::size_t> told;
  for (const CommandBody& order : streams_.orders)
    if (const auto* stop = std::get_if<StopWorkers>(&order)) told.push_back(stop->workers.size());
  EXPECT_THAT(told, ElementsAre(1u, 2u));
}

TEST_F(LeaderTest, NothingIsGrantedBeforeTheEpochIsSafeOrWhereAnotherMayLead) {
  StreamsInTest streams;
  Leader fresh(Epoch{1}, h_.controller.state(), Settings{}, 2, at(0), Duration::zero(), streams);
  fresh.connected(NodeId{0});
  HeardBeat heard;
  heard.beat = {NodeId{0}, Epoch{1}, 1, 1, at(0), true, Sequence{}, {}};
  EXPECT_EQ(fresh.beat(NodeId{0}, heard, true, at(1)), HeartbeatVerdict::Renewed);
  EXPECT_THAT(streams.said, IsEmpty());
  leader_.connected(NodeId{0});
  may_renew_ = false;
  beat(0, true);
  EXPECT_THAT(streams_.take(), IsEmpty());
  EXPECT_FALSE(leader_.is_registered(NodeId{0}));
}

TEST_F(LeaderTest, OrdersWaitForTheRegistrationOnTheStreamThatThereIsNow) {
  registered(0);
  leader_.disconnected(NodeId{0});
  granted({on(0, 1)});
  issue();
  leader_.connected(NodeId{0});
  streams_.take();
  ASSERT_EQ(beat(0, false), HeartbeatVerdict::Renewed) << "it registered on the stream before";
  granted({on(0, 1)});
  issue();
  EXPECT_THAT(streams_.take(), ElementsAre("0 renew"));
  EXPECT_FALSE(leader_.is_registered(NodeId{0}));
  EXPECT_EQ(leader_.entries().waiting, 2u);
  beat(0, true);
  EXPECT_THAT(
      streams_.take(),
      ElementsAre("0 renew", "0 job", "0 members", "0 start", "0 job", "0 members", "0 start"));
}

TEST_F(LeaderTest, ANodeThatIsDeclaredLaterTakesPartAsThoseBefore) {
  h_.step(NodesDeclared{{nodes_of(1, 4)}});
  leader_.declare_nodes(1, at(0));
  granted({on(2, 1)});
  issue();
  EXPECT_EQ(leader_.entries().waiting, 1u);
  registered(2);
  EXPECT_THAT(streams_.take(), ElementsAre("2 renew", "2 job", "2 members", "2 start"));
  EXPECT_EQ(leader_.entries().waiting, 0u);
}

TEST_F(LeaderTest, AnAgentOfAnotherEpochHearsOfThisOneAndAnUnregisteredOneIsSentAway) {
  leader_.connected(NodeId{0});
  EXPECT_EQ(beat(0, true, {}, Epoch{7}), HeartbeatVerdict::StaleEpoch);
  EXPECT_THAT(streams_.take(), ElementsAre("0 announce"));
  EXPECT_EQ(beat(0, false), HeartbeatVerdict::NotRegistered);
  EXPECT_THAT(streams_.take(), ElementsAre("0 close"));
  EXPECT_FALSE(leader_.is_open(NodeId{0}));
}

TEST_F(LeaderTest, AStartThatWasGivenUpWhileItWaitedForTheStoreDoesNotGoOut) {
  registered(0);
  const JobId id = granted({on(0, 2)});
  const std::vector<CommandBody> start = h_.orders;
  h_.settle();
  h_.fail(id, 0);  // Its incarnation is replaced before the order is out.
  streams_.take();
  for (const CommandBody& body : start) leader_.order({Sequence{9}, 0, Epoch{1}, body});
  for (const CommandBody& each : streams_.orders)
    EXPECT_FALSE(std::holds_alternative<StartWorkers>(each) &&
                 std::get<StartWorkers>(each).workers.size() == 2)
        << "one of them is gone";
}

TEST_F(LeaderTest, OfAStartThatWaitsForItsNodeOnlyWhatIsStillMeantGoesOut) {
  registered(1);
  const JobId id = granted({on(0, 2)});
  issue();
  h_.lose(id, 1);  // Rank 1 has ended, says its node; rank 0 is still to start.
  streams_.take();
  streams_.orders.clear();
  leader_.connected(NodeId{0});
  beat(0, true);
  std::vector<Rank> started;
  for (const CommandBody& each : streams_.orders)
    if (const auto* start = std::get_if<StartWorkers>(&each))
      for (const WorkerStart& worker : start->workers) started.push_back(worker.rank);
  EXPECT_THAT(started, ElementsAre(Rank{0}));
}

TEST_F(LeaderTest, AStreamThatBreaksKeepsTheOrdersThatFollow) {
  granted({on(0, 1)});
  issue();
  granted({on(0, 1)});
  issue();
  leader_.connected(NodeId{0});
  streams_.breaks_at = "0 start";
  beat(0, true);
  EXPECT_THAT(streams_.take(), ElementsAre("0 renew", "0 job", "0 members", "0 start"));
  EXPECT_EQ(leader_.entries().waiting, 1u);
  streams_.breaks_at.clear();
  leader_.connected(NodeId{0});
  beat(0, true);
  EXPECT_THAT(streams_.take(), ElementsAre("0 renew", "0 job", "0 members", "0 start"));
}

TEST_F(LeaderTest, AStreamThatBreaksWhileTheJobIsToldKeepsTheOrder) {
  granted({on(0, 1)});
  issue();
  for (const char* word : {"0 job", "0 members"}) {
    leader_.connected(NodeId{0});
    streams_.breaks_at = word;
    beat(0, true);
    EXPECT_EQ(streams_.take().back(), word);
    EXPECT_EQ(leader_.entries().waiting, 1u);
  }
  streams_.breaks_at.clear();
  leader_.connected(NodeId{0});
  beat(0, true);
  EXPECT_THAT(streams_.take(), ElementsAre("0 renew", "0 job", "0 members", "0 start"));
}

TEST_F(LeaderTest, NothingWaitsForANodeThatIsGivenUpOrReplaced) {
  granted({on(0, 1), on(1, 1)});
  issue();
  leader_.connected(NodeId{1});
  EXPECT_EQ(leader_.entries().waiting, 2u);
  leader_.told(Origin::Reaction, NodesRelaunched{JobId{0}, 1, {NodeId{1}}, {}}, at(1), at(1));
  EXPECT_THAT(streams_.take(), ElementsAre("1 close"));
  EXPECT_EQ(leader_.entries().waiting, 1u);
  leader_.time_reached(at(3600));
  EXPECT_EQ(leader_.entries().waiting, 0u);
}

TEST_F(LeaderTest, OfAStartThatComesOutOfTheStoreAfterItsJobHasEndedNothingIsKept) {
  const JobId id = granted({on(0, 1)});
  const std::vector<CommandBody> start = h_.orders;
  h_.step(StopRequested{0, id});
  h_.node_down(0);
  for (const CommandBody& body : start) leader_.order({Sequence{9}, 0, Epoch{1}, body});
  EXPECT_EQ(leader_.entries().all(), 0u);
}

TEST_F(LeaderTest, AStartOfAJobThatIsForgottenByNowGoesNowhere) {
  registered(0);
  streams_.take();
  WorkerStart start{Rank{0}, RoleIndex{0}, 0, NodeId{0}};
  start.incarnation = Incarnation{1};
  leader_.order({Sequence{9}, 0, Epoch{1}, StartWorkers{JobId{77}, Generation{1}, 1, {start}}});
  leader_.withheld(JobId{77}, Incarnation{1});
  EXPECT_THAT(streams_.take(), IsEmpty());
  EXPECT_EQ(leader_.entries().all(), 0u);
  const UpdateMembership update{JobId{77}, Generation{1}, 1, {start}};
  leader_.order({Sequence{9}, 1, Epoch{1}, update});
  EXPECT_THAT(streams_.take(), ElementsAre("0 update")) << "what the job was is not known any more";
}

TEST_F(LeaderTest, AWithheldStartOfAJobThatHasEndedIsNotKept) {
  const JobId id = granted({on(0, 1)});
  h_.step(StopRequested{0, id});
  leader_.withheld(id, h_.job(id).incarnation);
  EXPECT_EQ(leader_.entries().all(), 0u);
}

TEST_F(LeaderTest, AStartOfWhichANodesPartWasGivenUpDoesNotGoThere) {
  const JobId id = granted({on(0, 1), on(1, 1)});
  issue();
  h_.lose(id, 0);
  for (const std::uint32_t node : {0u, 1u}) registered(node);
  EXPECT_THAT(streams_.take(), ElementsAre("0 renew", "1 renew", "1 job", "1 members", "1 start"));
}

TEST_F(LeaderTest, AListHasOfTheStartsThatWaitForTheStoreThoseOfItsNodeAlone) {
  registered(0);
  const JobId id = h_.submit(JobBuilder("grows").elastic(1, 4));
  h_.plan(grant(id, 1, {on(0, 1)}));
  issue();
  h_.plan(grant(id, 3, {on(0, 2), on(1, 1)}));  // Not issued.
  ASSERT_EQ(h_.job(id).workers.size(), 3u);
  news();
  leader_.connected(NodeId{0});
  beat(0, true);
  std::vector<RunningWorker> listed;
  for (const Event& event : news())
    if (const auto* list = std::get_if<NodeReturned>(&event.body)) listed = list->workers;
  ASSERT_EQ(listed.size(), 1u) << "the first one was sent on the stream before, and is not there";
  EXPECT_EQ(listed[0].rank, Rank{1});
}

TEST_F(LeaderTest, AListLosesNoWorkerWhoseStartWaitsForTheNodeWhenItConnectsAgain) {
  const JobId id = granted({on(0, 1)});
  issue();
  leader_.connected(NodeId{0});
  leader_.disconnected(NodeId{0});
  leader_.connected(NodeId{0});
  beat(0, true);
  for (const Event& event : news()) h_.step(event.body);
  EXPECT_EQ(h_.job(id).workers[0].state, WorkerState::Starting);
  EXPECT_THAT(streams_.take(), ElementsAre("0 renew", "0 job", "0 members", "0 start"));
}

TEST_F(LeaderTest, WhatABeatMeasuresOfAnothersWorkerIsNoSignOfItsLife) {
  JobBuilder builder("trains");
  builder.raw().failover.edit().hang_after = Duration::seconds(5);
  const JobId id = h_.running(builder, 1, {on(0, 1)});
  const State& state = h_.controller.state();
  Leader next(Epoch{1}, state, Settings{}, 2, at(0), Duration::zero(), streams_);
  next.establish(at(0));
  const auto beats = [&](std::uint32_t node, int seconds) {
    HeardBeat heard;
    heard.beat = {NodeId{node}, Epoch{1}, 1, ++number_, at(0), true, Sequence{}, {}};
    heard.measured = {{id, h_.row(id).generation, Rank{0}, {{"throughput", 10}}}};
    next.connected(NodeId{node});
    next.beat(NodeId{node}, heard, true, at(seconds));
    return next.next_deadline();
  };
  EXPECT_EQ(beats(0, 2), at(7));
  EXPECT_EQ(beats(1, 4), at(7));
  EXPECT_EQ(beats(0, 4), at(9));
}

TEST_F(LeaderTest, WhatFollowsFromAnAgentsOrdersIsAReaction) {
  const JobId id = h_.running(JobBuilder("a"), 1, {on(0, 1)});
  const Worker& worker = h_.job(id).workers[0];
  leader_.said(NodeId{0}, ProgressReported{id, h_.row(id).generation, 5, 1}, at(1), at(1));
  leader_.said(NodeId{0},
               FailureExplained{id, worker.incarnation, worker.birth_rank, "it did", ""},
               at(1),
               at(1));
  const std::vector<Event> events = news();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].origin, Origin::External);
  EXPECT_EQ(events[1].origin, Origin::Reaction);
}

TEST_F(LeaderTest, AListLosesNoWorkerWhoseStartStillWaitsForTheStore) {
  registered(0);
  news();
  beat(0, true);
  leader_.connected(NodeId{0});
  const JobId id = granted({on(0, 2)});  // Not issued.
  beat(0, true);
  bool listed = false;
  for (const Event& event : news())
    if (const auto* returned = std::get_if<NodeReturned>(&event.body))
      listed = returned->workers.size() == 2 && returned->workers[0].job == id;
  EXPECT_TRUE(listed);
}

TEST_F(LeaderTest, AStartThatWasWithheldIsNotOnItsWay) {
  registered(0);
  news();
  beat(0, true);
  leader_.connected(NodeId{0});
  const JobId id = granted({on(0, 2)});
  leader_.withheld(id, h_.job(id).incarnation);
  beat(0, true);
  std::size_t returned = 0;
  for (const Event& event : news())
    if (const auto* list = std::get_if<NodeReturned>(&event.body)) {
      ++returned;
      EXPECT_TRUE(list->workers.empty());
    }
  EXPECT_EQ(returned, 1U);
}

TEST_F(LeaderTest, AListLosesNoWorkerWhoseJobWasStoppedWhileItsStartWaitedForTheNode) {
  const JobId id = granted({on(0, 1)});
  issue();
  h_.step(StopRequested{0, id});
  issue();
  leader_.connected(NodeId{0});
  beat(0, true);
  EXPECT_THAT(streams_.take(),
              ElementsAre("0 renew", "0 job", "0 members", "0 start", "0 stop", "0 clean"));
  for (const Event& event : news()) h_.step(event.body);
  EXPECT_EQ(h_.job(id).workers[0].state, WorkerState::Draining)
      << "it comes up before it stops, so its devices are not free yet";
}

TEST_F(LeaderTest, AfterATakeoverNodesThatTheJobHasLeftAreCleanedToo) {
  const JobId id = h_.running(JobBuilder("kept").replicas(2), 2, {on(0, 1), on(1, 1)});
  StreamsInTest streams;
  Leader next(Epoch{2},
              h_.controller.state(),
              h_.controller.state().settings,
              2,
              at(0),
              Duration::zero(),
              streams);
  next.establish(at(0));
  h_.node_down(1);
  h_.settle();
  for (const Worker& worker : h_.job(id).workers) EXPECT_EQ(worker.node, NodeId{0});
  h_.step(StopRequested{0, id});
  for (const CommandBody& body : h_.orders) next.order({Sequence{1}, 0, Epoch{2}, body});
  next.connected(NodeId{1});
  HeardBeat heard;
  heard.beat = {NodeId{1}, Epoch{2}, 1, 1, at(0), true, Sequence{}, {}};
  next.beat(NodeId{1}, heard, true, at(1));
  EXPECT_THAT(streams.take(), ElementsAre("1 renew", "1 clean"));
}

TEST_F(LeaderTest, ANewStreamIsToldAllAnew) {
  registered(0);
  granted({on(0, 1)});
  issue();
  streams_.take();
  leader_.connected(NodeId{0});  // In place of the one before, of which no end was seen.
  beat(0, true);
  issue();
  EXPECT_THAT(streams_.take(), ElementsAre("0 renew", "0 job", "0 members", "0 start"));
  leader_.disconnected(NodeId{0});
  EXPECT_EQ(leader_.entries().told, 0u) << "of a stream that is not there";
}

TEST_F(LeaderTest, AnOrderGoesOnceToEachNodeThatItIsAbout) {
  registered(0);
  registered(1);
  const JobId id = granted({on(0, 1), on(1, 2)});
  issue();
  streams_.take();
  StopWorkers stop{id, h_.row(id).generation, Duration::zero(), {}};
  UpdateMembership update{id, h_.row(id).generation, 3, {}};
  for (const std::uint32_t node : {1u, 0u, 1u}) {
    stop.workers.push_back({Rank{0}, NodeId{node}, {}, Rank{0}});
    update.members.push_back({Rank{0}, RoleIndex{0}, 0, NodeId{node}});
  }
  leader_.order({Sequence{9}, 0, Epoch{1}, stop});
  leader_.order({Sequence{9}, 1, Epoch{1}, update});
  EXPECT_THAT(streams_.take(), ElementsAre("0 stop", "1 stop", "0 update", "1 update"));
  const CommandBody part = part_for(NodeId{1}, update);
  EXPECT_EQ(std::get<UpdateMembership>(part).members.size(), 2u) << "the node's own members";
}

TEST_F(LeaderTest, WhatANodeSaysOfItselfIsNewsByTheClockOfTheJournal) {
  const State& state = h_.controller.state();
  Leader ahead(Epoch{1}, state, state.settings, 2, at(0), Duration::seconds(100), streams_);
  ahead.lacks(NodeId{0}, 2, false, at(1), at(2));
  ahead.lacks(NodeId{1}, 0, true, at(3), at(3));
  ahead.leaving(NodeId{1}, at(50), at(4), at(4));
  std::vector<Event> events;
  ahead.take_news(events);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].at, at(102));
  EXPECT_EQ(events[0].occurred_at, at(101));
  EXPECT_EQ(std::get<DevicesLost>(events[0].body).devices, 2u);
  EXPECT_EQ(std::get<NodeHeld>(events[1].body).node, NodeId{1});
  EXPECT_EQ(std::get<NodeLeaving>(events[2].body).until, at(150));
  EXPECT_FALSE(ahead.has_news());
}

TEST_F(LeaderTest, ANodeThatRegistersSaysWhatItLacksAndWhenItLeaves) {
  // What comes with a beat of node 0; the names of the events that follow.
  const auto says = [&](bool registers, std::uint64_t devices, bool held, Instant leaves) {
    HeardBeat heard;
    heard.beat = {NodeId{0}, Epoch{1}, 1, ++number_, at(0), registers, Sequence{}, {}};
    heard.lost_devices = devices;
    heard.held = held;
    heard.leaves_at = leaves;
    if (registers) leader_.connected(NodeId{0});
    leader_.beat(NodeId{0}, heard, may_renew_, at(1));
    std::vector<std::string> said;
    for (const Event& event : news()) {
      if (std::holds_alternative<NodeReturned>(event.body)) said.emplace_back("list");
      if (std::holds_alternative<NodeHeld>(event.body)) said.emplace_back("held");
      if (std::holds_alternative<NodeLeaving>(event.body)) said.emplace_back("leaves");
      if (const auto* lost = std::get_if<DevicesLost>(&event.body))
        said.push_back("lost " + std::to_string(lost->devices));
      h_.step(event.body);
    }
    return said;
  };
  const Instant never = Instant::never();
  EXPECT_THAT(says(true, 0, false, never), ElementsAre("list"));
  EXPECT_THAT(says(false, 1, true, at(9)), IsEmpty()) << "it registers with that";
  EXPECT_THAT(says(true, 0, true, never), ElementsAre("list", "held"));
  EXPECT_THAT(says(true, 0, true, never), ElementsAre("list")) << "known";
  EXPECT_THAT(says(true, 0, false, never), ElementsAre("list", "lost 0"));
  EXPECT_THAT(says(true, 1, false, at(9)), ElementsAre("list", "lost 1", "leaves"));
}

TEST_F(LeaderTest, ANewLeaderNotesNothingOfJobsThatWaitOrHaveEnded) {
  const JobId ended = h_.running(JobBuilder("ended"), 1);
  h_.succeed(ended, 0);
  h_.submit(JobBuilder("waits"));
  const JobId runs = h_.running(JobBuilder("runs"), 1);
  const State& state = h_.controller.state();
  StreamsInTest streams;
  Leader next(Epoch{2}, state, state.settings, 2, at(0), Duration::zero(), streams);
  EXPECT_EQ(next.entries().jobs, 1u) << "of job " << runs.value;
}

std::string bytes_of(const Leader& leader) {
  ByteWriter out;
  leader.save(out);
  return std::string(out.text());
}

TEST_F(LeaderTest, ItsBytesDifferWithAllThatDecidesWhatItDoesNext) {
  const State& state = h_.controller.state();
  const auto began = [&](int ahead) {
    const Duration journal_ahead = Duration::seconds(ahead);
    return bytes_of(Leader(Epoch{1}, state, state.settings, 2, at(0), journal_ahead, streams_));
  };
  EXPECT_NE(began(0), began(1)) << "by how far the journal's clock is ahead";
  EXPECT_NE(began(0), bytes_of(leader_)) << "whether its epoch is safe";
  std::string last = bytes_of(leader_);
  const auto differ = [&](const char* after) {
    const std::string now = bytes_of(leader_);
    EXPECT_NE(std::exchange(last, now), now) << after;
  };
  const std::string unconnected = last;
  leader_.connected(NodeId{0});
  differ("a stream");
  leader_.disconnected(NodeId{0});
  differ("no stream any more");
  EXPECT_NE(last, unconnected) << "a stream before";
  const JobId id = granted({on(0, 1)});
  issue();
  differ("an order that waits");
  leader_.withheld(id, Incarnation{9});
  differ("a start that was withheld");
  leader_.lacks(NodeId{0}, 1, false, at(1), at(1));
  differ("news");
  news();
  differ("no news any more");
  registered(0);
  differ("a registration, and the order gone out");
}

}  // namespace
}  // namespace orrery::tests
