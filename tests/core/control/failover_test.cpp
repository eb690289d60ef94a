// Limits by cause, triggers and responses, hangs, strict recovery, deadlines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/control/epoch_leap.hpp"
#include "core/control/status.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string message(const ControllerHarness& h, JobId id) {
  return status_of(h.controller.state(), h.job(id)).message;
}

std::vector<NoticeKind> kinds(const ControllerHarness& h, std::initializer_list<NoticeKind> of) {
  std::vector<NoticeKind> found;
  for (const Notice& n : h.notices)
    if (std::find(of.begin(), of.end(), n.kind) != of.end()) found.push_back(n.kind);
  return found;
}

TEST(Limits, AWorkerThatFailsTooOftenEndsTheJobWithItsCount) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(2).limit(10);
  builder.raw().failover.edit().worker_failures_max = 1;
  const JobId id = h.running(builder, 2);
  h.fail(id, 0);
  h.pass(Duration::seconds(2));
  h.settle();
  h.fail(id, 1);
  h.pass(Duration::seconds(4));
  h.settle();
  ASSERT_EQ(h.phase(id), JobPhase::Running) << "each failed once";
  h.fail(id, 1);
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.job(id).reason, Reason::FailureLimitReached);
  EXPECT_THAT(message(h, id),
              HasSubstr("worker_failures_max is passed: 2 failures of one worker, 1 is allowed"));
}

TEST(Limits, RestartsOfARoleAndOfTheJobAreCountedByThemselves) {
  for (const RecoveryScope scope : {RecoveryScope::Role, RecoveryScope::Job}) {
    ControllerHarness h({nodes_of(1, 8)});
    JobBuilder builder = job("a").replicas(2).role("b", 2).limit(10).recovery(scope);
    builder.raw().failover.edit().role_restarts_max = 1;
    builder.raw().failover.edit().job_restarts_max = 1;
    const JobId id = h.running(builder, 2);
    h.fail(id, 0);
    h.pass(Duration::seconds(2));
    h.settle();
    ASSERT_EQ(h.phase(id), JobPhase::Running);
    if (scope == RecoveryScope::Role) {
      // Another role has a count of its own.
      h.fail(id, 3);
      h.pass(Duration::seconds(4));
      h.settle();
      ASSERT_EQ(h.phase(id), JobPhase::Running);
    }
    h.fail(id, 1);
    h.stop_all();
    EXPECT_EQ(h.phase(id), JobPhase::Failed);
    EXPECT_THAT(message(h, id), HasSubstr("restarts_max is passed: 2"));
  }
}

TEST(Limits, LostNodesHaveABudgetOfTheirOwn) {
  ControllerHarness h({nodes_of(3, 2)});
  JobBuilder builder = job("a").replicas(1).devices(2).limit(0).no_unknown();
  builder.raw().failover.edit().node_losses_max = 1;
  const JobId id = h.running(builder, 1, {on(0, 1)});
  h.node_down(0);
  h.settle();
  ASSERT_EQ(h.phase(id), JobPhase::Running) << "the backoff limit of 0 is not touched";
  h.node_down(h.job(id).workers[0].node.value);
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_THAT(message(h, id), HasSubstr("node_losses_max is passed: 2"));
}

TEST(Limits, AQuietWindowClearsTheBudgets) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").limit(1);
  builder.raw().failover.edit().reset_window = Duration::seconds(3600);
  const JobId id = h.running(builder, 1);
  for (int i = 0; i < 3; ++i) {
    h.fail(id, 0);
    h.pass(Duration::seconds(1));
    h.settle();
    ASSERT_EQ(h.phase(id), JobPhase::Running);
    h.pass(Duration::seconds(3600));
  }
  EXPECT_EQ(h.row(id).restarts, 3u) << "what is told goes on counting";
  h.fail(id, 0);
  h.pass(Duration::seconds(1));
  h.settle();
  h.fail(id, 0);
  EXPECT_EQ(h.phase(id), JobPhase::Failed) << "the second within the window";
}

