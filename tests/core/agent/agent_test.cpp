#include "core/agent/agent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "core/agent/shim_fence.hpp"
#include "core/agent/worker_reports.hpp"
#include "tests/core/agent/agent_builders.hpp"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

AgentSettings settings() {
  AgentSettings out = AgentSettings::of(NodeId{0}, 1, Settings{});
  out.workers_max = 4;
  return out;
}

/// An agent and what it last said.
class AgentTest : public ::testing::Test {
 protected:
  /// Steps and keeps only what this step gave.
  const AgentOutput& step(const AgentEvent& event, double seconds) {
    out_.clear();
    agent_.step(event, at(seconds), out_);
    pack_reports(out_.reports);
    return out_;
  }

  void lease(double seconds) { step(LeaseRenewed{Epoch{1}, at(seconds)}, seconds); }

  void run_ready(std::uint32_t job, std::uint32_t count, double seconds) {
    step(command(start_ranks(job, 1, count)), seconds);
    for (std::uint32_t i = 0; i < count; ++i) step(WorkerReady{worker(job, i)}, seconds);
  }

  std::vector<WorkerSignal> signals() const {
    std::vector<WorkerSignal> found;
    for (const AgentAction& action : out_.actions)
      if (const auto* signal = std::get_if<SignalWorker>(&action)) found.push_back(signal->signal);
    return found;
  }

  std::size_t spawns() const {
    std::size_t count = 0;
    for (const AgentAction& action : out_.actions)
      count += std::holds_alternative<SpawnWorker>(action) ? 1 : 0;
    return count;
  }

  std::vector<AgentNote> notes() const {
    std::vector<AgentNote> found;
    for (const AgentNotice& notice : out_.notices) found.push_back(notice.note);
    return found;
  }

  Agent agent_{settings()};
  AgentOutput out_;
};

TEST_F(AgentTest, WordOfAProcessThatItDoesNotAnswerForIsNoted) {
  lease(0);
  for (const AgentEvent& word : {AgentEvent{WorkerReady{worker(7, 0)}},
                                 AgentEvent{WorkerRuns{worker(7, 0), Generation{1}}},
                                 AgentEvent{WorkerExited{worker(7, 0), 1}},
                                 AgentEvent{WorkerVanished{worker(7, 0)}},
                                 AgentEvent{SpawnFailed{worker(7, 0), kNotFound}},
                                 AgentEvent{SubMasterSpoke{worker(7, 0), RoleIndex{0}, 1}}}) {
    step(word, 1);
    EXPECT_THAT(notes(), ElementsAre(AgentNote::UnknownWorker));
    EXPECT_THAT(out_.reports, IsEmpty());
    EXPECT_THAT(out_.said, IsEmpty());
  }
}

TEST_F(AgentTest, AWordForASubMasterThatIsNotHereIsNoted) {
  lease(0);
  run_ready(7, 1, 1);
  TellSubMaster word{JobId{7}, RoleIndex{1}, RoleIndex{0}, NodeId{0}, Incarnation{2}, 1};
  step(command(word), 2);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::NotRunning)) << "that start of it";
  word.incarnation = Incarnation{1};
  step(command(word), 2);
  EXPECT_THAT(notes(), IsEmpty());
  ASSERT_THAT(out_.actions, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<PassToSubMaster>(out_.actions[0]));
}

TEST_F(AgentTest, AHelloOfOneThatIsBeingStoppedDoesNotBringItBack) {
  lease(0);
  step(command(start_ranks(7, 1, 1)), 1);
  step(WorkerRuns{worker(7, 0), Generation{1}}, 1);
  step(command(stop_rank(7, 1, 0, Duration::seconds(2))), 2);
  step(WorkerReady{worker(7, 0)}, 3);
  EXPECT_THAT(out_.reports, IsEmpty());
  step(TimePassed{}, 4);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill)) << "its grace is over all the same";
}

TEST_F(AgentTest, SpawnsWhatIsOrderedAndReportsItReadyAsOneRange) {
  lease(0);
  step(command(start_ranks(7, 1, 3)), 1);
  EXPECT_EQ(spawns(), 3U);
  EXPECT_THAT(out_.reports, IsEmpty());
  AgentOutput all;
  for (const std::uint32_t n : {2U, 0U, 1U}) agent_.step(WorkerReady{worker(7, n)}, at(1), all);
  pack_reports(all.reports);
  ASSERT_THAT(all.reports, SizeIs(1));
  EXPECT_EQ(all.reports[0].fact, WorkerFact::Ready);
  EXPECT_EQ(all.reports[0].first, Rank{0});
  EXPECT_EQ(all.reports[0].count, 3U);
}

