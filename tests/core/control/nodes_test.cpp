// Nodes that go silent, come back, and leaders that change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

TEST(Nodes, AJobThatLosesPartOfItsNodesRecoversElsewhere) {
  ControllerHarness h({nodes_of(3, 2)});
  const JobId id = h.running(job("a").replicas(4), 4, {on(0, 2), on(1, 2)});
  h.node_down(1);
  EXPECT_EQ(h.phase(id), JobPhase::Starting) << "no backoff: nothing was charged";
  EXPECT_EQ(h.row(id).node_losses, 1u);
  EXPECT_EQ(h.row(id).restarts, 0u);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_THAT(h.job(id).elastic_nodes, testing::ElementsAre(on(0, 2), on(2, 2)));
}

TEST(Nodes, AnElasticJobGoesOnWithItsSurvivors) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(2, 8), 8);
  h.node_down(1);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).replicas, 4);
}

TEST(Nodes, AJobThatShrinksRecoversWhoWasToStayOnALostNode) {
  ControllerHarness h({nodes_of(3, 2)});
  const JobId id = h.running(job("a").elastic(1, 4).no_unknown(), 3, {on(0, 2), on(1, 1)});
  h.plan(grant(id, 2, {on(0, 1), on(1, 1)}));
  ASSERT_EQ(h.job(id).workers[1].state, WorkerState::Draining);
  h.forget();
  h.node_down(0);
  EXPECT_EQ(h.row(id).node_losses, 1u) << "one worker was to stay there, whoever else was to go";
}

// A start that is under way says the place of before: were its worker kept in another place, it
// would come up beside the worker that has that one by now.
TEST(Nodes, AWorkerThatIsStartingIsStoppedBeforeItsPlaceMoves) {
  ControllerHarness h({nodes_of(4, 1)});
  const JobId id = h.submit(job("a").elastic(2, 4));
  h.plan(grant(id, 4));
  h.make_ready(id, 3);
  h.node_down(h.job(id).workers[1].node.value);
  EXPECT_EQ(h.phase(id), JobPhase::Restarting) << "rank 2 stops before it starts as rank 1";
  EXPECT_EQ(h.job(id).workers[2].state, WorkerState::Draining);
  EXPECT_EQ(h.job(id).workers[0].state, WorkerState::Starting) << "its place stays";
  EXPECT_EQ(h.job(id).workers[3].state, WorkerState::Ready) << "it can be told";
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).replicas, 3);
  EXPECT_EQ(h.row(id).restarts, 0u);
  EXPECT_EQ(h.processes_of(id), 3u);
}

// A journal from before the rule says the same facts as when it was written.
TEST(Nodes, AnOlderLeaderKeepsAWorkerThatIsStarting) {
  Settings settings;
  settings.rules = 0;
  ControllerHarness h({nodes_of(4, 1)}, settings);
  const JobId id = h.submit(job("a").elastic(2, 4));
  h.plan(grant(id, 4));
  h.node_down(1);
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.job(id).workers[1].incarnation, Incarnation{1});
}

TEST(Nodes, AFixedJobWithoutRoomWaitsAgain) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").replicas(8), 8);
  h.node_down(1);
  h.stop_all();
  EXPECT_EQ(h.phase(id), JobPhase::Pending);
  EXPECT_EQ(h.job(id).reason, Reason::NodeLost);
  EXPECT_EQ(h.controller.state().waiting.front(), id);
  EXPECT_FALSE(h.row(id).infeasible) << "the node may come back";
}

TEST(Nodes, AJobWithAllItsNodesSilentIsUnknownAndRegainedWithoutRestart) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").replicas(2), 2, {on(0, 2)});
  h.step(NodeSilent{NodeId{0}});  // Its processes live on.
  EXPECT_EQ(h.phase(id), JobPhase::Unknown);
  EXPECT_EQ(h.job(id).reason, Reason::ContactLost);
  h.pass(Duration::seconds(599));
  h.node_up(0);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).generation, Generation{1});
  EXPECT_EQ(h.row(id).node_losses, 0u);
}

// Storms ended there: the lease was left behind, and the node returned after its job was forgotten.
TEST(Nodes, WhoIsGivenUpOnASilentNodeLeavesNoLeaseThere) {
  ControllerHarness h({nodes_of(4, 1)});
  JobBuilder whole = job("a").replicas(2);
  whole.raw().recovery = RecoveryScope::Job;
  const JobId id = h.running(whole, 2, {on(0, 1), on(1, 1)});
  h.take_over(2);
  for (const std::uint32_t node : {0, 2, 3}) h.node_up(node);
  h.step(NodeSilent{NodeId{1}});
  ASSERT_EQ(h.phase(id), JobPhase::Unknown);
  h.step(DevicesLost{NodeId{0}, 1});  // All of it begins anew elsewhere.
  h.stop_all();
  h.settle();
  ASSERT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_TRUE(h.controller.state().ledger.node(NodeId{1}).first.is_none());
}

