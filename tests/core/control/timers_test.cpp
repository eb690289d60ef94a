// Timers of a job by kind: none ends another, and nothing is waited for without an end.
#include <gtest/gtest.h>

#include "core/record/codec.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

constexpr Duration kLease = Duration::seconds(10);

Settings kills_within(Duration time) {
  Settings settings;
  settings.node_lease = kLease;
  settings.kill_deadline = time;
  return settings;
}

JobBuilder drains_for(const char* name, Duration grace) {
  JobBuilder builder = job(name);
  builder.raw().drain_grace = grace;
  return builder;
}

Instant second(std::int64_t s) { return Instant::zero() + Duration::seconds(s); }

TEST(JobTimers, TheEarliestOfAllKindsIsDue) {
  JobTimers timers;
  EXPECT_TRUE(timers.earliest().is_never());
  timers.set(TimerKind::Run, second(30));
  timers.set(TimerKind::Drain, second(10));
  timers.set(TimerKind::Kill, second(10));
  EXPECT_EQ(timers.earliest(), second(10));
  EXPECT_EQ(timers.due(), TimerKind::Drain) << "of equal ones in the order of the kinds";
  timers.set(TimerKind::Drain, Instant::never());
  EXPECT_EQ(timers.due(), TimerKind::Kill);
  timers.set(TimerKind::Kill, second(40));
  EXPECT_EQ(timers.due(), TimerKind::Run);
  const JobTimers copy = timers;
  timers.set(TimerKind::Run, Instant::never());
  timers.set(TimerKind::Kill, Instant::never());
  EXPECT_TRUE(timers.earliest().is_never());
  EXPECT_EQ(copy.earliest(), second(30)) << "a copy has its own";
}

TEST(JobTimers, AreWrittenAndReadBack) {
  JobTimers timers;
  timers.set(TimerKind::Wait, second(30));
  timers.set(TimerKind::Backoff, second(20));
  ByteWriter bytes;
  Encoder(bytes).put(timers);
  ByteReader in(bytes.bytes());
  JobTimers read;
  Decoder(in).get(read);
  read.rearm(false);
  EXPECT_EQ(read.at(TimerKind::Wait), second(30));
  EXPECT_EQ(read.at(TimerKind::Backoff), second(20));
  EXPECT_EQ(read.earliest(), second(20));
  EXPECT_FALSE(read.is_set(TimerKind::Run));
}

TEST(JobTimers, ARunEndsWhileTheJobDrains) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = drains_for("a", Duration::seconds(300)).elastic(1, 2);
  builder.raw().run_deadline = Duration::seconds(100);
  const JobId id = h.running(builder, 2);
  h.pass(Duration::seconds(60));
  h.plan(grant(id, 1));
  ASSERT_EQ(h.phase(id), JobPhase::Rescheduling);
  h.pass(Duration::seconds(39));
  ASSERT_EQ(h.phase(id), JobPhase::Rescheduling);
  h.pass(Duration::seconds(1));
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.job(id).reason, Reason::RunDeadline);
}

TEST(JobTimers, AJobThatEndsWhileItDrainsStillKillsWhoIsLate) {
  ControllerHarness h({nodes_of(1, 4)}, kills_within(Duration::seconds(60)));
  const JobId id = h.running(drains_for("a", Duration::seconds(20)), 1);
  h.fail(id, 0);
  h.pass(Duration::seconds(1));
  h.settle();
  ASSERT_EQ(h.phase(id), JobPhase::Running);
  h.step(WorkerSuspected{id, Generation{2}, Incarnation{2}, Rank{0}, Suspicion::Hung});
  ASSERT_EQ(h.phase(id), JobPhase::Restarting);
  h.step(StopRequested{0, id});
  h.pass(Duration::seconds(29));
  ASSERT_EQ(h.order<StopWorkers>(), nullptr);
  h.pass(Duration::seconds(1));
  const StopWorkers* kill = h.order<StopWorkers>();
  ASSERT_NE(kill, nullptr) << "grace and lease are over";
  EXPECT_EQ(kill->grace, Duration::zero());
}

TEST(Stuck, AWorkerThatDoesNotEndIsGivenUpAndItsNodeExcluded) {
  ControllerHarness h({nodes_of(2, 1)}, kills_within(Duration::seconds(60)));
  const JobId id = h.running(drains_for("a", Duration::seconds(20)), 1, {on(0, 1)});
  const JobId next = h.submit(job("next"));
  h.step(StopRequested{0, id});
  h.plan(grant(next, 1, {on(0, 1)}));
  ASSERT_EQ(h.job(next).blocked, 1u) << "it has been promised what the first one leaves";
  h.pass(Duration::seconds(20 + 10 + 59));
  EXPECT_FALSE(h.controller.state().nodes[0].excluded);
  EXPECT_EQ(h.job(id).draining, 1u);
  h.pass(Duration::seconds(1));
  EXPECT_TRUE(h.controller.state().nodes[0].excluded);
  EXPECT_EQ(h.job(id).draining, 0u);
  EXPECT_TRUE(h.job(id).retained) << "nobody waits for it any more";
  EXPECT_EQ(h.phase(next), JobPhase::Pending);
  EXPECT_FALSE(h.row(next).holds) << "it does not start beside what is left there";
}

