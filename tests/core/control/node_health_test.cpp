// Nodes that are relaunched, excluded, spare, leaving, or without a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/control/status.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

std::vector<NodeChange> changes(const ControllerHarness& h) {
  std::vector<NodeChange> found;
  for (const Notice& n : h.notices)
    if (n.kind == NoticeKind::NodeChanged) found.push_back(n.change);
  return found;
}

bool usable(const ControllerHarness& h, std::uint32_t node) {
  return h.controller.state().ledger.node(NodeId{node}).usable;
}

/// A job whose worker fails twice on its node, which is once too often.
struct Relaunch {
  ControllerHarness h{{nodes_of(3, 2)}};
  JobId id;

  explicit Relaunch(bool group = false, std::int32_t most = 10) {
    JobBuilder builder = job("a").replicas(2).limit(10).no_unknown();
    builder.raw().failover.edit().worker_node_failures_max = 1;
    builder.raw().failover.edit().nodes_relaunched_max = most;
    builder.raw().failover.edit().relaunch_group = group;
    id = h.running(builder, 2, {on(0, 1), on(1, 1)});
    fail_twice();
  }

  void fail_twice() {
    h.fail(id, 0);
    h.pass(Duration::seconds(30));
    h.settle();
    if (h.phase(id) == JobPhase::Running) h.fail(id, 0);
  }

  void answer(std::vector<NodeId> replaced, std::string error = {}) {
    for (const NodeId node : replaced) h.cluster.kill_node(node);
    h.step(NodesRelaunched{
        id, h.job(id).failover->open.number, std::move(replaced), std::move(error)});
  }
};

TEST(Relaunch, AsksForANodeAndWaits) {
  Relaunch r;
  EXPECT_EQ(r.h.phase(r.id), JobPhase::Restarting);
  ASSERT_NE(r.h.order<RelaunchNodes>(), nullptr);
  EXPECT_EQ(r.h.order<RelaunchNodes>()->nodes, std::vector<NodeId>{NodeId{0}});
  r.h.pass(Duration::seconds(800));
  EXPECT_EQ(r.h.phase(r.id), JobPhase::Restarting);
  EXPECT_THAT(status_of(r.h.controller.state(), r.h.job(r.id)).message,
              testing::EndsWith("; waits for a new machine in place of node 0"));
}

TEST(Relaunch, OnlyReplacedNodesCountAndAreFencedAndForgiven) {
  Relaunch r;
  r.answer({NodeId{0}});
  EXPECT_EQ(r.h.job(r.id).failover->nodes_relaunched, 1u);
  EXPECT_EQ(r.h.job(r.id).failover->replicas[0].node_failures, 0u);
  EXPECT_FALSE(usable(r.h, 0)) << "until the new machine is heard";
  r.h.pass(Duration::seconds(60));
  r.h.settle();
  EXPECT_EQ(r.h.phase(r.id), JobPhase::Running);
  r.h.node_up(0);
  EXPECT_TRUE(usable(r.h, 0));
}

TEST(Relaunch, ANodeThatNoRelaunchWasAskedForIsLeftAsItIs) {
  Relaunch r;
  r.h.cluster.kill_node(NodeId{0});
  r.h.step(NodesRelaunched{r.id, r.h.job(r.id).failover->open.number, {NodeId{1}, NodeId{0}}, {}});
  EXPECT_EQ(r.h.job(r.id).failover->nodes_relaunched, 1u);
  EXPECT_TRUE(usable(r.h, 1));
  EXPECT_FALSE(usable(r.h, 0));
}

// Older rules went on to ask, but not for this incident.
TEST(Relaunch, OlderRulesTakeNoAnswerInTheMiddleOfARecovery) {
  Settings older;
  older.rules = 0;
  ControllerHarness h({nodes_of(3, 2)}, older);
  JobBuilder builder = job("a").replicas(2).limit(10).no_unknown();
  builder.raw().failover.edit().worker_node_failures_max = 0;
  const JobId id = h.running(builder, 2, {on(0, 1), on(1, 1)});
  h.fail(id, 0);
  ASSERT_NE(h.order<RelaunchNodes>(), nullptr);
  h.step(DevicesLost{NodeId{1}, h.job(id).workers[1].devices});
  ASSERT_EQ(h.job(id).after_drain, AfterDrain::Start);
  h.step(NodesRelaunched{id, h.job(id).failover->open.number, {NodeId{0}}, {}});
  EXPECT_EQ(h.reports_ignored(Ignored::StaleIncident), 1u);
  EXPECT_TRUE(usable(h, 0));
}