// A storm found the other worker still counted as ready, on a node out of contact.
TEST(Nodes, AnUnknownJobThatLosesADeviceWaitsForNoSilentNode) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").replicas(2), 2, {on(0, 2)});
  h.step(NodeSilent{NodeId{0}});
  ASSERT_EQ(h.phase(id), JobPhase::Unknown);
  h.step(DevicesLost{NodeId{0}, h.job(id).workers[0].devices});
  EXPECT_EQ(h.job(id).ready, 0u);
  EXPECT_EQ(h.row(id).node_losses, 1u);
  EXPECT_THAT(h.job(id).elastic_nodes, testing::ElementsAre(on(1, 2)));
}

TEST(Nodes, AnUnknownJobIsGivenUpAtItsDeadline) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").replicas(2), 2, {on(0, 2)});
  h.node_down(0);
  h.pass(Duration::seconds(600));
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.row(id).node_losses, 1u);
  EXPECT_THAT(h.job(id).elastic_nodes, testing::ElementsAre(on(1, 2)));
}

TEST(Nodes, AnUnknownJobIsOverWithTheLastOfItsSuccesses) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a"), 1, {on(0, 1)});
  const WorkersChanged end = FakeCluster::report(h.cluster.processes[0], WorkerFact::Exited, 0);
  h.node_down(0);
  EXPECT_EQ(h.phase(id), JobPhase::Unknown);
  h.step(end);
  EXPECT_EQ(h.phase(id), JobPhase::Succeeded);
}

TEST(Nodes, AnUnknownJobIsNotPreempted) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(1, 4), 2, {on(0, 2)});
  h.step(NodeSilent{NodeId{0}});
  h.plan(grant(id, 0));
  EXPECT_EQ(h.grants_dropped(Ignored::NotInThisPhase), 1u);
  EXPECT_EQ(h.phase(id), JobPhase::Unknown);
}

TEST(Nodes, AnUnknownJobCanBeStoppedAndItsDevicesComeBack) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  h.node_down(0);
  h.step(StopRequested{0, id});
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.order<StopWorkers>(), nullptr) << "a silent node has fenced itself";
  h.node_up(0);
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 4);
}

TEST(Nodes, ANodeThatReturnsEmptyWithinItsLeaseHasLostItsWorkers) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(job("a").replicas(2), 2, {on(0, 1), on(1, 1)});
  h.cluster.kill_node(NodeId{1});
  h.node_up(1);
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.row(id).reschedules, 1u);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

TEST(Nodes, ASilentNodeTakesNoClaims) {
  ControllerHarness h({nodes_of(2, 4)});
  h.node_down(0);
  EXPECT_EQ(h.controller.state().ledger.devices_usable(), 4);
  const JobId id = h.submit(job("a").replicas(1));
  h.plan(grant(id, 1, {on(0, 1)}));
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 1u);
  h.node_up(0);
  EXPECT_EQ(h.controller.state().ledger.devices_usable(), 8);
}

TEST(Nodes, NoWorkerStartsOnANodeThatFellSilentWhileItsDevicesWereDrained) {
  ControllerHarness h({nodes_of(1, 4), nodes_of(1, 4)});
  const JobId low = h.running(job("low").elastic(1, 4), 4, {on(0, 4)});
  const JobId next = h.submit(job("next").replicas(4));
  h.plan(grant(low, 0) + grant(next, 4, {on(0, 4)}));
  h.node_down(0);
  EXPECT_EQ(h.phase(low), JobPhase::Pending);
  EXPECT_EQ(h.phase(next), JobPhase::Pending);
  EXPECT_EQ(h.order<StartWorkers>(), nullptr);
  EXPECT_FALSE(h.row(next).holds);
}

TEST(Nodes, AListDoesNotAccuseWorkersThatTheSameEventStarted) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId low = h.running(job("low").elastic(1, 4), 4);
  const JobId next = h.submit(job("next").replicas(4));
  h.plan(grant(low, 0) + grant(next, 4));
  h.cluster.kill_node(NodeId{0});
  h.node_up(0);  // All that drained is gone, so the next may start, and does.
  EXPECT_EQ(h.phase(next), JobPhase::Starting);
  EXPECT_EQ(h.row(next).reschedules, 0u);
}