TEST_F(AgentTest, StartingWhatRunsOnlyRepeatsItsLastReport) {
  lease(0);
  run_ready(7, 1, 1);
  step(command(start_ranks(7, 1, 1)), 2);
  EXPECT_EQ(spawns(), 0U);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::AlreadyRunning));
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(out_.reports[0].fact, WorkerFact::Ready);
}

TEST_F(AgentTest, WhoSaysNoHelloIsReportedRunningWithTheMembershipOfItsEnvironment) {
  lease(0);
  step(command(start_ranks(7, 1, 2)), 1);
  step(WorkerRuns{worker(7, 0), Generation{1}}, 1);
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(out_.reports[0].fact, WorkerFact::Running);
  EXPECT_EQ(out_.reports[0].environment, Generation{1});
  step(WorkerReady{worker(7, 1)}, 1);
  step(Connected{}, 2);
  ASSERT_THAT(out_.reports, SizeIs(2)) << "repeated as they were to a new leader";
  EXPECT_EQ(out_.reports[0].fact, WorkerFact::Running);
  EXPECT_EQ(out_.reports[1].fact, WorkerFact::Ready);
  step(WorkerReady{worker(7, 0)}, 3);
  ASSERT_THAT(out_.reports, SizeIs(1)) << "it has said hello";
  EXPECT_EQ(out_.reports[0].fact, WorkerFact::Ready);
  step(WorkerRuns{worker(7, 0), Generation{1}}, 3);
  step(WorkerReady{worker(7, 0)}, 3);
  EXPECT_THAT(out_.reports, IsEmpty());
}

TEST_F(AgentTest, AWorkersStoryIsPackedInItsOrder) {
  std::vector<WorkersChanged> story;
  for (const WorkerFact fact : {WorkerFact::Exited, WorkerFact::Ready, WorkerFact::Running}) {
    WorkersChanged report{JobId{7}, Generation{1}, Incarnation{1}, fact, Rank{0}, 1, 0};
    if (fact == WorkerFact::Running) report.environment = Generation{1};
    story.push_back(report);
  }
  pack_reports(story);
  ASSERT_THAT(story, SizeIs(3));
  EXPECT_EQ(story[0].fact, WorkerFact::Running);
  EXPECT_EQ(story[1].fact, WorkerFact::Ready);
  EXPECT_EQ(story[2].fact, WorkerFact::Exited);
}

TEST_F(AgentTest, WhyAProgramCannotBeRunIsReportedAndRepeated) {
  lease(0);
  step(command(start_ranks(7, 1, 1)), 1);
  step(SpawnFailed{worker(7, 0), kNotFound, "no such program"}, 1);
  for (const int again : {2, 3}) {
    ASSERT_THAT(out_.reports, SizeIs(1));
    EXPECT_EQ(out_.reports[0].fact, WorkerFact::LaunchFailed);
    EXPECT_EQ(out_.reports[0].exit_code, kNotFound);
    EXPECT_EQ(out_.reports[0].why, "no such program");
    step(command(start_ranks(7, 1, 1)), again);
  }
}

TEST_F(AgentTest, StartingWhatHasEndedRepeatsTheEndAndStartsNothing) {
  lease(0);
  run_ready(7, 1, 1);
  step(WorkerExited{worker(7, 0), 3}, 2);
  step(command(start_ranks(7, 1, 1)), 3);
  EXPECT_EQ(spawns(), 0U);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::AlreadyEnded));
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(out_.reports[0].fact, WorkerFact::Exited);
  EXPECT_EQ(out_.reports[0].exit_code, 3);
}

TEST_F(AgentTest, CleaningAJobLeavesTheGraceOfWhoWasAskedToStop) {
  lease(0);
  run_ready(7, 2, 1);
  step(command(stop_rank(7, 1, 0, Duration::seconds(7))), 2);
  step(command(CleanJob{JobId{7}, CleanPodPolicy::Running}), 2);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Ask)) << "the other one";
  step(TimePassed{}, 7);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill)) << "its clean grace is over";
  lease(7);
  step(TimePassed{}, 9);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill));
}

