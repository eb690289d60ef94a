// Faults of workers in the model world: what becomes of the process, of the job's work, and what
// is told.
#include <gmock/gmock.h>

#include "tests/sim/model/world_harness.hpp"

namespace orrery::tests {
namespace {

using scenarios::FaultKind;
using testing::IsEmpty;
using testing::SizeIs;

JobSpec train(std::int32_t replicas) { return job("train").elastic(1, replicas).spec(); }

/// Two workers on two nodes, 100 s of work of one replica, started at 0 s.
WorldHarness two_workers(std::vector<scenarios::Fault> faults,
                         JobSpec spec = train(2),
                         scenarios::Timing timing = {}) {
  scenarios::Scenario scenario = four_nodes(std::move(faults));
  scenario.timing = timing;
  return WorldHarness(std::move(scenario), {modelled(spec, 100)});
}

TEST(WorkerFaults, AJobWithoutFaultsDoesAllItsWork) {
  WorldHarness world = two_workers({});
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(60);
  ASSERT_THAT(world.reported(WorkerFact::Exited), SizeIs(1));
  EXPECT_EQ(world.reported(WorkerFact::Exited)[0].first, 50);
  EXPECT_EQ(world.reported(WorkerFact::Exited)[0].second.count, 2u);
}

TEST(WorkerFaults, ACrashTakesTheWorkSinceTheLastCheckpoint) {
  scenarios::Timing timing;
  timing.checkpoint_interval = Duration::seconds(8);
  scenarios::Fault crash = worker_fault(20, FaultKind::Crash, 1);
  crash.exit_code = 7;
  WorldHarness world = two_workers({crash}, train(2), timing);
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(20);
  ASSERT_THAT(world.reported(WorkerFact::Exited), SizeIs(1));
  EXPECT_EQ(world.reported(WorkerFact::Exited)[0].second.exit_code, 7);
  EXPECT_EQ(world.reported(WorkerFact::Exited)[0].second.first, Rank{1});
  EXPECT_EQ(world.done(), 32) << "two checkpoints of 8 s with two replicas";
  EXPECT_EQ(world.job().lost, 8);
  EXPECT_EQ(world.job().worked, 40);
}

TEST(WorkerFaults, CheckpointsTakeTheirTimeWhenTheyAreDue) {
  scenarios::Timing timing;
  timing.checkpoint_interval = Duration::seconds(8);
  timing.checkpoint_cost = Duration::seconds(2);
  scenarios::Scenario scenario = four_nodes();
  scenario.timing = timing;
  for (const auto& [work, ends] : {std::pair{6.0, 6.0}, {8.0, 8.0}, {9.0, 11.0}, {100.0, 124.0}}) {
    WorldHarness world(scenario, {modelled(train(1), work)});
    world.pass_to(0);
    world.start(1, 0, 0);
    world.pass_to(130);
    ASSERT_THAT(world.reported(WorkerFact::Exited), SizeIs(1));
    EXPECT_EQ(world.reported(WorkerFact::Exited)[0].first, ends) << work << " s of work";
  }
}

TEST(WorkerFaults, ACrashTakesTheWorkSinceTheLastCheckpointThatIsOver) {
  scenarios::Timing timing;
  timing.checkpoint_interval = Duration::seconds(8);
  timing.checkpoint_cost = Duration::seconds(2);
  for (const auto& [at, done, lost] : {std::tuple{35, 48, 10}, {39, 48, 16}, {40, 64, 0}}) {
    WorldHarness world = two_workers({worker_fault(at, FaultKind::Crash, 1)}, train(2), timing);
    world.pass_to(0);
    world.start(1, 0, 1);
    world.pass_to(at);
    EXPECT_EQ(world.done(), done) << "at " << at;
    EXPECT_EQ(world.job().lost, lost) << "at " << at;
  }
}

TEST(WorkerFaults, AnErrorThatIsNotActedUponLeavesTheWorkToTheOthers) {
  for (const FailureTrigger trigger : {FailureTrigger::Skip, FailureTrigger::AtEnd})
    for (const RecoveryScope scope :
         {RecoveryScope::Worker, RecoveryScope::Role, RecoveryScope::Job}) {
      JobSpec spec = train(2);
      spec.recovery = scope;
      spec.failover.edit().trigger = trigger;
      scenarios::Timing timing;
      timing.checkpoint_interval = Duration::seconds(8);
      scenarios::Fault crash = worker_fault(20, FaultKind::Crash, 1);
      crash.exit_code = 7;
      WorldHarness world = two_workers({crash}, spec, timing);
      world.pass_to(0);
      world.start(1, 0, 1);
      world.pass_to(20);
      EXPECT_EQ(world.job().lost, 0);
      world.pass_to(50);
      EXPECT_EQ(world.done(), 70) << "40 by both, 30 by the one that is left";
      world.pass_to(90);
      ASSERT_THAT(world.reported(WorkerFact::Exited), SizeIs(2));
      EXPECT_EQ(world.reported(WorkerFact::Exited)[1].first, 80);
      EXPECT_EQ(world.reported(WorkerFact::Exited)[1].second.exit_code, 0);
    }
}

TEST(WorkerFaults, AnErrorIsActedUponWhereItsJobHasNobodyLeft) {
  JobSpec spec = train(1);
  spec.recovery = RecoveryScope::Job;
  spec.failover.edit().trigger = FailureTrigger::AtEnd;
  scenarios::Timing timing;
  timing.checkpoint_interval = Duration::seconds(8);
  scenarios::Fault crash = worker_fault(20, FaultKind::Crash);
  crash.exit_code = 7;
  WorldHarness world = two_workers({crash}, spec, timing);
  world.pass_to(0);
  world.start(1, 0, 0);
  world.pass_to(20);
  EXPECT_EQ(world.job().lost, 4);
}

TEST(WorkerFaults, ARoleThatHasDoneItsPartHoldsNobodyUp) {
  JobSpec spec = job("train").role("actor", 1).spec();
  spec.failover.edit().trigger = FailureTrigger::Skip;
  scenarios::Fault crash = worker_fault(20, FaultKind::Crash);
  crash.exit_code = 7;
  WorldHarness world = two_workers({crash}, spec);
  world.pass_to(0);
  world.start(1, 0, 1, {0, 1});
  world.pass_to(50);
  EXPECT_EQ(world.done(), 50);
  world.pass_to(110);
  ASSERT_THAT(world.reported(WorkerFact::Exited), SizeIs(2));
  EXPECT_EQ(world.reported(WorkerFact::Exited)[1].first, 100);
}

TEST(WorkerFaults, ARateThatFellWithAFailureIsToldWithTheNextChange) {
  WorldHarness world = two_workers({node_fault(20, FaultKind::Down, 1)});
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(31);
  EXPECT_NE(world.of<ProgressReported>().back().second.rate, 1) << "it goes on without a word";
  WorkerStart left;
  left.rank = Rank{0};
  left.node = NodeId{0};
  left.incarnation = Incarnation{1};
  world.issue(UpdateMembership{JobId{0}, Generation{2}, 1, {left}});
  world.pass_to(32);
  EXPECT_EQ(world.of<ProgressReported>().back().second.rate, 1);
}

TEST(WorkerFaults, ADeletedWorkerIsLost) {
  WorldHarness world = two_workers({worker_fault(20, FaultKind::Delete)});
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(20);
  EXPECT_THAT(world.reported(WorkerFact::Lost), SizeIs(1));
  EXPECT_THAT(world.world.cluster().living(), SizeIs(1));
}

TEST(WorkerFaults, EveryWorkerOfANodeMayBeHit) {
  WorldHarness world = two_workers({node_fault(20, FaultKind::Crash, 1)});
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(20);
  ASSERT_THAT(world.reported(WorkerFact::Exited), SizeIs(1));
  EXPECT_EQ(world.reported(WorkerFact::Exited)[0].second.first, Rank{1});
}

TEST(WorkerFaults, AFaultStrikesAsOftenAsItSays) {
  scenarios::Fault crash = worker_fault(20, FaultKind::Crash);
  crash.times = 2;
  crash.every = Duration::seconds(5);
  WorldHarness world = two_workers({crash});
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(21);
  world.start(2, 0, 0);
  world.pass_to(30);
  ASSERT_THAT(world.reported(WorkerFact::Exited), SizeIs(2));
  EXPECT_EQ(world.reported(WorkerFact::Exited)[1].first, 25);
}

TEST(WorkerFaults, AHungWorkerStopsTheWorkAndIsNoticedAfterTheJobsTime) {
  JobSpec spec = train(2);
  spec.failover.edit().hang_after = Duration::seconds(15);
  WorldHarness world = two_workers({worker_fault(10, FaultKind::Hang, 1)}, spec);
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(10);
  const std::size_t told = world.of<ProgressReported>().size();
  world.pass_to(60);
  EXPECT_EQ(world.done(), 20);
  EXPECT_THAT(world.of<ProgressReported>(), SizeIs(told)) << "nothing reports that it stands";
  ASSERT_THAT(world.of<WorkerSuspected>(), SizeIs(1));
  EXPECT_EQ(world.of<WorkerSuspected>()[0].first, 25);
  EXPECT_EQ(world.of<WorkerSuspected>()[0].second.rank, Rank{1});
  EXPECT_EQ(world.of<WorkerSuspected>()[0].second.suspicion, Suspicion::Hung);
}

TEST(WorkerFaults, AHangThatEndsInTimeIsNotNoticed) {
  JobSpec spec = train(2);
  spec.failover.edit().hang_after = Duration::seconds(15);
  scenarios::Fault hang = worker_fault(10, FaultKind::Hang, 1);
  hang.lasting = Duration::seconds(5);
  WorldHarness world = two_workers({hang}, spec);
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(54);
  EXPECT_THAT(world.of<WorkerSuspected>(), IsEmpty());
  EXPECT_EQ(world.done(), 98);
  world.pass_to(60);
  ASSERT_THAT(world.reported(WorkerFact::Exited), SizeIs(1));
  EXPECT_EQ(world.reported(WorkerFact::Exited)[0].first, 55);
}

TEST(WorkerFaults, AHungWorkerEndsOnlyByTheKillAfterItsGrace) {
  scenarios::Timing timing;
  timing.stop = Duration::seconds(2);
  WorldHarness world = two_workers({worker_fault(10, FaultKind::Hang, 1)}, train(2), timing);
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(12);
  world.stop(1, 0, Duration::seconds(30));
  world.stop(1, 1, Duration::seconds(30));
  world.pass_to(60);
  const auto exits = world.reported(WorkerFact::Exited);
  ASSERT_THAT(exits, SizeIs(2));
  EXPECT_EQ(exits[0].first, 14);
  EXPECT_EQ(exits[0].second.first, Rank{0});
  EXPECT_EQ(exits[1].first, 42);
  EXPECT_EQ(exits[1].second.first, Rank{1});
}

TEST(WorkerFaults, AKillEndsAHungWorkerAtOnce) {
  WorldHarness world = two_workers({worker_fault(10, FaultKind::Hang, 1)});
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(12);
  world.stop(1, 1, Duration::seconds(30));
  world.pass_to(20);
  EXPECT_THAT(world.reported(WorkerFact::Exited), IsEmpty());
  world.stop(1, 1, Duration::zero());
  world.pass_to(21);
  EXPECT_THAT(world.reported(WorkerFact::Exited), SizeIs(1));
}

TEST(WorkerFaults, WhatAHungWorkerCouldNotSaveIsLost) {
  scenarios::Timing timing;
  timing.checkpoint_interval = Duration::seconds(8);
  WorldHarness world = two_workers({worker_fault(10, FaultKind::Hang, 1)}, train(2), timing);
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(12);
  world.stop(1, 0, Duration::seconds(30));
  world.stop(1, 1, Duration::seconds(30));
  world.pass_to(60);
  EXPECT_EQ(world.job().done, 16);
  EXPECT_EQ(world.job().lost, 4);
}

TEST(WorkerFaults, ASlowWorkerSlowsItsWholeJob) {
  scenarios::Fault slow = worker_fault(10, FaultKind::Slow, 1);
  slow.factor = 4;
  slow.lasting = Duration::seconds(20);
  WorldHarness world = two_workers({slow});
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(30);
  EXPECT_EQ(world.done(), 30) << "20 before, then 20 s at a quarter of the rate";
  world.pass_to(40);
  EXPECT_EQ(world.done(), 50);
  const auto told = world.of<ProgressReported>();
  ASSERT_THAT(told, SizeIs(3));
  EXPECT_EQ(told[1].first, 10);
  EXPECT_EQ(told[1].second.rate, 0.5);
  EXPECT_EQ(told[2].first, 30);
  EXPECT_EQ(told[2].second.rate, 2);
}

TEST(WorkerFaults, AStragglerIsSuspectedOnce) {
  JobSpec spec = train(3);
  spec.failover.edit().straggler_factor = 2;
  std::vector<scenarios::Fault> faults;
  for (const double factor : {1.5, 3.0, 4.0}) {
    faults.push_back(worker_fault(10 * factor, FaultKind::Slow, 2));
    faults.back().factor = factor;
  }
  WorldHarness world(four_nodes(faults), {modelled(spec, 1000)});
  world.pass_to(0);
  world.start(1, 0, 2);
  world.pass_to(100);
  ASSERT_THAT(world.of<WorkerSuspected>(), SizeIs(1));
  EXPECT_EQ(world.of<WorkerSuspected>()[0].first, 30);
  EXPECT_EQ(world.of<WorkerSuspected>()[0].second.rank, Rank{2});
  EXPECT_EQ(world.of<WorkerSuspected>()[0].second.suspicion, Suspicion::Straggling);
}

TEST(WorkerFaults, AllWorkersAsSlowAreNoStragglers) {
  JobSpec spec = train(2);
  spec.failover.edit().straggler_factor = 2;
  std::vector<scenarios::Fault> faults{worker_fault(10, FaultKind::Slow, 0),
                                       worker_fault(10, FaultKind::Slow, 1)};
  for (scenarios::Fault& fault : faults) fault.factor = 3;
  // The first one stands out until the second is as slow, at the same instant.
  std::swap(faults[0].worker, faults[1].worker);
  WorldHarness world = two_workers({faults[0], faults[1]}, spec);
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(20);
  EXPECT_LE(world.of<WorkerSuspected>().size(), 1u);
  EXPECT_EQ(world.job().rate, 2.0 / 3);
}

TEST(WorkerFaults, ANodeThatFailsSlowlySlowsWorkersThatStartThere) {
  scenarios::Fault slow = node_fault(10, FaultKind::Slow, 1, Duration::seconds(30));
  slow.factor = 2;
  WorldHarness world = two_workers({slow});
  world.pass_to(20);
  world.start(1, 0, 1);
  world.pass_to(40);
  EXPECT_EQ(world.done(), 20);
  world.pass_to(50);
  EXPECT_EQ(world.done(), 40);
}

TEST(WorkerFaults, AKilledJobGoesBackToItsLastCheckpoint) {
  scenarios::Timing timing;
  timing.checkpoint_interval = Duration::seconds(8);
  WorldHarness world = two_workers({}, train(2), timing);
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(20);
  world.stop(1, 0, Duration::zero());
  world.stop(1, 1, Duration::zero());
  world.pass_to(21);
  EXPECT_EQ(world.job().done, 32);
  EXPECT_EQ(world.job().lost, 8);
}

TEST(WorkerFaults, AJobThatIsStoppedWithGraceLosesNothing) {
  scenarios::Timing timing;
  timing.checkpoint_interval = Duration::seconds(8);
  WorldHarness world = two_workers({}, train(2), timing);
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(20);
  world.stop(1, 0, Duration::seconds(1));
  world.stop(1, 1, Duration::seconds(1));
  world.pass_to(21);
  EXPECT_EQ(world.job().done, 40);
  EXPECT_EQ(world.job().lost, 0);
}

TEST(WorkerFaults, AFaultWithoutItsWorkerIsTold) {
  WorldHarness world = two_workers({worker_fault(20, FaultKind::Crash, 5)});
  world.pass_to(0);
  world.start(1, 0, 1);
  world.pass_to(20);
  EXPECT_THAT(world.world.warnings(), SizeIs(1));
}

}  // namespace
}  // namespace orrery::tests