TEST(Nodes, OrphansAreStopped) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").replicas(2).no_unknown(), 2, {on(0, 2)});
  h.step(NodeSilent{
      NodeId{0}});  // Contact is lost, and no worker was fenced in spite of the contract.
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  NodeReturned back = h.cluster.complete_list(NodeId{0});
  ASSERT_EQ(back.workers.size(), 2u);
  back.workers.push_back({JobId{77}, Generation{1}, Incarnation{1}, Rank{3}});
  h.step(back);
  std::size_t stops = 0;
  for (const CommandBody& order : h.orders) stops += std::holds_alternative<StopWorkers>(order);
  EXPECT_EQ(stops, 3u);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

TEST(Nodes, UnknownNodesAndRepeatedSilenceAreIgnored) {
  ControllerHarness h({nodes_of(1, 4)});
  h.step(NodeSilent{NodeId{9}});
  h.step(NodeReturned{NodeId{9}, {}});
  EXPECT_EQ(h.reports_ignored(Ignored::UnknownNode), 2u);
  h.node_down(0);
  h.step(NodeSilent{NodeId{0}});
  EXPECT_EQ(h.reports_ignored(Ignored::AlreadyKnown), 1u);
}

TEST(Takeover, HealthyWorkersRunOn) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").replicas(4), 4, {on(0, 2), on(1, 2)});
  h.take_over(2);
  EXPECT_EQ(h.phase(id), JobPhase::Unknown);
  h.node_up(0);
  EXPECT_EQ(h.phase(id), JobPhase::Unknown) << "the other node has not spoken yet";
  h.node_up(1);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).generation, Generation{1});
  EXPECT_EQ(h.order<StartWorkers>(), nullptr);
  EXPECT_EQ(h.order<StopWorkers>(), nullptr);
}

TEST(Takeover, AWorkerMissingFromTheListsIsLost) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").replicas(4), 4, {on(0, 2), on(1, 2)});
  h.take_over(2);
  h.cluster.end(h.process(id, 3), WorkerFact::Lost);
  h.node_up(1);
  h.node_up(0);
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  ASSERT_NE(h.order<StartWorkers>(), nullptr);
  EXPECT_EQ(h.order<StartWorkers>()->workers.size(), 1u);
  EXPECT_EQ(h.row(id).restarts, 0u);
}

TEST(Takeover, NoWorkerStartsOnANodeBeforeItsFirstList) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(2));
  h.take_over(2);
  h.plan(grant(id, 2));
  EXPECT_EQ(h.phase(id), JobPhase::Pending) << "the list may be from before the order";
  EXPECT_EQ(h.order<StartWorkers>(), nullptr);
  h.step(NodeReturned{NodeId{0}, {}});
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  ASSERT_NE(h.order<StartWorkers>(), nullptr);
}

TEST(Takeover, AnOrderThatWasLostWithItsLeaderIsGivenAgain) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(2));
  h.plan(grant(id, 2));
  const Sequence before{h.controller.state().sequence.value - 1};
  h.cluster.processes.clear();  // Nothing of it arrived.
  h.take_over(2);
  h.step(NodeReturned{NodeId{0}, {}, before});
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.cluster.processes.size(), 2u);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).generation, Generation{1});
  EXPECT_EQ(h.row(id).reschedules, 0u);
}

// A leader was lost with all orders of a membership in which places have moved: a worker that had
// the place of the worker that is started once more is told first that it has another one.
TEST(Takeover, PlacesThatMovedAreToldBeforeALostStartIsGivenAgain) {
  ControllerHarness h({nodes_of(4, 1)});
  const JobId id = h.running(job("a").elastic(2, 4), 4);
  h.fail(id, 3);
  h.pass(Duration::seconds(60));  // Its successor is on its way when another is lost.
  h.node_down(h.job(id).workers[1].node.value);
  const Sequence before = h.controller.state().sequence;
  h.stop_all();
  ASSERT_EQ(h.row(id).generation, Generation{3});
  const Worker started = h.job(id).workers[2];
  ASSERT_EQ(started.incarnation, Incarnation{3});
  ASSERT_EQ(h.job(id).workers[1].birth_rank, Rank{2}) << "it had the place before";
  h.take_over(2);
  h.step(NodeReturned{started.node, {}, before});
  ASSERT_EQ(h.orders.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<UpdateMembership>(h.orders[0]));
  EXPECT_TRUE(std::holds_alternative<StartWorkers>(h.orders[1]));
}