TEST(Limits, AQuietWindowClearsThoseOfWideRestarts) {
  for (const std::uint16_t rules : {std::uint16_t{3}, kDecisionRules})
    for (const RecoveryScope scope : {RecoveryScope::Role, RecoveryScope::Job}) {
      Settings settings;
      settings.rules = rules;
      ControllerHarness h({nodes_of(1, 4)}, settings);
      JobBuilder builder = job("a").replicas(2).limit(10);
      builder.raw().recovery = scope;
      FailoverSpec& failover = builder.raw().failover.edit();
      failover.reset_window = Duration::seconds(3600);
      failover.role_restarts_max = failover.job_restarts_max = 1;
      const JobId id = h.running(builder, 2);
      const auto fail = [&] {
        h.fail(id, 0);
        h.pass(Duration::seconds(40));
        h.stop_all();
        h.pass(Duration::seconds(100));
        h.settle();
      };
      fail();
      ASSERT_EQ(h.phase(id), JobPhase::Running);
      h.pass(Duration::seconds(3600));
      fail();
      EXPECT_EQ(h.phase(id), rules >= 4 ? JobPhase::Running : JobPhase::Failed);
      if (rules < 4) continue;
      const JobFailover& counts = *h.job(id).failover;
      EXPECT_EQ(scope == RecoveryScope::Job ? counts.job_restarts : counts.role_restarts[0], 2u)
          << "what is told goes on counting";
      fail();
      EXPECT_EQ(h.phase(id), JobPhase::Failed) << "the second within the window";
      EXPECT_THAT(message(h, id), HasSubstr("restarts_max is passed: 2"));
    }
}

TEST(Limits, PreemptionsHaveAWindowOfTheirOwn) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").preemptible().limit(10);
  builder.raw().failover.edit().reset_window = Duration::seconds(3600);
  builder.raw().failover.edit().preemptions_max = 1;
  const JobId id = h.running(builder, 1);
  const auto preempt = [&] {
    h.plan(grant(id, 0));
    h.stop_all();
    if (h.phase(id) == JobPhase::Failed) return;
    h.plan(grant(id, 1));
    h.settle();
  };
  for (int i = 0; i < 3; ++i) {
    preempt();
    ASSERT_EQ(h.phase(id), JobPhase::Running) << i;
    h.pass(Duration::seconds(2000));
    h.fail(id, 0);
    h.pass(Duration::seconds(100));
    h.settle();
    ASSERT_EQ(h.phase(id), JobPhase::Running) << "a crash is no preemption";
    h.pass(Duration::seconds(2000));
  }
  preempt();
  h.pass(Duration::seconds(3000));
  preempt();
  EXPECT_EQ(h.phase(id), JobPhase::Failed) << "the second within the window";
  EXPECT_THAT(message(h, id), HasSubstr("preemptions_max is passed: 2"));
  EXPECT_EQ(h.row(id).preemptions, 4u);
}

TEST(Limits, JitterShortensTheDelayAndRepeats) {
  const auto delay = [](std::uint64_t seed) {
    Settings settings;
    settings.seed = seed;
    ControllerHarness h({nodes_of(1, 4)}, settings);
    JobBuilder builder = job("a").limit(5);
    builder.raw().backoff_base = Duration::seconds(100);
    builder.raw().failover.edit().jitter = 0.5;
    const JobId id = h.running(builder, 1);
    h.fail(id, 0);
    return h.job(id).timers.at(TimerKind::Backoff) - h.now;
  };
  EXPECT_EQ(delay(1), delay(1));
  EXPECT_NE(delay(1), delay(2));
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    EXPECT_LE(delay(seed), Duration::seconds(100));
    EXPECT_GE(delay(seed), Duration::seconds(50));
  }
}