TEST(Stuck, ARestartInPlaceGoesElsewhere) {
  ControllerHarness h({nodes_of(2, 1)}, kills_within(Duration::seconds(60)));
  const JobId id = h.running(drains_for("a", Duration::seconds(20)), 1, {on(0, 1)});
  h.step(WorkerSuspected{id, Generation{1}, Incarnation{1}, Rank{0}, Suspicion::Hung});
  ASSERT_EQ(h.phase(id), JobPhase::Restarting);
  h.pass(Duration::seconds(20 + 10 + 60));
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.job(id).reason, Reason::WorkerStuck);
  EXPECT_EQ(h.job(id).workers[0].node, NodeId{1});
  EXPECT_EQ(h.row(id).node_losses, 1u);
}

TEST(Stuck, TwoOnOneNodeAreOneIncidentOfIt) {
  Settings settings = kills_within(Duration::seconds(60));
  settings.lemon_incidents = 10;
  ControllerHarness h({nodes_of(1, 2)}, settings);
  const JobId id = h.running(drains_for("a", Duration::seconds(20)).replicas(2), 2);
  h.step(StopRequested{0, id});
  h.pass(Duration::seconds(20 + 10 + 60));
  ASSERT_TRUE(h.controller.state().nodes[0].excluded);
  EXPECT_EQ(h.controller.state().nodes[0].incidents.size(), 1u);
}

TEST(Stuck, AJobThatStaysBesideItAndGrowsElsewhereLosesNothing) {
  ControllerHarness h({nodes_of(1, 2), nodes_of(1, 1)}, kills_within(Duration::seconds(60)));
  const JobId stuck = h.running(drains_for("stuck", Duration::seconds(20)), 1, {on(0, 1)});
  const JobId grows = h.running(job("grows").elastic(1, 2), 1, {on(0, 1)});
  const JobId late = h.running(drains_for("late", Duration::seconds(500)), 1, {on(1, 1)});
  h.step(StopRequested{0, stuck});
  h.step(StopRequested{0, late});
  h.plan(grant(grows, 2, {on(0, 1), on(1, 1)}));
  ASSERT_EQ(h.job(grows).blocked, 1u);
  h.pass(Duration::seconds(20 + 10 + 60));
  ASSERT_TRUE(h.controller.state().nodes[0].excluded);
  EXPECT_EQ(h.row(grows).node_losses, 0u);
  EXPECT_EQ(h.job(grows).after_drain, AfterDrain::Start) << "its change goes on";
}

TEST(Stuck, AControllerThatStoodStillHearsFirstWhatNodesSay) {
  ControllerHarness h({nodes_of(1, 1)}, kills_within(Duration::seconds(60)));
  const JobId id = h.running(drains_for("a", Duration::seconds(20)), 1);
  h.step(StopRequested{0, id});
  h.now = h.now + Duration::seconds(500);
  h.step(TimeReached{});
  h.pass(kLease);
  h.now = h.now + Duration::seconds(500);
  h.step(TimeReached{});
  EXPECT_FALSE(h.controller.state().nodes[0].excluded);
  h.stop_all();
  EXPECT_TRUE(h.job(id).retained);
}

TEST(Stuck, ANewLeaderHearsTheNodeFirst) {
  ControllerHarness h({nodes_of(1, 1)}, kills_within(Duration::seconds(60)));
  const JobId id = h.running(drains_for("a", Duration::seconds(20)), 1);
  h.step(StopRequested{0, id});
  h.pass(Duration::seconds(89));
  h.take_over(2);
  h.pass(Duration::seconds(30));
  EXPECT_FALSE(h.controller.state().nodes[0].excluded) << "its list has not come";
  h.node_up(0);
  h.pass(kLease);
  EXPECT_TRUE(h.controller.state().nodes[0].excluded);
  EXPECT_TRUE(h.job(id).retained);
}

// One job recovers onto the device of another whose worker does not end.
struct BlockedRestart {
  ControllerHarness h{{nodes_of(3, 1)}, kills_within(Duration::seconds(3600))};
  JobId blocked;