TEST(Takeover, PlacesAreToldOnceHoweverManyStartsAreGivenAgain) {
  ControllerHarness h({nodes_of(3, 2)});
  const JobId id = h.running(job("a").elastic(2, 6), 4, {on(0, 2), on(1, 2)});
  const Sequence before = h.controller.state().sequence;
  h.plan(grant(id, 6));
  h.cluster.kill_node(NodeId{2});
  h.step(NodeReturned{NodeId{2}, {}, before});
  const auto given = [&](auto is) { return std::count_if(h.orders.begin(), h.orders.end(), is); };
  EXPECT_EQ(given([](const CommandBody& o) { return std::holds_alternative<StartWorkers>(o); }), 2);
  EXPECT_EQ(given([](const CommandBody& o) { return std::holds_alternative<UpdateMembership>(o); }),
            1);
}

TEST(Takeover, AListFromAfterAnOrderMaySayThatItsWorkerIsGone) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(2));
  h.plan(grant(id, 2));
  const Sequence after = h.controller.state().sequence;
  h.cluster.processes.clear();
  h.step(NodeReturned{NodeId{0}, {}, after});
  EXPECT_EQ(h.row(id).reschedules, 1u);
  ASSERT_FALSE(h.job(id).failures->empty());
  EXPECT_EQ(h.job(id).failures->front().exit_code, 0);
}

TEST(Takeover, AJobWhoseWorkersHaveAllSucceededMeanwhileIsDoneAtOnce) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  h.take_over(2);
  h.succeed(id, 0);
  h.succeed(id, 1);
  EXPECT_EQ(h.phase(id), JobPhase::Succeeded);
}

TEST(Takeover, NodesThatDoNotReportWithinTheGraceAreLost) {
  ControllerHarness h({nodes_of(3, 2)});
  const JobId id = h.running(job("a").replicas(4), 4, {on(0, 2), on(1, 2)});
  h.take_over(2);
  h.node_up(0);
  h.cluster.kill_node(NodeId{1});
  h.pass(Duration::seconds(60));
  EXPECT_EQ(h.phase(id), JobPhase::Unknown) << "its lease may still run";
  h.pass(Duration::seconds(10));
  h.step(NodeSilent{NodeId{1}});
  h.pass(Duration::seconds(2));
  EXPECT_NE(h.phase(id), JobPhase::Unknown);
  EXPECT_EQ(h.row(id).node_losses, 1u);
}

// A leader that stood still finds the deadline behind it, and lists that came meanwhile.
TEST(Takeover, TimeAloneMakesNoWorkerLost) {
  ControllerHarness h({nodes_of(3, 2)});
  const JobId id = h.running(job("a").replicas(4), 4, {on(0, 2), on(1, 2)});
  h.take_over(2);
  h.pass(Duration::seconds(100));
  EXPECT_EQ(h.phase(id), JobPhase::Unknown) << "neither heard nor found silent";
  h.node_up(0);
  h.node_up(1);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).generation, Generation{1});
  EXPECT_EQ(h.row(id).node_losses, 0u);
}

TEST(Takeover, OrdersToStopThatWereLostAreGivenAgain) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").elastic(1, 4), 3);
  h.plan(grant(id, 1));
  for (FakeProcess& p : h.cluster.processes) p.stopping = false;  // The order never arrived.
  h.take_over(2);
  EXPECT_EQ(h.phase(id), JobPhase::Rescheduling) << "a change under way goes on";
  h.node_up(0);
  ASSERT_NE(h.order<StopWorkers>(), nullptr);
  EXPECT_EQ(h.order<StopWorkers>()->workers.size(), 2u);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

TEST(Takeover, AMembershipThatWasLostIsToldAgain) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").elastic(1, 4), 2);
  h.plan(grant(id, 3));
  h.settle();
  h.take_over(2);
  h.node_up(0);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  ASSERT_NE(h.order<UpdateMembership>(), nullptr);
  EXPECT_EQ(h.order<UpdateMembership>()->generation, Generation{2});
}

TEST(Takeover, AnOlderOrEqualEpochChangesNothing) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a"), 1);
  h.take_over(1);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.reports_ignored(Ignored::StaleGeneration), 1u);
}

TEST(Takeover, AnUnknownJobGetsTheGraceOfTheNewLeader) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().unknown_deadline = Duration::seconds(30);
  const JobId id = h.running(builder, 2, {on(0, 2)});
  h.step(NodeSilent{NodeId{0}});
  h.pass(Duration::seconds(29));
  h.take_over(2);
  h.pass(Duration::seconds(30));
  EXPECT_EQ(h.phase(id), JobPhase::Unknown);
  h.node_up(0);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

TEST(Nodes, ARecoveryUnderWayStartsNoWorkerOnNodesThatTheNewLeaderHasNotHeard) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(job("a").replicas(2), 2, {on(0, 1), on(1, 1)});
  h.fail(id, 0);
  h.take_over(2);
  h.pass(Duration::seconds(5));
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  h.node_up(1);
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  h.node_up(0);
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

}  // namespace
}  // namespace orrery::tests