TEST(Incidents, OpenWithTheFailureAndCloseWithTheRecovery) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  h.forget();
  h.fail(id, 1);
  h.fail(id, 0);
  EXPECT_EQ(h.reports_ignored(Ignored::RecoveryUnderWay), 1u) << "its scope recovers already";
  h.pass(Duration::seconds(1));
  h.settle();
  EXPECT_THAT(kinds(h, {NoticeKind::IncidentOpened, NoticeKind::IncidentClosed}),
              ElementsAre(NoticeKind::IncidentOpened, NoticeKind::IncidentClosed));
  EXPECT_EQ(h.row(id).restarts, 1u);
  const auto opened = std::find_if(h.notices.begin(), h.notices.end(), [](const Notice& n) {
    return n.kind == NoticeKind::IncidentOpened;
  });
  EXPECT_TRUE(opened->charged);
  EXPECT_EQ(opened->local_rank, 1);
  EXPECT_EQ(opened->reason, Reason::WorkerFailed);
}

double work_lost(const ControllerHarness& h) {
  double sum = 0;
  for (const Notice& notice : h.notices)
    if (notice.kind == NoticeKind::WorkLost) sum += notice.work;
  return sum;
}

// 60 units of work in a checkpoint, 40 more done now, and two a second from now on.
void report_progress(ControllerHarness& h, JobId id, double saved = 60, double done = 100) {
  ProgressReported saved_report{id, h.row(id).generation, saved, 2};
  saved_report.checkpointed = true;
  h.step(saved_report);
  h.step(ProgressReported{id, h.row(id).generation, done, 2});
}

TEST(WorkLost, IsWhatWasDoneAndNotSavedWhenTheFailureOccurred) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  report_progress(h, id);
  h.pass(Duration::seconds(5));
  h.fail(id, 0);
  EXPECT_DOUBLE_EQ(work_lost(h), 50);
  h.fail(id, 1);
  EXPECT_DOUBLE_EQ(work_lost(h), 50) << "the same incident";
}

TEST(WorkLost, DoesNotGrowWhileAHangIsNotNoticed) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().failover.edit().hang_after = Duration::seconds(30);
  const JobId id = h.running(builder, 2);
  report_progress(h, id);
  h.pass(Duration::seconds(35));
  const Worker& worker = h.job(id).workers[1];
  h.step(WorkerSuspected{id, worker.born, worker.incarnation, worker.birth_rank, Suspicion::Hung});
  EXPECT_DOUBLE_EQ(work_lost(h), 50) << "five seconds of work, thirty without";
}

TEST(WorkLost, IsToldOfAJobThatWasOutOfContact) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().unknown_deadline = Duration::seconds(50);
  const JobId id = h.running(builder, 2, {on(0, 2)});
  h.pass(Duration::seconds(1));
  report_progress(h, id);
  h.node_down(0);
  ASSERT_EQ(h.phase(id), JobPhase::Unknown);
  EXPECT_EQ(work_lost(h), 0);
  h.pass(Duration::seconds(60));
  EXPECT_DOUBLE_EQ(work_lost(h), 40) << "nothing was done while its node was silent";
}

TEST(WorkLost, IsNotCountedTwiceWhereNothingWasReportedSince) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  h.pass(Duration::seconds(1));
  report_progress(h, id);
  h.pass(Duration::seconds(1));
  h.fail(id, 0);
  h.pass(Duration::seconds(1));
  h.settle();
  ASSERT_EQ(h.phase(id), JobPhase::Running);
  h.fail(id, 0);
  EXPECT_DOUBLE_EQ(work_lost(h), 42);
}

TEST(WorkLost, OfANodeThatComesBackEmptyEndsWhenItWasHeardLast) {
  Settings settings;
  settings.node_lease = Duration::seconds(3);
  ControllerHarness h({nodes_of(2, 4)}, settings);
  JobBuilder builder = job("a").replicas(2);
  builder.raw().unknown_deadline = Duration::seconds(50);
  const JobId id = h.running(builder, 2, {on(0, 2)});
  h.pass(Duration::seconds(1));
  report_progress(h, id);
  h.pass(Duration::seconds(10));
  h.node_down(0);
  ASSERT_EQ(h.phase(id), JobPhase::Unknown);
  h.pass(Duration::seconds(20));
  h.node_up(0);
  EXPECT_DOUBLE_EQ(work_lost(h), 54) << "seven seconds of work, two units in each";
}