TEST_F(AgentTest, WhatVanishedIsReportedLost) {
  lease(0);
  run_ready(7, 1, 1);
  step(WorkerVanished{worker(7, 0)}, 2);
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(out_.reports[0].fact, WorkerFact::Lost);
  step(WorkerVanished{worker(7, 0)}, 2);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::UnknownWorker));
}

TEST_F(AgentTest, QuietHeartbeatsShareOneList) {
  lease(0);
  run_ready(7, 2, 1);
  const RunningWorker* first = agent_.complete_list().get().data();
  step(TimePassed{}, 4);
  ASSERT_TRUE(out_.heartbeat.has_value());
  EXPECT_EQ(out_.heartbeat->workers.get().data(), first);
}

TEST_F(AgentTest, LooksOnlyAtItsOwnNode) {
  lease(0);
  StartWorkers order = start_ranks(7, 1, 2);
  order.workers[1].node = NodeId{1};
  step(command(order), 1);
  EXPECT_EQ(spawns(), 1U);
}

TEST_F(AgentTest, StopAsksAndKillsWhenTheGraceIsOver) {
  lease(0);
  run_ready(7, 1, 1);
  step(command(stop_rank(7, 1, 0, Duration::seconds(3))), 2);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Ask));
  lease(4);
  EXPECT_LE(agent_.next_deadline(), at(5));
  step(TimePassed{}, 5);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill));
  step(WorkerExited{worker(7, 0), 137}, 5.5);
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(out_.reports[0].exit_code, 137);
}

TEST_F(AgentTest, StopWithoutGraceKillsAtOnce) {
  lease(0);
  run_ready(7, 1, 1);
  step(command(stop_rank(7, 1, 0, Duration::zero())), 2);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill));
}

TEST_F(AgentTest, AKillThatDoesNotWorkIsRepeated) {
  lease(0);
  run_ready(7, 1, 1);
  step(command(stop_rank(7, 1, 0, Duration::zero())), 2);
  lease(6);
  step(TimePassed{}, 7);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill));
}

TEST_F(AgentTest, StopOfWhatDoesNotRunIsReportedAsItsLoss) {
  lease(0);
  step(command(stop_rank(7, 1, 5, Duration::seconds(1))), 1);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::NotRunning));
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(out_.reports[0].fact, WorkerFact::Lost);
  EXPECT_EQ(out_.reports[0].first, Rank{5});
}

TEST_F(AgentTest, AnOlderEpochIsRefusedByNameAndANewerOneAdopted) {
  step(LeaseRenewed{Epoch{4}, at(0)}, 0);
  step(command(start_ranks(7, 1, 1), 3), 1);
  EXPECT_EQ(spawns(), 0U);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::StaleEpoch));
  step(LeaseRenewed{Epoch{3}, at(1)}, 1);
  EXPECT_EQ(agent_.lease_until(), at(8));
  step(command(start_ranks(7, 1, 1), 5), 1);
  EXPECT_EQ(agent_.epoch(), Epoch{5});
  EXPECT_EQ(spawns(), 1U);
  ASSERT_TRUE(out_.heartbeat.has_value());
  EXPECT_TRUE(out_.heartbeat->registers);
  EXPECT_THAT(out_.heartbeat->workers, SizeIs(1));
}

TEST_F(AgentTest, NothingStartsWithoutALease) {
  step(command(start_ranks(7, 1, 1)), 1);
  EXPECT_EQ(spawns(), 0U);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::NoLease));
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(out_.reports[0].fact, WorkerFact::LaunchFailed);
}

TEST_F(AgentTest, FencesItselfBeforeTheControllersDeadlineAndSaysSo) {
  lease(0);
  run_ready(7, 2, 1);
  EXPECT_EQ(agent_.lease_until(), at(8));
  step(TimePassed{}, 8);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill, WorkerSignal::Kill));
  EXPECT_THAT(notes(), ElementsAre(AgentNote::Fenced, AgentNote::Fenced));
  EXPECT_FALSE(agent_.holds_lease());
  ASSERT_TRUE(out_.heartbeat.has_value());
  EXPECT_TRUE(out_.heartbeat->registers);
  step(WorkerExited{worker(7, 0), 137}, 8);
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(out_.reports[0].fact, WorkerFact::Lost) << "no crash of the worker's own";
}

TEST_F(AgentTest, TheLeaseRunsFromTheSendingOfTheHeartbeat) {
  step(LeaseRenewed{Epoch{1}, at(0)}, 5);
  EXPECT_EQ(agent_.lease_until(), at(8));
  step(LeaseRenewed{Epoch{1}, at(0)}, 9);
  EXPECT_FALSE(agent_.holds_lease()) << "an answer later than the lease gives none";
}

