// Failures of workers: budgets, incidents, scopes, late reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/control/status.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::ElementsAre;

TEST(Failures, AFailedWorkerIsStartedAgainInPlaceAfterItsBackoff) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  const std::uint64_t devices = h.job(id).workers[1].devices;
  h.fail(id, 1);
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  EXPECT_EQ(h.row(id).restarts, 1u);
  EXPECT_EQ(h.order<StartWorkers>(), nullptr) << "not before its backoff";
  h.pass(Duration::milliseconds(999));
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  h.pass(Duration::milliseconds(1));
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  ASSERT_NE(h.order<StartWorkers>(), nullptr);
  ASSERT_EQ(h.order<StartWorkers>()->workers.size(), 1u);
  EXPECT_EQ(h.order<StartWorkers>()->workers[0].rank, Rank{1});
  EXPECT_EQ(h.order<StartWorkers>()->workers[0].devices, devices);
  EXPECT_NE(h.order<UpdateMembership>(), nullptr) << "the survivor learns of it";
  EXPECT_EQ(h.row(id).generation, Generation{2});
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

TEST(Failures, OneMoreThanTheLimitFailsTheJob) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").limit(2), 1);
  for (int i = 0; i < 2; ++i) {
    h.fail(id, 0);
    h.pass(Duration::seconds(10));
    h.settle();
    ASSERT_EQ(h.phase(id), JobPhase::Running);
  }
  h.fail(id, 0);
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.job(id).reason, Reason::BackoffLimitReached);
  EXPECT_EQ(h.row(id).restarts, 2u);
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 4);
}

TEST(Failures, BackoffDoublesUpToItsLongest) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").limit(10);
  builder.raw().backoff_base = Duration::seconds(2);
  builder.raw().backoff_max = Duration::seconds(7);
  const JobId id = h.running(builder, 1);
  for (const std::int64_t delay : {2, 4, 7, 7}) {
    h.fail(id, 0);
    h.pass(Duration::seconds(delay) - Duration::nanoseconds(1));
    EXPECT_EQ(h.phase(id), JobPhase::Restarting) << delay;
    h.pass(Duration::nanoseconds(1));
    EXPECT_EQ(h.phase(id), JobPhase::Starting) << delay;
    h.settle();
  }
}

TEST(Failures, SeveralExitsInOneEventAreOneIncident) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(3), 3);
  WorkersChanged exits = h.cluster.end(0, WorkerFact::Exited, 1);
  h.cluster.processes.clear();
  exits.count = 3;
  h.step(exits);
  EXPECT_EQ(h.row(id).restarts, 1u);
  h.pass(Duration::seconds(1));
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.processes_of(id), 3u);
}

TEST(Failures, PeersThatFailWhileTheJobRestartsAreTheSameIncident) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(3).limit(1), 3);
  h.fail(id, 0);
  h.fail(id, 2);
  h.fail(id, 1);
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  h.pass(Duration::seconds(1));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).restarts, 1u);
  EXPECT_EQ(h.row(id).generation, Generation{2});
}

TEST(Failures, AScopeOfRoleRestartsTheRole) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.running(job("a").replicas(2).role("b", 2).recovery(RecoveryScope::Role), 2);
  h.fail(id, 3);
  ASSERT_NE(h.order<StopWorkers>(), nullptr);
  EXPECT_THAT(h.order<StopWorkers>()->workers,
              ElementsAre(testing::Field(&WorkerStop::rank, Rank{2})));
  h.pass(Duration::seconds(1));
  EXPECT_EQ(h.phase(id), JobPhase::Restarting) << "waits for the one that stops";
  h.stop_all();
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.order<StartWorkers>()->workers.size(), 2u);
  EXPECT_EQ(h.job(id).workers[0].born, Generation{1});
}