TEST(Relaunch, IsNotAwaitedAnyMoreWhereALossStartsAnotherRecovery) {
  Relaunch r;
  const std::uint32_t asked = r.h.job(r.id).failover->open.number;
  const std::uint64_t devices = r.h.job(r.id).workers[1].devices;
  r.h.step(DevicesLost{NodeId{1}, devices});
  EXPECT_TRUE(r.h.job(r.id).failover->relaunching.empty());
  r.h.step(NodesRelaunched{r.id, asked, {NodeId{0}}, {}});
  EXPECT_EQ(r.h.reports_ignored(Ignored::StaleIncident), 1u);
  r.h.stop_all();
  r.h.pass(Duration::seconds(60));
  r.h.settle();
  EXPECT_EQ(r.h.phase(r.id), JobPhase::Running);
}

TEST(Relaunch, AnAnswerForAJobThatIsNotKnownIsTold) {
  ControllerHarness h({nodes_of(1, 2)});
  h.step(NodesRelaunched{JobId{9}, 1, {NodeId{0}}, {}});
  EXPECT_EQ(h.reports_ignored(Ignored::UnknownJob), 1u);
}

TEST(Relaunch, WithoutAReplacementNothingIsForgiven) {
  Relaunch r;
  r.answer({});
  EXPECT_EQ(r.h.job(r.id).failover->nodes_relaunched, 0u);
  EXPECT_EQ(r.h.job(r.id).failover->replicas[0].node_failures, 2u);
  r.h.pass(Duration::seconds(60));
  r.h.settle();
  EXPECT_EQ(r.h.phase(r.id), JobPhase::Running);
  EXPECT_TRUE(usable(r.h, 0));
}