TEST_F(AgentTest, ANewStartOfASlotWaitsForTheEndOfTheOldOne) {
  lease(0);
  run_ready(7, 1, 1);
  step(command(start_ranks(7, 2, 1, 2)), 2);
  EXPECT_EQ(spawns(), 0U);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill));
  EXPECT_THAT(agent_.complete_list(), SizeIs(2));
  step(WorkerExited{worker(7, 0), 137}, 3);
  EXPECT_EQ(spawns(), 1U);
  step(command(start_ranks(7, 1, 1, 1)), 4);
  EXPECT_EQ(spawns(), 0U);
  step(command(start_ranks(7, 1, 1, 0)), 4);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::StaleIncarnation));
  EXPECT_EQ(spawns(), 0U);
}

// Else an agent that finds its process later reports a start that no controller knows.
TEST_F(AgentTest, AStartThatWaitedKeepsTheGenerationOfItsBirth) {
  lease(0);
  run_ready(7, 1, 1);
  step(command(start_ranks(7, 2, 1, 2)), 2);
  step(command(UpdateMembership{JobId{7}, Generation{3}, 1, {start_of(worker(7, 0, 2), 0)}}), 3);
  EXPECT_EQ(spawns(), 0U) << "the one before has not ended";
  step(WorkerExited{worker(7, 0), 137}, 4);
  ASSERT_EQ(spawns(), 1U);
  const auto spawn = std::find_if(out_.actions.begin(), out_.actions.end(), [](const auto& action) {
    return std::holds_alternative<SpawnWorker>(action);
  });
  EXPECT_EQ(std::get<SpawnWorker>(*spawn).born, Generation{2});
  EXPECT_EQ(std::get<SpawnWorker>(*spawn).generation, Generation{3});
  step(WorkerExited{worker(7, 0, 2), 0}, 5);
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(out_.reports[0].generation, Generation{2});
}

TEST_F(AgentTest, RefusesMoreThanItsBound) {
  lease(0);
  step(command(start_ranks(7, 1, 6)), 1);
  EXPECT_EQ(spawns(), 4U);
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(out_.reports[0].fact, WorkerFact::LaunchFailed);
  EXPECT_EQ(out_.reports[0].first, Rank{4});
  EXPECT_EQ(out_.reports[0].count, 2U);
}

TEST_F(AgentTest, IsOrderedByTheNewMembershipAndReportsByBirth) {
  lease(0);
  run_ready(7, 3, 1);
  const UpdateMembership update{
      JobId{7}, Generation{2}, 2, {start_of(worker(7, 1), 0), start_of(worker(7, 2), 1)}};
  step(command(update), 2);
  EXPECT_THAT(out_.actions, SizeIs(2));
  step(command(stop_rank(7, 2, 0, Duration::zero())), 3);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill));
  step(WorkerExited{worker(7, 1), 137}, 3);
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(out_.reports[0].generation, Generation{1});
  EXPECT_EQ(out_.reports[0].first, Rank{1});
  step(command(stop_rank(7, 1, 0, Duration::zero())), 3);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill))
      << "a worker that left keeps the old generation";
}

TEST_F(AgentTest, CleaningEndsWhatStillRunsUnlessThePolicyKeepsIt) {
  lease(0);
  run_ready(7, 1, 1);
  step(command(CleanJob{JobId{7}, CleanPodPolicy::None}), 2);
  EXPECT_THAT(out_.actions, IsEmpty());
  step(command(CleanJob{JobId{7}, CleanPodPolicy::Running}), 3);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Ask));
}

TEST_F(AgentTest, RepeatsEndsAndReadinessWhenAControllerTakesOver) {
  lease(0);
  run_ready(7, 2, 1);
  step(WorkerExited{worker(7, 1), 0}, 2);
  step(EpochAnnounced{Epoch{2}}, 3);
  ASSERT_TRUE(out_.heartbeat.has_value());
  EXPECT_TRUE(out_.heartbeat->registers);
  EXPECT_EQ(out_.heartbeat->epoch, Epoch{2});
  ASSERT_THAT(out_.reports, SizeIs(2));
  EXPECT_EQ(out_.reports[0].fact, WorkerFact::Ready);
  EXPECT_EQ(out_.reports[1].fact, WorkerFact::Exited);
  step(LeaseRenewed{Epoch{2}, at(3)}, 4);
  step(TimePassed{}, 5.5);
  ASSERT_TRUE(out_.heartbeat.has_value());
  EXPECT_FALSE(out_.heartbeat->registers);
  EXPECT_THAT(out_.reports, IsEmpty());
}