TEST(Failures, AFailureInAnotherRoleJoinsARestartWithItsWholeRole) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.running(job("a").replicas(2).role("b", 2).recovery(RecoveryScope::Role), 2);
  h.fail(id, 3);
  h.fail(id, 0);
  h.stop_all();
  h.pass(Duration::seconds(1));
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.order<StartWorkers>()->workers.size(), 4u);
  EXPECT_EQ(h.row(id).restarts, 1u);
}

TEST(Failures, AScopeOfJobRestartsEverybody) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.running(job("a").replicas(2).role("b", 2).recovery(RecoveryScope::Job), 2);
  h.fail(id, 0);
  EXPECT_EQ(h.order<StopWorkers>()->workers.size(), 3u);
  h.stop_all();
  h.pass(Duration::seconds(1));
  EXPECT_EQ(h.order<StartWorkers>()->workers.size(), 4u);
}

TEST(Failures, ADeviceIsNotUsedWhileAWorkerThatWasToRestartThereStillStops) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId id = h.running(
      job("a").replicas(2).recovery(RecoveryScope::Job).no_unknown(), 2, {on(0, 1), on(1, 1)});
  h.fail(id, 0);   // Rank 1 on node 1 stops, to be started again in place.
  h.node_down(0);  // The restart is void; both go to node 1, where one device is still in use.
  h.pass(Duration::seconds(5));
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  EXPECT_EQ(h.order<StartWorkers>(), nullptr);
  h.stop_all();  // The cluster checks that no device is shared.
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.order<StartWorkers>()->workers.size(), 2u);
}

TEST(Failures, ALaunchThatIsRefusedIsAFailure) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").limit(0));
  h.plan(grant(id, 1));
  h.step(h.cluster.end(0, WorkerFact::LaunchFailed, 1));
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
}

TEST(Failures, AProgramThatIsNotThereEndsTheJobAtOnceAndSaysWhatAndWhere) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.submit(job("a").replicas(2));
  h.plan(grant(id, 2));
  h.make_ready(id, 0);
  WorkersChanged refused = h.cluster.end(h.process(id, 1), WorkerFact::LaunchFailed, kNotFound);
  refused.why = "python9: its program cannot be run: No such file or directory";
  h.step(refused);
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.job(id).reason, Reason::CannotStart);
  EXPECT_EQ(h.row(id).restarts, 0u);
  const JobStatus status = status_of(h.controller.state(), h.job(id));
  EXPECT_EQ(status.reason, Reason::CannotStart);
  EXPECT_THAT(status.message,
              testing::HasSubstr("worker 1 of role worker cannot be started on node "));
  EXPECT_THAT(status.message, testing::HasSubstr(refused.why));
  h.settle();
  EXPECT_EQ(h.processes_of(id), 0u) << "the other one is stopped";
}

TEST(Failures, ARefusalOfAWorkerThatIsToStopAnywayEndsNothing) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(1), 1);
  h.step(ScaleRequested{7, id, RoleIndex{0}, ScaleMode::Set, 2});
  h.step(ScaleRequested{8, id, RoleIndex{0}, ScaleMode::Set, 1});
  h.step(h.cluster.end(h.process(id, 1), WorkerFact::LaunchFailed, kNotFound));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

TEST(Failures, AStartThatTakesTooLongIsChargedAndTriedAgain) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(2).limit(1);
  builder.raw().start_deadline = Duration::seconds(30);
  const JobId id = h.submit(builder);
  h.plan(grant(id, 2));
  h.make_ready(id, 0);
  h.pass(Duration::seconds(30));
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  EXPECT_EQ(h.job(id).reason, Reason::StartDeadline);
  EXPECT_EQ(h.row(id).restarts, 1u);
  h.stop_all();
  h.pass(Duration::seconds(1));
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.job(id).ready, 1u) << "ready workers stay";
  h.pass(Duration::seconds(30));
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
}

TEST(Failures, AGroupJobFailsWithItsFirstFailedWorker) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").family(JobFamily::Group).replicas(2), 2);
  h.fail(id, 1);
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.row(id).restarts, 0u);
}