TEST(WorkLost, OfANodeThatANewLeaderHearsOfEndsWithTheLeaderBefore) {
  Settings settings;
  settings.node_lease = Duration::seconds(3);
  ControllerHarness h({nodes_of(2, 4)}, settings);
  const JobId id = h.running(job("a").replicas(2), 2, {on(0, 2)});
  h.pass(Duration::seconds(1));
  report_progress(h, id);
  h.pass(Duration::seconds(10));
  h.take_over(2);
  h.cluster.kill_node(NodeId{0});
  h.pass(Duration::seconds(1));
  h.node_up(0);
  EXPECT_DOUBLE_EQ(work_lost(h), 60) << "the node was not found silent";
}

TEST(WorkLost, IsNotCountedForTheTimeThatTheJobWaited) {
  for (const bool starts_late : {false, true}) {
    ControllerHarness h({nodes_of(1, 4)});
    const JobId id = h.running(job("a").preemptible().replicas(2), 2);
    h.pass(Duration::seconds(1));
    report_progress(h, id);
    ProgressReported saved{id, h.row(id).generation, 100, 2};
    saved.checkpointed = true;
    h.step(saved);
    h.plan(grant(id, 0));
    h.stop_all();
    ASSERT_EQ(h.phase(id), JobPhase::Pending);
    h.pass(Duration::seconds(1000));
    h.plan(grant(id, 2));
    if (starts_late) h.pass(Duration::seconds(10));
    h.settle();
    ASSERT_EQ(h.phase(id), JobPhase::Running);
    h.pass(Duration::seconds(5));
    h.fail(id, 0);
    EXPECT_DOUBLE_EQ(work_lost(h), 10) << "five seconds of work";
  }
}

// A member that joins those at work is no new begin of their work.
TEST(WorkLost, IsCountedFromTheTimeOfThePlaceWhereSomeMembersAreNewer) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").preemptible().replicas(1, 2), 1);
  h.pass(Duration::seconds(1));
  report_progress(h, id);
  h.pass(Duration::seconds(5));
  h.plan(grant(id, 2));
  h.settle();
  ASSERT_EQ(h.phase(id), JobPhase::Running);
  const std::vector<Worker>& workers = h.job(id).workers;
  const bool goes_on = std::any_of(workers.begin(), workers.end(), [&](const Worker& worker) {
    return worker.born < h.row(id).generation;
  });
  ASSERT_TRUE(goes_on);
  h.pass(Duration::seconds(5));
  h.fail(id, 0);
  EXPECT_DOUBLE_EQ(work_lost(h), 60) << "what had been lost before, and ten seconds of work";
}

TEST(WorkLost, WhoMovesHasSavedItsWork) {
  ControllerHarness h({nodes_of(2, 2)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().failover.edit().straggler_moves = true;
  const JobId id = h.running(builder, 2, {on(0, 2)});
  report_progress(h, id);
  const Worker worker = h.job(id).workers[0];
  h.step(WorkerSuspected{
      id, worker.born, worker.incarnation, worker.birth_rank, Suspicion::Straggling});
  EXPECT_EQ(work_lost(h), 0);
}

TEST(Responses, AnErrorOfTheProgramMayStopTheJobOrRestartItAll) {
  for (const FailureResponse response : {FailureResponse::Stop, FailureResponse::Job}) {
    ControllerHarness h({nodes_of(1, 4)});
    JobBuilder builder = job("a").replicas(2);
    builder.raw().failover.edit().response = response;
    const JobId id = h.running(builder, 2);
    h.fail(id, 0);
    if (response == FailureResponse::Stop) {
      EXPECT_EQ(h.phase(id), JobPhase::Failed);
      EXPECT_EQ(h.job(id).reason, Reason::WorkerErred);
    } else {
      h.stop_all();
      h.pass(Duration::seconds(1));
      ASSERT_NE(h.order<StartWorkers>(), nullptr);
      EXPECT_EQ(h.order<StartWorkers>()->workers.size(), 2u);
    }
  }
}

TEST(Responses, ASignalIsNoErrorOfTheProgram) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().failover.edit().response = FailureResponse::Stop;
  const JobId id = h.running(builder, 2);
  h.step(h.cluster.end(h.process(id, 0), WorkerFact::Exited, 137));
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
}

TEST(Responses, ASkippedErrorCountsAsDone) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().failover.edit().trigger = FailureTrigger::Skip;
  const JobId id = h.running(builder, 2);
  h.fail(id, 0);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  h.succeed(id, 1);
  EXPECT_EQ(h.phase(id), JobPhase::Succeeded);
  EXPECT_EQ(
      status_of(h.controller.state(), h.job(id)).message.find("1 of 2 required workers failed"),
      0u);
}