TEST_F(AgentTest, SaysWhoseFaultAnEndIsAndRepeatsIt) {
  const Diagnosis said{Blame::Peer, RoleIndex{1}, 2, "it hung up"};
  lease(0);
  run_ready(7, 2, 1);
  step(WorkerExited{worker(7, 0), 0, said}, 2);
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(*out_.reports[0].diagnosis, Diagnosis{}) << "it has succeeded";
  step(WorkerExited{worker(7, 1), 3, said}, 2);
  ASSERT_THAT(out_.reports, SizeIs(1));
  EXPECT_EQ(*out_.reports[0].diagnosis, said);
  step(EpochAnnounced{Epoch{2}}, 3);
  ASSERT_THAT(out_.reports, SizeIs(2));
  EXPECT_EQ(*out_.reports[0].diagnosis, Diagnosis{});
  EXPECT_EQ(*out_.reports[1].diagnosis, said);
}

TEST_F(AgentTest, EndsOfWorkersThatBlameOthersAreNotOneRange) {
  WorkersChanged first{JobId{7}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 1, 3};
  first.diagnosis = Diagnosis{Blame::Node, {}, 0, ""};
  WorkersChanged second = first;
  second.first = Rank{1};
  WorkersChanged third = first;
  third.first = Rank{2};
  third.diagnosis = Diagnosis{Blame::Mine, {}, 0, ""};
  std::vector<WorkersChanged> reports{third, second, first};
  pack_reports(reports);
  ASSERT_THAT(reports, SizeIs(2));
  for (const WorkersChanged& report : reports)
    EXPECT_EQ(report.count, report.diagnosis->blame == Blame::Node ? 2U : 1U);
}

TEST_F(AgentTest, RemembersAsManyEndsAsItsBoundAndForgetsTheOldest) {
  AgentSettings two = settings();
  two.ended_max = 2;
  agent_ = Agent(two);
  lease(0);
  run_ready(7, 3, 1);
  for (const std::uint32_t n : {1U, 0U}) step(WorkerExited{worker(7, n), 0}, 2);
  step(EpochAnnounced{Epoch{2}}, 3);
  ASSERT_THAT(out_.reports, SizeIs(2)) << "that rank 2 is ready, and both ends in one range";
  EXPECT_EQ(out_.reports[1].fact, WorkerFact::Exited);
  EXPECT_EQ(out_.reports[1].count, 2U);
  step(WorkerExited{worker(7, 2), 0}, 4);
  step(EpochAnnounced{Epoch{3}}, 5);
  ASSERT_THAT(out_.reports, SizeIs(2));
  EXPECT_EQ(out_.reports[0].first, Rank{0});
  EXPECT_EQ(out_.reports[1].first, Rank{2}) << "rank 1 ended first";
}

TEST_F(AgentTest, ARestartedAgentAdoptsTheNewestStartOfEachSlot) {
  AgentRestarted found;
  found.epoch = Epoch{3};
  found.lease_until = at(20);
  for (const std::uint32_t incarnation : {2U, 1U}) {
    AgentWorker living;
    living.name = worker(7, 0, incarnation);
    living.generation = Generation{incarnation};
    living.rank = Rank{0};
    living.state = AgentWorkerState::Ready;
    found.living.push_back(living);
  }
  step(found, 15);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::Adopted, AgentNote::Replaced));
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill));
  ASSERT_TRUE(out_.heartbeat.has_value());
  EXPECT_TRUE(out_.heartbeat->registers);
  EXPECT_THAT(out_.heartbeat->workers, SizeIs(2));
}

// Membership 9 moved the first start of the job into a slot where a later start had failed.
TEST_F(AgentTest, ARestartedAgentKeepsAWorkerThatMovedToWhereALaterStartEnded) {
  AgentRestarted found;
  found.epoch = Epoch{3};
  found.lease_until = at(20);
  AgentWorker living;
  living.name = worker(7, 1, 1);
  living.generation = Generation{9};
  living.rank = Rank{0};
  living.state = AgentWorkerState::Ready;
  found.living.push_back(living);
  AgentWorker stale = living;
  stale.name = worker(7, 0, 5);
  stale.generation = Generation{6};
  found.living.push_back(stale);
  EndedWorker ended;
  ended.name = worker(7, 0, 3);
  ended.generation = Generation{4};
  ended.fact = WorkerFact::LaunchFailed;
  found.ended.push_back(ended);
  step(found, 15);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::Adopted, AgentNote::Replaced));
  ASSERT_THAT(signals(), ElementsAre(WorkerSignal::Kill));
  EXPECT_EQ(std::get<SignalWorker>(out_.actions.front()).worker, stale.name);
}