  explicit BlockedRestart(std::int32_t limit) {
    JobBuilder builder = job("a").replicas(2).limit(limit).no_unknown();
    builder.raw().start_deadline = Duration::seconds(60);
    blocked = h.running(builder, 2, {on(0, 1), on(1, 1)});
    const JobId stubborn = h.running(drains_for("b", Duration::seconds(20)), 1, {on(2, 1)});
    h.step(StopRequested{0, stubborn});
    h.node_down(1);
    EXPECT_EQ(h.phase(blocked), JobPhase::Restarting);
    EXPECT_EQ(h.job(blocked).blocked, 1u);
    // The worker of the other has 30 s to end, and then the start has its time.
    h.pass(Duration::seconds(89));
    EXPECT_EQ(h.phase(blocked), JobPhase::Restarting);
    h.pass(Duration::seconds(1));
    for (std::size_t i = h.cluster.processes.size(); i-- > 0;)
      if (h.cluster.processes[i].job == blocked) h.step(h.cluster.end(i, WorkerFact::Exited, 143));
  }
};

TEST(Changes, WaitForPlacesNoLongerThanForAStart) {
  BlockedRestart run(3);
  EXPECT_EQ(run.h.phase(run.blocked), JobPhase::Pending);
  EXPECT_EQ(run.h.job(run.blocked).reason, Reason::StartDeadline);
  EXPECT_EQ(run.h.row(run.blocked).restarts, 1u) << "charged, so that it does not go on for ever";
  EXPECT_FALSE(run.h.row(run.blocked).holds);
}

TEST(Changes, WaitForPlacesWithinTheBackoffLimit) {
  BlockedRestart run(0);
  EXPECT_EQ(run.h.phase(run.blocked), JobPhase::Failed);
  EXPECT_EQ(run.h.job(run.blocked).reason, Reason::BackoffLimitReached);
}

TEST(Changes, CountFromWhoHasTheirPlacesNotFromWhoStopsBesideThem) {
  ControllerHarness h({nodes_of(2, 1), nodes_of(1, 2)}, kills_within(Duration::seconds(3600)));
  JobBuilder builder = job("a").elastic(1, 3);
  builder.raw().start_deadline = Duration::seconds(60);
  const JobId grows = h.running(builder, 1, {on(0, 1)});
  const JobId soon = h.running(drains_for("soon", Duration::seconds(20)), 1, {on(1, 1)});
  const JobId late = h.running(drains_for("late", Duration::seconds(500)), 1, {on(2, 1)});
  h.step(StopRequested{0, soon});
  h.step(StopRequested{0, late});
  h.plan(grant(grows, 3, {on(0, 1), on(1, 1), on(2, 1)}));
  ASSERT_EQ(h.job(grows).blocked, 1u) << "beside the late one a device is free";
  EXPECT_EQ(h.job(grows).timers.at(TimerKind::Change) - h.now,
            Duration::seconds(20) + kLease + Duration::seconds(60));
}

TEST(Changes, ThatHaveTheirPlacesWaitForListsWithoutACharge) {
  ControllerHarness h({nodes_of(2, 1)}, kills_within(Duration::seconds(3600)));
  JobBuilder builder = job("a").elastic(1, 2);
  builder.raw().start_deadline = Duration::seconds(60);
  const JobId grows = h.running(builder, 1, {on(0, 1)});
  const JobId other = h.running(drains_for("b", Duration::seconds(20)), 1, {on(1, 1)});
  h.step(StopRequested{0, other});
  h.plan(grant(grows, 2, {on(0, 1), on(1, 1)}));
  ASSERT_TRUE(h.job(grows).timers.is_set(TimerKind::Change));
  h.take_over(2);
  h.node_up(0);
  h.stop_all();
  ASSERT_EQ(h.job(grows).blocked, 0u);
  h.pass(Duration::seconds(200));
  EXPECT_EQ(h.phase(grows), JobPhase::Rescheduling) << "the list of the other node has not come";
  EXPECT_EQ(h.row(grows).restarts, 0u);
  h.node_up(1);
  h.settle();
  EXPECT_EQ(h.phase(grows), JobPhase::Running);
  EXPECT_EQ(h.row(grows).replicas, 2);
}

TEST(Rules, OlderRulesKillAgainOnlyAfterAnotherGrace) {
  Settings older;
  older.rules = 2;
  ControllerHarness h({nodes_of(1, 1)}, older);
  const JobId id = h.running(drains_for("a", Duration::seconds(20)), 1);
  h.step(StopRequested{0, id});
  const Instant first = h.job(id).timers.at(TimerKind::Sole);
  h.pass(first - h.now);
  EXPECT_EQ(h.job(id).timers.at(TimerKind::Sole), first + Duration::seconds(20) + older.node_lease);
}