TEST(Responses, AnErrorMayWaitForTheEnd) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().failover.edit().trigger = FailureTrigger::AtEnd;
  const JobId id = h.running(builder, 2);
  h.fail(id, 0);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).restarts, 0u);
  h.succeed(id, 1);
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  EXPECT_EQ(h.row(id).restarts, 1u);
  h.pass(Duration::seconds(1));
  h.settle();
  h.succeed(id, 0);
  EXPECT_EQ(h.phase(id), JobPhase::Succeeded);
}

TEST(Hangs, AHungWorkerIsStoppedAndStartedAgain) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  const Worker& worker = h.job(id).workers[1];
  h.step(WorkerSuspected{id, worker.born, worker.incarnation, worker.birth_rank, Suspicion::Hung});
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  ASSERT_NE(h.order<StopWorkers>(), nullptr);
  EXPECT_EQ(h.order<StopWorkers>()->workers.size(), 1u);
  h.stop_all();
  h.pass(Duration::seconds(1));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).restarts, 1u);
}

TEST(Hangs, AStragglerMovesToAnotherNode) {
  ControllerHarness h({nodes_of(2, 2)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().failover.edit().straggler_moves = true;
  const JobId id = h.running(builder, 2, {on(0, 2)});
  const Worker worker = h.job(id).workers[0];
  h.step(WorkerSuspected{
      id, worker.born, worker.incarnation, worker.birth_rank, Suspicion::Straggling});
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.job(id).workers[0].node, NodeId{1});
  EXPECT_EQ(h.job(id).workers[1].node, NodeId{0});
  EXPECT_EQ(h.row(id).restarts, 0u);
}

TEST(Hangs, AStragglerStaysWhereNoOtherNodeHasPortsForIt) {
  NodeGroup few = nodes_of(1, 2);
  few.name = "few";
  few.ports = {9000, 1};
  ControllerHarness h({nodes_of(1, 2), few});
  JobBuilder taken = job("taken");
  taken.raw().roles[0].command = {"serve"};
  h.running(taken, 1, {on(1, 1)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().roles[0].command = {"train"};
  builder.raw().failover.edit().straggler_moves = true;
  const JobId id = h.running(builder, 2, {on(0, 2)});
  const Worker worker = h.job(id).workers[0];
  h.step(WorkerSuspected{
      id, worker.born, worker.incarnation, worker.birth_rank, Suspicion::Straggling});
  EXPECT_EQ(h.phase(id), JobPhase::Running) << "there is a device, and no port";
  EXPECT_EQ(h.row(id).reschedules, 0u);
}

TEST(Strict, OnlyARunningJobOutlivesItsController) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder builder = job("a");
  builder.raw().failover.edit().mode = RecoveryMode::Strict;
  const JobId runs = h.running(builder, 1);
  JobBuilder other = job("b");
  other.raw().failover.edit().mode = RecoveryMode::Strict;
  const JobId waits = h.submit(other);
  const JobId lenient = h.submit(job("c"));
  h.take_over(2);
  EXPECT_EQ(h.phase(runs), JobPhase::Unknown);
  EXPECT_EQ(h.phase(waits), JobPhase::Failed);
  EXPECT_EQ(h.job(waits).reason, Reason::RecoveryRefused);
  EXPECT_EQ(h.phase(lenient), JobPhase::Pending);
  h.node_up(0);
  h.node_up(1);
  EXPECT_EQ(h.phase(runs), JobPhase::Running);
}

TEST(Strict, FailuresOfAStartChangeNoCounterUntilItsDeadline) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a");
  builder.raw().failover.edit().mode = RecoveryMode::Strict;
  builder.raw().start_deadline = Duration::seconds(10);
  const JobId id = h.submit(builder);
  h.plan(grant(id, 1));
  for (int i = 0; i < 20 && h.phase(id) != JobPhase::Failed; ++i) {
    if (h.processes_of(id) > 0) h.fail(id, 0);
    h.pass(Duration::seconds(1));
  }
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.job(id).reason, Reason::StartDeadline);
  EXPECT_EQ(h.row(id).restarts, 0u);
}