TEST_F(AgentTest, AnAgentThatRestartsTooLateKillsWhatItFinds) {
  AgentRestarted found;
  found.lease_until = at(10);
  AgentWorker living;
  living.name = worker(7, 0);
  living.state = AgentWorkerState::Ready;
  found.living.push_back(living);
  step(found, 11);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill));
  EXPECT_FALSE(agent_.holds_lease());
}

TEST_F(AgentTest, WordOfAStrangerIsRefusedByName) {
  step(WorkerExited{worker(9, 0), 0}, 1);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::UnknownWorker));
  EXPECT_THAT(out_.reports, IsEmpty());
}

TEST(ShimFence, KillsFromTheEndOfTheLastLeaseOn) {
  ShimFence fence;
  EXPECT_TRUE(fence.must_kill(at(0)));
  fence.renew(Epoch{2}, at(8));
  fence.renew(Epoch{1}, at(20));
  EXPECT_FALSE(fence.must_kill(at(7.9)));
  EXPECT_TRUE(fence.must_kill(at(8)));
  fence.renew(Epoch{2}, at(12));
  EXPECT_FALSE(fence.must_kill(at(9)));
}

TEST(WorkerReports, ArePackedIntoRangesPerJobGenerationAndFact) {
  const auto report = [](std::uint32_t job, std::uint32_t rank, WorkerFact fact) {
    return WorkersChanged{JobId{job}, Generation{1}, Incarnation{1}, fact, Rank{rank}, 1, 0};
  };
  std::vector<WorkersChanged> reports{report(2, 1, WorkerFact::Exited),
                                      report(1, 3, WorkerFact::Ready),
                                      report(1, 1, WorkerFact::Ready),
                                      report(1, 2, WorkerFact::Ready),
                                      report(1, 2, WorkerFact::Ready),
                                      report(1, 5, WorkerFact::Ready)};
  pack_reports(reports);
  ASSERT_THAT(reports, SizeIs(3));
  EXPECT_EQ(reports[0].first, Rank{1});
  EXPECT_EQ(reports[0].count, 3U);
  EXPECT_EQ(reports[1].first, Rank{5});
  EXPECT_EQ(reports[2].job, JobId{2});
}

// A process in uninterruptible sleep: its job must not wait for it, nor its slot be taken here.
TEST_F(AgentTest, WhoIsKilledAndHeldByTheKernelIsReportedLostAndListedNoMore) {
  lease(0);
  run_ready(7, 1, 1);
  step(WorkerStuck{worker(7, 0)}, 2);
  EXPECT_THAT(notes(), ElementsAre(AgentNote::UnknownWorker)) << "it was not killed";
  step(command(start_ranks(7, 2, 1, 2)), 3);
  EXPECT_THAT(signals(), ElementsAre(WorkerSignal::Kill)) << "replaced";
  EXPECT_EQ(agent_.complete_list().size(), 2U);
  step(WorkerStuck{worker(7, 0)}, 4);
  EXPECT_THAT(notes(), ::testing::Contains(AgentNote::Stuck));
  const auto lost = std::find_if(out_.reports.begin(), out_.reports.end(), [](const auto& report) {
    return report.fact == WorkerFact::Lost;
  });
  ASSERT_NE(lost, out_.reports.end());
  EXPECT_EQ(agent_.complete_list().size(), 1U);
  EXPECT_EQ(spawns(), 0U) << "its slot is not free here";
  step(Connected{}, 5);
  EXPECT_TRUE(std::any_of(out_.reports.begin(), out_.reports.end(), [](const auto& report) {
    return report.fact == WorkerFact::Lost;
  })) << "reported again to a new leader";
  step(WorkerExited{worker(7, 0), 137}, 6);
  EXPECT_EQ(spawns(), 1U) << "now it is";
  for (const WorkersChanged& report : out_.reports) EXPECT_NE(report.fact, WorkerFact::Exited);
}

}  // namespace
}  // namespace orrery