TEST(Relaunch, OfANodeWithALateWorkerStartsItAnewWhateverTheAnswer) {
  ControllerHarness h({nodes_of(3, 2)});
  JobBuilder builder = job("a").replicas(2).limit(10).no_unknown();
  builder.raw().start_deadline = Duration::seconds(30);
  builder.raw().failover.edit().worker_node_failures_max = 0;
  const JobId id = h.submit(builder);
  h.plan(grant(id, 2, {on(0, 1), on(1, 1)}));
  h.make_ready(id, 1);
  h.pass(Duration::seconds(30));
  ASSERT_NE(h.order<RelaunchNodes>(), nullptr);
  h.step(NodesRelaunched{id, h.job(id).failover->open.number, {}, {}});
  ASSERT_NE(h.order<StopWorkers>(), nullptr);
  EXPECT_EQ(h.order<StopWorkers>()->workers[0].rank, Rank{0});
  h.stop_all();
  h.pass(Duration::seconds(30));
  ASSERT_NE(h.order<StartWorkers>(), nullptr);
  EXPECT_EQ(h.order<StartWorkers>()->workers[0].rank, Rank{0});
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

TEST(Relaunch, ThatNeverComesExcludesTheNode) {
  Relaunch r;
  r.h.pass(Duration::seconds(900));
  EXPECT_FALSE(usable(r.h, 0));
  r.h.pass(Duration::seconds(60));
  r.h.settle();
  EXPECT_EQ(r.h.phase(r.id), JobPhase::Running);
  EXPECT_NE(r.h.job(r.id).workers[0].node, NodeId{0});
  EXPECT_EQ(r.h.job(r.id).failover->nodes_relaunched, 0u);
}

TEST(Relaunch, TakesTheGroupAlongWhereItMay) {
  Relaunch r(true);
  r.h.pass(Duration::seconds(900));
  ASSERT_NE(r.h.order<RelaunchNodes>(), nullptr);
  EXPECT_EQ(r.h.order<RelaunchNodes>()->nodes.size(), 3u);
  EXPECT_EQ(r.h.order<RelaunchNodes>()->timeout, Duration::seconds(1800));
  r.answer({NodeId{0}, NodeId{1}, NodeId{2}});
  EXPECT_EQ(r.h.job(r.id).failover->nodes_relaunched, 3u);
  for (std::uint32_t n = 0; n < 3; ++n) r.h.node_up(n);
  r.h.stop_all();
  r.h.plan(grant(r.id, 2));
  r.h.pass(Duration::seconds(60));
  r.h.settle();
  EXPECT_EQ(r.h.phase(r.id), JobPhase::Running);
}

// Storms found workers that were asked to stop on machines that the same answer had replaced.
TEST(Relaunch, OfAGroupAsksNoWorkerToStopOnAMachineThatIsGone) {
  Relaunch r(true);
  const JobId other = r.h.running(
      job("b").replicas(2).no_unknown().rescale(RescaleMode::Restart), 2, {on(1, 1), on(2, 1)});
  r.h.pass(Duration::seconds(900));
  r.answer({NodeId{0}, NodeId{1}, NodeId{2}});
  EXPECT_EQ(r.h.job(r.id).failover->nodes_relaunched, 3u);
  EXPECT_EQ(r.h.order<StopWorkers>(), nullptr);
  EXPECT_EQ(r.h.row(other).node_losses, 1u) << "one loss, of two machines";
  EXPECT_EQ(r.h.phase(other), JobPhase::Pending);
}

TEST(Relaunch, KeepsTheScopeThatAResponseHasWidened) {
  for (const std::uint16_t rules : {std::uint16_t{3}, kDecisionRules})
    for (const FailureResponse response : {FailureResponse::Role, FailureResponse::Job}) {
      Settings settings;
      settings.rules = rules;
      ControllerHarness h({nodes_of(3, 2)}, settings);
      JobBuilder builder = job("a").replicas(2).role("actor", 1).limit(10).no_unknown();
      builder.raw().failover.edit().worker_node_failures_max = 0;
      builder.raw().failover.edit().response = response;
      const JobId id = h.running(builder, 2);
      h.fail(id, 0);
      h.step(NodesRelaunched{id, h.job(id).failover->open.number, {}, {}});
      const StopWorkers* stop = h.order<StopWorkers>();
      const std::size_t others = response == FailureResponse::Role ? 1 : 2;
      ASSERT_EQ(stop != nullptr, rules >= 4) << "older rules start the one anew that has failed";
      if (stop != nullptr) {
        EXPECT_EQ(stop->workers.size(), others);
      }
      EXPECT_EQ(h.job(id).failover->job_restarts,
                rules >= 4 && response == FailureResponse::Job ? 1u : 0u);
      EXPECT_EQ(h.job(id).failover->role_restarts.empty(),
                rules < 4 || response == FailureResponse::Job);
    }
}

TEST(Relaunch, HasALimit) {
  Relaunch r(false, 0);
  EXPECT_EQ(r.h.phase(r.id), JobPhase::Failed);
  EXPECT_EQ(r.h.job(r.id).failover->limit, Limit::NodesRelaunched);
}

TEST(Relaunch, FailuresMeanwhileChangeNoCounter) {
  Relaunch r;
  const std::uint32_t before = r.h.row(r.id).restarts;
  r.h.fail(r.id, 1);
  EXPECT_EQ(r.h.row(r.id).restarts, before);
  EXPECT_EQ(r.h.reports_ignored(Ignored::RecoveryUnderWay), 1u);
  r.h.node_down(1);
  EXPECT_EQ(r.h.row(r.id).node_losses, 0u);
  r.answer({NodeId{0}});
  r.h.node_up(0);
  r.h.pass(Duration::seconds(60));
  r.h.settle();
  EXPECT_EQ(r.h.phase(r.id), JobPhase::Running);
}

TEST(Exclusion, ALemonIsNotUsedForAWhile) {
  Settings settings;
  settings.lemon_incidents = 2;
  settings.lemon_window = Duration::seconds(1000);
  settings.exclusion = Duration::seconds(5000);
  ControllerHarness h({nodes_of(2, 2)}, settings);
  const JobId id = h.running(job("a").limit(10), 1, {on(0, 1)});
  h.fail(id, 0);
  h.pass(Duration::seconds(5));
  h.settle();
  EXPECT_TRUE(usable(h, 0));
  h.fail(id, 0);
  EXPECT_FALSE(usable(h, 0));
  h.pass(Duration::seconds(5));
  h.settle();
  EXPECT_EQ(h.job(id).workers[0].node, NodeId{1});
  h.pass(Duration::seconds(5000));
  EXPECT_TRUE(usable(h, 0));
}

TEST(Exclusion, OutlivesTheReturnOfTheNodeAndTheLeader) {
  ControllerHarness h({nodes_of(2, 2)});
  h.step(ExclusionRequested{1, NodeId{0}, true});
  EXPECT_TRUE(h.last_answer().accepted);
  h.node_down(0);
  h.node_up(0);
  EXPECT_FALSE(usable(h, 0));
  h.take_over(2);
  h.node_up(0);
  EXPECT_FALSE(usable(h, 0));
  h.step(ExclusionRequested{2, NodeId{0}, false});
  EXPECT_TRUE(usable(h, 0));
}

TEST(Exclusion, WhatRunsThereGoesOn) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(job("a"), 1, {on(0, 1)});
  h.step(ExclusionRequested{1, NodeId{0}, true});
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

NodeGroup with_spares(std::int32_t nodes, std::int32_t spares) {
  NodeGroup group = nodes_of(nodes, 2);
  group.spares = spares;
  return group;
}

TEST(Spares, TakeThePlaceOfALostNodeAndGiveItBack) {
  ControllerHarness h({with_spares(3, 1)});
  EXPECT_FALSE(usable(h, 2));
  const JobId id = h.running(job("a").replicas(2).devices(2).no_unknown(), 2);
  h.forget();
  h.node_down(0);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_TRUE(usable(h, 2));
  EXPECT_EQ(h.job(id).workers[0].node, NodeId{2}) << "the same rank, on the spare";
  EXPECT_EQ(h.job(id).workers[1].node, NodeId{1});
  h.node_up(0);
  EXPECT_FALSE(usable(h, 0)) << "it is the spare now";
  EXPECT_EQ(changes(h),
            (std::vector{NodeChange::Silent,
                         NodeChange::SpareUsed,
                         NodeChange::Returned,
                         NodeChange::SpareAgain}));
}

TEST(Spares, ComeBackAtOnceWhereNothingWasStartedOnThem) {
  ControllerHarness h({with_spares(2, 1)});
  h.running(job("a"), 1, {on(0, 1)});
  h.step(ExclusionRequested{1, NodeId{0}, true});
  EXPECT_TRUE(usable(h, 1));
  h.step(ExclusionRequested{2, NodeId{0}, false});
  EXPECT_TRUE(usable(h, 0)) << "a job has stayed on it";
  EXPECT_FALSE(usable(h, 1));
}

// Storms found groups without a spare for ever.
TEST(Spares, OfTwoNodesInUseTheFirstThatIsEmptyBecomesOne) {
  for (const std::uint32_t first : {0u, 1u}) {
    ControllerHarness h({with_spares(2, 1)});
    std::vector<JobId> jobs{h.running(job("a"), 1, {on(0, 1)})};
    h.step(ExclusionRequested{1, NodeId{0}, true});
    jobs.push_back(h.running(job("b"), 1, {on(1, 1)}));
    h.step(ExclusionRequested{2, NodeId{0}, false});
    EXPECT_TRUE(usable(h, 0) && usable(h, 1)) << "jobs are on both";
    // What fails again while its place is still taken calls no other spare.
    h.step(ExclusionRequested{3, NodeId{0}, true});
    h.step(ExclusionRequested{4, NodeId{0}, false});
    h.step(StopRequested{5, jobs[first]});
    h.stop_all();
    EXPECT_FALSE(usable(h, first)) << first;
    EXPECT_TRUE(usable(h, 1 - first)) << first;
  }
}

// Storms found a group with a spare less: who is called for a third node was still booked for the
// first, whose return then gave no spare back.
TEST(Spares, WhoStoodInForASpareThatFailedGoesOnForItsNode) {
  ControllerHarness h({with_spares(4, 2)});
  h.node_down(0);
  EXPECT_TRUE(usable(h, 2)) << "for node 0";
  h.node_down(2);
  EXPECT_TRUE(usable(h, 3)) << "for node 2";
  h.node_up(2);
  EXPECT_FALSE(usable(h, 2)) << "a spare again";
  h.node_down(1);
  EXPECT_TRUE(usable(h, 2)) << "for node 1";
  h.node_up(0);
  h.node_up(1);
  int spares = 0;
  for (const NodeState& node : h.controller.state().nodes) spares += node.spare ? 1 : 0;
  EXPECT_EQ(spares, 2);
}

// Storms found a group with a spare less, and a spare that stood by beside a node that was missed.
TEST(Spares, ThatStandInForEachOtherBothComeBack) {
  ControllerHarness h({with_spares(6, 2)});
  h.node_down(3);
  h.step(ExclusionRequested{1, NodeId{4}, true});
  h.step(ExclusionRequested{2, NodeId{5}, true});
  h.node_up(3);
  h.step(ExclusionRequested{3, NodeId{4}, false});
  EXPECT_TRUE(h.controller.state().nodes[4].spare);
  h.step(ExclusionRequested{4, NodeId{5}, false});
  EXPECT_TRUE(h.controller.state().nodes[5].spare);
  for (std::uint32_t n = 0; n < 4; ++n) EXPECT_TRUE(usable(h, n)) << n;
}

TEST(Spares, ThatWereAwayAreCalledOnceTheyAreWell) {
  for (const std::uint16_t rules : {std::uint16_t{3}, kDecisionRules}) {
    Settings settings;
    settings.rules = rules;
    ControllerHarness h({with_spares(4, 1)}, settings);
    h.node_down(3);
    h.node_down(0);
    h.step(ExclusionRequested{1, NodeId{1}, true});
    h.node_up(3);
    EXPECT_EQ(usable(h, 3), rules >= 4) << "for node 0";
    h.node_up(0);
    EXPECT_EQ(usable(h, 3), rules >= 4) << "node 1 is missed still";
    h.step(ExclusionRequested{2, NodeId{1}, false});
    int spares = 0;
    for (const NodeState& node : h.controller.state().nodes) spares += node.spare ? 1 : 0;
    EXPECT_EQ(spares, 1);
  }
}

TEST(Leaving, WorkersMoveDrainedWithoutACharge) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(job("a").replicas(2).limit(0), 2, {on(0, 1), on(1, 1)});
  h.step(NodeLeaving{NodeId{0}, h.now + Duration::seconds(120)});
  EXPECT_EQ(h.phase(id), JobPhase::Rescheduling);
  ASSERT_NE(h.order<StopWorkers>(), nullptr);
  EXPECT_GT(h.order<StopWorkers>()->grace, Duration::zero());
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.job(id).workers[0].node, NodeId{1});
  EXPECT_EQ(h.row(id).restarts, 0u);
  EXPECT_EQ(h.row(id).node_losses, 0u);
  EXPECT_EQ(h.row(id).preemptions, 1u);
  h.pass(Duration::seconds(120));
  h.node_down(0);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  h.node_up(0);
  EXPECT_TRUE(usable(h, 0));
}