// The claim's own timer, for the backoff, does not take the place of the deadline.
TEST(Deadlines, AWaitIsBoundedWhileAClaimIsHeldAndAfterItWasTakenBack) {
  for (const bool loses_node : {false, true}) {
    SCOPED_TRACE(loses_node);
    ControllerHarness h({nodes_of(2, 1)});
    JobBuilder waits = job("a");
    waits.raw().wait_deadline = Duration::seconds(30);
    waits.raw().backoff_base = Duration::seconds(100);
    waits.raw().backoff_max = Duration::seconds(100);
    const JobId id = h.running(waits, 1);
    h.step(DevicesLost{NodeId{1}, 1});
    h.fail(id, 0);
    h.node_down(0);  // Nowhere to go: it waits in the queue.
    ASSERT_EQ(h.phase(id), JobPhase::Pending);
    h.step(DevicesLost{NodeId{1}, 0});
    h.plan(grant(id, 1));
    ASSERT_EQ(h.phase(id), JobPhase::Pending) << "claimed, and before the end of its backoff";
    ASSERT_TRUE(h.row(id).holds);
    if (loses_node) h.node_down(1);
    h.pass(Duration::seconds(30));
    EXPECT_EQ(h.phase(id), JobPhase::Failed);
    EXPECT_EQ(h.job(id).reason, Reason::WaitDeadline);
  }
}

TEST(Deadlines, AJobMayWaitAndRunOnlySoLong) {
  ControllerHarness h({nodes_of(1, 1)});
  JobBuilder first = job("a");
  first.raw().run_deadline = Duration::seconds(100);
  const JobId runs = h.running(first, 1);
  JobBuilder second = job("b");
  second.raw().wait_deadline = Duration::seconds(30);
  const JobId waits = h.submit(second);
  h.pass(Duration::seconds(30));
  EXPECT_EQ(h.phase(waits), JobPhase::Failed);
  EXPECT_EQ(h.job(waits).reason, Reason::WaitDeadline);
  h.pass(Duration::seconds(70));
  EXPECT_EQ(h.phase(runs), JobPhase::Failed);
  EXPECT_EQ(h.job(runs).reason, Reason::RunDeadline);
}

// The journal has lost its end, and nodes know of jobs and starts that it does not.
TEST(Takeover, ALeapOverEpochsLeavesNumbersOut) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId old = h.running(job("a").replicas(2), 2);
  const Incarnation before = h.job(old).incarnation;
  h.take_over(kEpochLeap);  // As after elections that came to nothing.
  EXPECT_EQ(h.job(old).incarnation, before);
  EXPECT_EQ(h.controller.state().next_job(), JobId{old.value + 1});
  h.take_over(2 * kEpochLeap);
  EXPECT_GT(h.job(old).incarnation.value, before.value + 1000);
  EXPECT_EQ(h.job(old).workers[0].incarnation, before) << "a running worker keeps its name";
  const Incarnation leapt = h.job(old).incarnation;
  h.take_over(2 * kEpochLeap + 1);
  EXPECT_EQ(h.job(old).incarnation, leapt) << "the next epoch is no leap, however high it is";
  const JobId fresh = h.submit(job("b"));
  EXPECT_GT(fresh.value, old.value + 1000);
  ByteWriter bytes;
  h.controller.state().save(bytes);
  Controller again;
  ByteReader in(bytes.bytes());
  ASSERT_TRUE(again.load(in, kRecordVersion));
  EXPECT_EQ(again.digest(), h.controller.digest());
}

}  // namespace
}  // namespace orrery::tests
