// From submission to the end: gangs, readiness, completion, followers, clean-up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/job/phase.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::ElementsAre;

constexpr JobPhase kPhases[] = {JobPhase::Pending,
                                JobPhase::Starting,
                                JobPhase::Running,
                                JobPhase::Rescheduling,
                                JobPhase::Restarting,
                                JobPhase::Unknown,
                                JobPhase::Succeeded,
                                JobPhase::Failed};

TEST(Phases, FinalOnesHaveNoWayOut) {
  for (const JobPhase to : kPhases) {
    EXPECT_FALSE(is_legal(JobPhase::Succeeded, to));
    EXPECT_FALSE(is_legal(JobPhase::Failed, to));
    EXPECT_FALSE(is_legal(to, to));
  }
}

TEST(Phases, RunningIsReachedThroughStartingOrRegainedContactOnly) {
  for (const JobPhase from : kPhases)
    EXPECT_EQ(is_legal(from, JobPhase::Running),
              from == JobPhase::Starting || from == JobPhase::Unknown)
        << to_string(from);
}

TEST(Lifecycle, AShortLife) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(4));
  h.plan(grant(id, 4));
  h.settle();
  for (int i = 0; i < 4; ++i) h.succeed(id, h.cluster.processes[0].rank.value);
  EXPECT_THAT(
      h.path(id),
      ElementsAre(JobPhase::Pending, JobPhase::Starting, JobPhase::Running, JobPhase::Succeeded));
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 4);
  EXPECT_EQ(h.row(id).restarts, 0u);
}

TEST(Lifecycle, AllWorkersStartTogetherOrNone) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId small = h.running(job("small").replicas(2), 2);
  const JobId id = h.submit(job("a").replicas(7));
  h.plan(grant(id, 7));
  EXPECT_EQ(h.phase(id), JobPhase::Pending);
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 1u);
  EXPECT_FALSE(h.row(id).holds);
  h.succeed(small, 0);
  h.succeed(small, 1);
  h.plan(grant(id, 7));
  ASSERT_NE(h.order<StartWorkers>(), nullptr);
  EXPECT_EQ(h.order<StartWorkers>()->workers.size(), 7u);
}

TEST(Lifecycle, RunningOnceTheLastWorkerIsReady) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(2));
  h.plan(grant(id, 2));
  h.make_ready(id, 0);
  EXPECT_EQ(h.phase(id), JobPhase::Starting);
  h.make_ready(id, 1);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.job(id).ready, 2u);
}

TEST(Lifecycle, RanksFollowRolesAndLocalRanksCountInsideThem) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.submit(job("a").replicas(2).role("collector", 3));
  h.plan(grant(id, 2));
  const StartWorkers& start = *h.order<StartWorkers>();
  ASSERT_EQ(start.workers.size(), 5u);
  const std::int32_t local[] = {0, 1, 0, 1, 2};
  for (std::uint32_t r = 0; r < 5; ++r) {
    EXPECT_EQ(start.workers[r].rank, Rank{r});
    EXPECT_EQ(start.workers[r].role, RoleIndex{static_cast<std::uint16_t>(r < 2 ? 0 : 1)});
    EXPECT_EQ(start.workers[r].local_rank, local[r]);
  }
}

TEST(Lifecycle, RolesThatDoNotFitTogetherHoldNothing) {
  ControllerHarness h({nodes_of(1, 5)});
  h.running(job("first"), 1);
  const JobId id = h.submit(job("a").replicas(2).role("big", 1, 3));
  EXPECT_FALSE(h.row(id).infeasible) << "the node is large enough, and each role by itself fits";
  h.plan(grant(id, 2));
  EXPECT_FALSE(h.row(id).holds);
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 4);
}

TEST(Lifecycle, FollowersAreDrainedWhenAllOthersHaveSucceeded) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").follower("eval", 2), 1);
  h.succeed(id, 0);
  EXPECT_EQ(h.phase(id), JobPhase::Succeeded);
  ASSERT_NE(h.order<StopWorkers>(), nullptr);
  EXPECT_EQ(h.order<StopWorkers>()->workers.size(), 2u);
  EXPECT_NE(h.order<CleanJob>(), nullptr);
  h.stop_all();
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 4);
}

TEST(Lifecycle, AFollowerThatEndsFirstChangesNothing) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").follower("eval", 1), 1);
  h.succeed(id, 1);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  h.succeed(id, 0);
  EXPECT_EQ(h.phase(id), JobPhase::Succeeded);
}

TEST(Lifecycle, CleanPolicyNoneLetsFollowersRunOnAndKeepsTheirDevices) {
  Settings settings;
  settings.retain_finished = Duration::seconds(10);
  ControllerHarness h({nodes_of(1, 4)}, settings);
  const JobId id = h.running(job("a").follower("eval", 1).clean(CleanPodPolicy::None), 1);
  h.succeed(id, 0);
  EXPECT_EQ(h.phase(id), JobPhase::Succeeded);
  EXPECT_EQ(h.order<StopWorkers>(), nullptr);
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 3);
  h.pass(Duration::seconds(100));
  h.step(TimeReached{});
  ASSERT_NE(h.controller.state().find(id), nullptr) << "not forgotten while a worker runs";
  h.succeed(id, 1);
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 4);
  h.step(TimeReached{});
  EXPECT_EQ(h.controller.state().find(id), nullptr);
}