TEST(Failures, AGroupJobThatLosesAWorkerRestartsAsANewGeneration) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").family(JobFamily::Group).replicas(3), 3);
  h.lose(id, 1);
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).generation, Generation{2});
  EXPECT_EQ(h.row(id).restarts, 0u) << "a lost worker is not charged";
  for (const Worker& worker : h.job(id).workers) EXPECT_EQ(worker.born, Generation{2});
}

TEST(Failures, ADeletedWorkerIsReplacedWithoutCharge) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2).limit(0), 2);
  h.lose(id, 0);
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  EXPECT_EQ(h.row(id).restarts, 0u);
  EXPECT_EQ(h.row(id).reschedules, 1u);
}

TEST(Failures, ALostWorkerBesideOnesThatSucceededIsTheOnlyOneReplaced) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(3), 3);
  h.succeed(id, 0);
  h.succeed(id, 1);
  h.lose(id, 2);
  ASSERT_NE(h.order<StartWorkers>(), nullptr);
  EXPECT_EQ(h.order<StartWorkers>()->workers.size(), 1u);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  h.succeed(id, 2);
  EXPECT_EQ(h.phase(id), JobPhase::Succeeded);
}

TEST(Failures, LateReportsOfWorkersBeforeChangeNothing) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  const WorkersChanged again = FakeCluster::report(h.cluster.processes[1], WorkerFact::Exited, 1);
  h.fail(id, 1);
  h.pass(Duration::seconds(1));
  h.settle();
  h.forget();
  h.step(again);
  EXPECT_EQ(h.reports_ignored(Ignored::StaleGeneration), 1u);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).restarts, 1u);
  h.step(WorkersChanged{id, Generation{2}, Incarnation{9}, WorkerFact::Exited, Rank{0}, 1, 1});
  EXPECT_EQ(h.reports_ignored(Ignored::StaleIncarnation), 1u);
  h.step(
      WorkersChanged{JobId{99}, Generation{1}, Incarnation{1}, WorkerFact::Ready, Rank{0}, 1, 0});
  EXPECT_EQ(h.reports_ignored(Ignored::UnknownJob), 1u);
  h.step(FakeCluster::report(h.cluster.processes[0], WorkerFact::Ready, 0));
  EXPECT_EQ(h.reports_ignored(Ignored::AlreadyKnown), 1u);
}

TEST(Failures, ARankOfAnOlderGenerationNamesNoOtherWorker) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.running(job("a").elastic(1, 6), 6);
  h.plan(grant(id, 4));
  h.settle();
  h.plan(grant(id, 5));  // Rank 4 of generation 3 is another worker than rank 4 of generation 1.
  h.settle();
  ASSERT_EQ(h.row(id).generation, Generation{3});
  h.forget();
  h.step(WorkersChanged{id, Generation{2}, Incarnation{1}, WorkerFact::Exited, Rank{3}, 1, 1});
  EXPECT_EQ(h.reports_ignored(Ignored::StaleGeneration), 1u);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

TEST(Failures, ReportsAboutFinishedJobsAreIgnored) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a"), 1);
  const WorkersChanged exit = FakeCluster::report(h.cluster.processes[0], WorkerFact::Exited, 0);
  h.succeed(id, 0);
  h.step(exit);
  EXPECT_EQ(h.reports_ignored(Ignored::JobFinished), 1u);
  ProgressReported progress;
  progress.job = id;
  progress.generation = Generation{1};
  h.step(progress);
  EXPECT_EQ(h.reports_ignored(Ignored::JobFinished), 2u);
}

TEST(Failures, AWorkerThatDoesNotStopInTimeIsKilled) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").elastic(1, 2), 2);
  h.plan(grant(id, 1));
  EXPECT_EQ(h.order<StopWorkers>()->grace, Duration::seconds(30));
  h.pass(Duration::seconds(40));  // Its grace, and the lease of its node.
  ASSERT_NE(h.order<StopWorkers>(), nullptr);
  EXPECT_EQ(h.order<StopWorkers>()->grace, Duration::zero());
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
}

}  // namespace
}  // namespace orrery::tests