TEST(Rules, TheOneTimerOfOlderRulesIsTheDeadlineOfAStart) {
  Settings older;
  older.rules = 2;
  ControllerHarness h({nodes_of(2, 1)}, older);
  JobBuilder late = job("late").limit(0);
  late.raw().start_deadline = Duration::seconds(30);
  const JobId id = h.submit(late);
  h.plan(grant(id, 1));
  h.pass(Duration::seconds(29));
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  h.pass(Duration::seconds(1));
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
}

TEST(Rules, AJobWhosePlacesAreTakenBackWaitsNoLongerThanItMay) {
  for (const std::uint16_t rules : {std::uint16_t{1}, std::uint16_t{2}, kDecisionRules}) {
    SCOPED_TRACE(rules);
    Settings settings;
    settings.rules = rules;
    ControllerHarness h({nodes_of(1, 1)}, settings);
    JobBuilder waits = job("waits").preemptible();
    waits.raw().wait_deadline = Duration::seconds(500);
    const JobId id = h.submit(waits);
    h.take_over(2);
    h.plan(grant(id, 1));
    ASSERT_TRUE(h.row(id).holds);
    ASSERT_EQ(h.phase(id), JobPhase::Pending) << "the list of its node has not come";
    h.plan(grant(id, 0));
    ASSERT_FALSE(h.row(id).holds);
    h.pass(Duration::seconds(499));
    EXPECT_EQ(h.phase(id), JobPhase::Pending);
    h.pass(Duration::seconds(1));
    EXPECT_EQ(h.phase(id), JobPhase::Failed);
    EXPECT_EQ(h.job(id).reason, Reason::WaitDeadline);
  }
}

TEST(Rules, TheOneTimerOfOlderRulesBecomesThoseOfItsKinds) {
  Settings older = kills_within(Duration::seconds(60));
  older.rules = 2;
  ControllerHarness h({nodes_of(3, 1)}, older);
  JobBuilder runs = job("runs");
  runs.raw().run_deadline = Duration::seconds(1000);
  const JobId running = h.running(runs, 1, {on(0, 1)});
  const JobId stopped = h.running(drains_for("stopped", Duration::seconds(20)), 1, {on(1, 1)});
  JobBuilder waits = job("waits").devices(4);
  waits.raw().roles[0].bundle.devices = 1;
  waits.raw().wait_deadline = Duration::seconds(500);
  const JobId waiting = h.submit(waits);
  h.step(StopRequested{0, stopped});
  const Instant drained = h.job(stopped).timers.at(TimerKind::Sole);
  Settings newer = older;
  newer.rules = 3;
  h.step(EpochStarted{Epoch{2}, newer});
  EXPECT_EQ(h.job(stopped).timers.at(TimerKind::Drain), drained);
  EXPECT_EQ(h.job(waiting).timers.at(TimerKind::Wait), second(500));
  EXPECT_TRUE(h.job(running).timers.is_set(TimerKind::Contact)) << "its node is heard first";
  EXPECT_EQ(h.job(running).timers.at(TimerKind::Run), second(1000));
  for (const JobId id : {running, stopped, waiting})
    EXPECT_FALSE(h.job(id).timers.is_set(TimerKind::Sole));
}

TEST(Rules, AJobThatAwaitsItsNodeIsNotTakenForOneThatWaitsForPlaces) {
  Settings older;
  older.rules = 2;
  ControllerHarness h({nodes_of(2, 1)}, older);
  JobBuilder builder = job("a").limit(10).no_unknown();
  builder.raw().failover.edit().worker_node_failures_max = 0;
  const JobId id = h.running(builder, 1);
  h.fail(id, 0);
  ASSERT_NE(h.order<RelaunchNodes>(), nullptr);
  Settings newer = older;
  newer.rules = 3;
  h.step(EpochStarted{Epoch{2}, newer});
  EXPECT_TRUE(h.job(id).timers.is_set(TimerKind::Answer));
  EXPECT_FALSE(h.job(id).timers.is_set(TimerKind::Wait));
  h.pass(Duration::seconds(10'000));
  EXPECT_FALSE(is_final(h.phase(id)));
}

TEST(Rules, AJobThatIsOverKeepsNoDeadlineFromOlderRules) {
  Settings older;
  older.rules = 2;
  ControllerHarness h({nodes_of(1, 1)}, older);
  JobBuilder runs = job("runs");
  runs.raw().run_deadline = Duration::seconds(1000);
  const JobId id = h.running(runs, 1);
  h.succeed(id, 0);
  Settings newer = older;
  newer.rules = 3;
  h.step(EpochStarted{Epoch{2}, newer});
  EXPECT_TRUE(h.job(id).timers.earliest().is_never());
  h.pass(Duration::seconds(1000));
  EXPECT_EQ(h.phase(id), JobPhase::Succeeded);
}

}  // namespace
}  // namespace orrery::tests