TEST(Leaving, ANodeThatReturnsAfterItsTimeStaysAndIsWaitedForNoLonger) {
  ControllerHarness h({nodes_of(1, 2)});
  h.step(NodeLeaving{NodeId{0}, h.now + Duration::seconds(20)});
  h.pass(Duration::seconds(20));
  EXPECT_FALSE(h.controller.next_deadline().is_never());
  h.node_up(0);
  EXPECT_TRUE(usable(h, 0));
  EXPECT_TRUE(h.controller.next_deadline().is_never());
}

// Its leader's clock was set back, or its time was extended: there is no report that it stays.
TEST(Leaving, WhoIsThereLongAfterItsTimeStays) {
  ControllerHarness h({nodes_of(1, 2)});
  h.step(NodeLeaving{NodeId{0}, h.now + Duration::seconds(20)});
  EXPECT_FALSE(usable(h, 0));
  h.pass(Duration::seconds(20));
  EXPECT_FALSE(usable(h, 0)) << "it may be going";
  const Settings& settings = h.controller.state().settings;
  h.pass(settings.node_lease + settings.fence_margin);
  EXPECT_TRUE(usable(h, 0));
}

TEST(Devices, ALostDeviceTakesItsWorkerAndTheNodeOutOfUse) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(job("a").replicas(2).limit(0), 2, {on(0, 2)});
  const std::uint64_t device = h.job(id).workers[0].devices;
  h.step(DevicesLost{NodeId{0}, device});
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.job(id).workers[0].node, NodeId{1});
  EXPECT_EQ(h.job(id).workers[1].node, NodeId{0}) << "the other device works";
  EXPECT_EQ(h.row(id).restarts, 0u);
  EXPECT_EQ(h.row(id).node_losses, 1u);
  EXPECT_FALSE(usable(h, 0));
  h.step(DevicesLost{NodeId{0}, 0});
  EXPECT_TRUE(usable(h, 0));
}

TEST(NodeHealth, ANodeHeldForItsCheckTakesNothingNewAndEndsNoWorkerOnAnyDevice) {
  ControllerHarness h({nodes_of(2, 64)});
  const JobId all = h.running(JobBuilder("all").replicas(64), 64, {on(0, 64)});
  h.step(NodeHeld{NodeId{0}});
  EXPECT_FALSE(h.controller.state().ledger.node(NodeId{0}).usable);
  EXPECT_EQ(h.phase(all), JobPhase::Running) << "also on device 63";
  EXPECT_EQ(h.row(all).node_losses, 0u);
  EXPECT_THAT(h.controller.state().nodes[0].incidents, testing::IsEmpty());
  h.step(NodeHeld{NodeId{0}});
  EXPECT_EQ(h.reports_ignored(Ignored::AlreadyKnown), 1u);
  h.step(DevicesLost{NodeId{0}, 0});
  EXPECT_TRUE(h.controller.state().ledger.node(NodeId{0}).usable);
}

}  // namespace
}  // namespace orrery::tests