TEST(Lifecycle, StopEndsAJobInEveryPhase) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId waiting = h.submit(job("waiting"));
  const JobId starting = h.submit(job("starting").replicas(2));
  h.plan(grant(starting, 2));
  const JobId running = h.submit(job("running").replicas(2));
  h.plan(grant(running, 2));
  h.make_ready(running, 0);
  h.make_ready(running, 1);
  for (const JobId id : {waiting, starting, running}) {
    h.step(StopRequested{1, id});
    EXPECT_TRUE(h.last_answer().accepted);
    EXPECT_EQ(h.phase(id), JobPhase::Failed);
    EXPECT_EQ(h.job(id).reason, Reason::StoppedByUser);
  }
  h.stop_all();
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 8);
  h.step(StopRequested{1, running});
  EXPECT_FALSE(h.last_answer().accepted);
  EXPECT_EQ(h.reports_ignored(Ignored::JobFinished), 1u);
}

TEST(Lifecycle, StopInTheMiddleOfAChangeGivesBackWhatWasClaimed) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(2, 6), 2);
  h.plan(grant(id, 6));
  ASSERT_EQ(h.phase(id), JobPhase::Starting);
  const JobId restart = h.submit(job("b").elastic(1, 2).rescale(RescaleMode::Restart));
  h.plan(grant(restart, 1));
  h.make_ready(restart, 0);
  h.plan(grant(restart, 2));
  ASSERT_EQ(h.phase(restart), JobPhase::Rescheduling);
  h.step(StopRequested{0, restart});
  h.step(StopRequested{0, id});
  h.stop_all();
  EXPECT_EQ(h.controller.state().ledger.free().free_devices(), 8);
}

TEST(Lifecycle, OneConditionIsTrueAtATime) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a"), 1);
  const std::vector<Condition>& conditions = h.job(id).conditions;
  ASSERT_EQ(conditions.size(), 3u);
  EXPECT_EQ(conditions[2].phase, JobPhase::Running);
  EXPECT_TRUE(conditions[2].status);
  EXPECT_EQ(conditions[2].reason, Reason::AllReady);
  h.pass(Duration::seconds(5));
  h.fail(id, 0);
  EXPECT_FALSE(h.job(id).conditions[2].status);
  EXPECT_EQ(h.job(id).conditions[2].since, h.now) << "a flipped condition tells when";
}

TEST(Lifecycle, AJobThatHoldsNothingHasNoConditionOfALaterPhase) {
  ControllerHarness h({nodes_of(1, 4)});
  EXPECT_THAT(h.job(h.submit(job("a"))).conditions, testing::SizeIs(1));
}

// Rows of the operator's table for phases Starting and Running: workers failed, whether one was
// deleted, workers scheduled; what the job comes to.
struct Row {
  std::uint32_t failed;
  bool deleted;
  std::uint32_t ready;  ///< Of four.
  JobPhase phase;
  std::uint32_t restarts;
  std::uint32_t reschedules;
};

class WorkerTable : public testing::TestWithParam<Row> {};

TEST_P(WorkerTable, StartingComesTo) {
  const Row row = GetParam();
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").family(JobFamily::Tasks).replicas(4));
  h.plan(grant(id, 4));
  for (std::uint32_t r = 0; r < row.ready; ++r) h.make_ready(id, r);
  for (std::uint32_t r = 0; r < row.failed; ++r) h.fail(id, r);
  if (row.deleted) h.lose(id, 3);
  h.pass(Duration::seconds(2));  // Over the backoff, and over that of what was found then.
  h.pass(Duration::seconds(2));
  EXPECT_EQ(h.phase(id), row.phase);
  EXPECT_EQ(h.row(id).restarts, row.restarts);
  EXPECT_EQ(h.row(id).reschedules, row.reschedules);
}

INSTANTIATE_TEST_SUITE_P(Starting,
                         WorkerTable,
                         testing::Values(Row{0, false, 4, JobPhase::Running, 0, 0},
                                         Row{2, true, 3, JobPhase::Starting, 1, 1},
                                         Row{0, false, 3, JobPhase::Starting, 0, 0},
                                         Row{1, false, 3, JobPhase::Starting, 1, 0},
                                         Row{3, true, 0, JobPhase::Starting, 1, 1},
                                         Row{2, true, 0, JobPhase::Starting, 1, 1}));

// From Running, all four ready.
INSTANTIATE_TEST_SUITE_P(Running,
                         WorkerTable,
                         testing::Values(Row{0, true, 4, JobPhase::Starting, 0, 1},
                                         Row{1, true, 4, JobPhase::Starting, 1, 1},
                                         Row{2, false, 4, JobPhase::Starting, 1, 0}));

}  // namespace
}  // namespace orrery::tests
