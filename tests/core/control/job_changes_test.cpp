// A live job becomes what another file says of it.
#include "core/control/job_changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::HasSubstr;

ScaleRequested set_size(JobId id, std::int32_t replicas) {
  return {7, id, RoleIndex::none(), ScaleMode::Set, replicas, true};
}

JobChanged changed(JobId id, const JobBuilder& wanted) {
  return {7, id, std::make_shared<JobSpec>(wanted.spec())};
}

TEST(Change, WhatTheControllerAloneActsByIsTakenOverAtOnce) {
  Settings settings;
  ControllerHarness h({nodes_of(1, 4)}, settings);
  h.step(QuotasDeclared{{{"group/x", 1}, {"group/y", 4}}});
  JobBuilder before = job("a").replicas(1).group("x");
  const JobId id = h.running(before, 1);
  EXPECT_EQ(h.controller.state().quotas[0].held, 1);
  JobBuilder after = job("a").replicas(1).group("y").priority(100).limit(9);
  after.raw().labels = {{"tier", "gold"}};
  after.raw().drain_grace = Duration::seconds(5);
  after.raw().failover.edit().job_restarts_max = 2;
  h.step(changed(id, after));
  ASSERT_TRUE(h.last_answer().accepted) << h.last_answer().message;
  EXPECT_TRUE(*h.job(id).spec == after.spec());
  EXPECT_EQ(h.row(id).priority, 100);
  EXPECT_EQ(h.controller.state().quotas[0].held, 0);
  EXPECT_EQ(h.controller.state().quotas[1].held, 1);
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).reschedules, 0u) << "its workers know nothing of it";
}

TEST(Change, NamesWhatDiffersFromTheFirstFieldOfARecordOn) {
  const JobSpec has = job("a").spec();
  JobSpec wanted = has;
  wanted.failover.edit().mode =
      has.failover->mode == RecoveryMode{} ? RecoveryMode{1} : RecoveryMode{};
  const auto changes = changes_between(has, wanted);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].field, "failover.mode");
  EXPECT_FALSE(changes[0].in_place);
}

TEST(Change, NamesFieldsAsUsersWriteThem) {
  const JobSpec has = job("a").spec();
  JobSpec wanted = has;
  wanted.worker_family = WorkerFamily::RLinf;
  ASSERT_EQ(changes_between(has, wanted).size(), 1U);
  EXPECT_EQ(changes_between(has, wanted)[0].field, "family");
  EXPECT_FALSE(changes_between(has, wanted)[0].in_place) << "its processes have their variables";
  wanted = has;
  wanted.family = JobFamily::Tasks;
  ASSERT_EQ(changes_between(has, wanted).size(), 1U);
  EXPECT_EQ(changes_between(has, wanted)[0].field, "manifest");
}

TEST(Change, AWaitingJobGoesToItsNewPlaceInTheQueue) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId first = h.submit(job("a"));
  const JobId second = h.submit(job("b"));
  EXPECT_EQ(h.controller.state().waiting.front(), first);
  h.step(changed(second, job("b").priority(100)));
  EXPECT_EQ(h.controller.state().waiting.front(), second);
}

TEST(Change, TellsPoliciesThatAnythingMayHaveChanged) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a"));
  h.controller.take_touched();
  h.step(changed(id, job("a").priority(100)));
  EXPECT_FALSE(h.controller.take_touched().complete);
  EXPECT_TRUE(h.controller.take_touched().complete) << "once";
}

TEST(Change, GoesBackToAnOlderFileAfterScaling) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  h.step(set_size(id, 4));
  h.settle();
  EXPECT_EQ(effective_spec(h.job(id)).roles[0].min_replicas, 4);
  const auto changes = changes_between(effective_spec(h.job(id)), job("a").replicas(2).spec());
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].field, "roles.worker.replicas");
  EXPECT_TRUE(changes[0].in_place);
  h.step(changed(id, job("a").replicas(2)));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 2);
  EXPECT_TRUE(effective_spec(h.job(id)) == job("a").replicas(2).spec());
}

// A change of the priority alone undid the user's number.
TEST(Change, ANumberSetInsideARangeStaysAsFarAsTheNewRangeAllows) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.running(job("a").replicas(1, 8), 1);
  const auto replicas_after = [&](const JobBuilder& wanted) {
    h.step(changed(id, wanted));
    EXPECT_TRUE(h.last_answer().accepted) << h.last_answer().message;
    h.settle();
    return h.row(id).replicas;
  };
  EXPECT_EQ(replicas_after(job("a").replicas(2, 8)), 2) << "what its file said";
  h.step(set_size(id, 6));
  h.settle();
  EXPECT_TRUE(changes_between(effective_spec(h.job(id), job("a").replicas(2, 8).spec()),
                              job("a").replicas(2, 8).spec())
                  .empty());
  EXPECT_EQ(replicas_after(job("a").replicas(2, 8).priority(5)), 6);
  EXPECT_EQ(replicas_after(job("a").replicas(1, 7)), 6);
  EXPECT_EQ(replicas_after(job("a").replicas(1, 4)), 4);
  EXPECT_EQ(replicas_after(job("a").replicas(5, 8)), 5);
  EXPECT_EQ(replicas_after(job("a").replicas(3)), 3);
  EXPECT_EQ(replicas_after(job("a").replicas(1, 8)), 1) << "a fixed number was its file's";
}

// The range of a second role was taken for one that its job did not have.
TEST(Change, ARangeOfALaterRoleIsKnownWhateverWasSet) {
  ControllerHarness h({nodes_of(1, 8)});
  const auto with_range = [](std::int32_t min, std::int32_t max) {
    JobBuilder out = job("a").role("b", 1);
    out.raw().roles[1].min_replicas = min;
    out.raw().roles[1].max_replicas = max;
    return out;
  };
  const JobId id = h.running(with_range(1, 5), 1);
  h.step({ScaleRequested{7, id, RoleIndex{1}, ScaleMode::Set, 3, true}});
  h.step(changed(id, with_range(1, 5).priority(9)));
  EXPECT_TRUE(h.last_answer().accepted) << h.last_answer().message;
  EXPECT_EQ(h.job(id).target(RoleIndex{1}), 3);
  h.step(changed(id, with_range(1, 2)));
  EXPECT_TRUE(h.last_answer().accepted) << h.last_answer().message;
  EXPECT_EQ(h.job(id).target(RoleIndex{1}), 2);
}

TEST(Change, ABoundThatAUserSetOutlastsTheSameFileAndNoOther) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.running(job("a").elastic(1, 8), 2);
  h.step(set_size(id, 3));
  h.step(changed(id, job("a").elastic(1, 8).priority(1)));
  EXPECT_EQ(h.row(id).max_replicas, 3);
  h.step(changed(id, job("a").elastic(1, 6)));
  EXPECT_EQ(h.row(id).max_replicas, 6);
}

TEST(Change, UndoesWhatUsersSetUnderOlderRules) {
  Settings older;
  older.rules = 3;
  ControllerHarness h({nodes_of(1, 8)}, older);
  const JobId id = h.running(job("a").replicas(1, 8), 1);
  h.step(set_size(id, 6));
  h.settle();
  h.step(changed(id, job("a").replicas(1, 8).priority(5)));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 1);
}

TEST(Change, BoundsOfAnElasticJobAreThoseOfItsPolicy) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.running(job("a").elastic(1, 8), 4);
  h.step(changed(id, job("a").elastic(1, 2)));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 2) << "what is above the bound goes";
  h.step(changed(id, job("a").elastic(2, 6)));
  EXPECT_EQ(h.row(id).min_replicas, 2);
  EXPECT_EQ(h.row(id).max_replicas, 6);
  h.step(changed(id, job("a").elastic(5, 6)));
  EXPECT_FALSE(h.last_answer().accepted);
  EXPECT_THAT(h.last_answer().message, HasSubstr("has 2 replicas and would need 5 at least"));
}

TEST(Change, WhatWorkersWereStartedWithIsRefusedByName) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder before = job("a").replicas(1);
  before.raw().roles[0].command = {"x"};
  const JobId id = h.running(before, 1);
  JobBuilder after = job("a").replicas(2).priority(5);
  after.raw().roles[0].command = {"y"};
  after.raw().roles[0].environment = {{"A", "b"}};
  h.step(changed(id, after));
  EXPECT_FALSE(h.last_answer().accepted);
  EXPECT_THAT(h.last_answer().message,
              HasSubstr("roles.worker.command, roles.worker.env would change"));
  EXPECT_TRUE(*h.job(id).spec == before.spec()) << "refused whole";
  h.step(changed(id, job("a").replicas(0)));
  EXPECT_FALSE(h.last_answer().accepted);
  h.step(changed(JobId{77}, before));
  EXPECT_EQ(h.last_answer().message, "no such job");
  h.succeed(id, 0);
  h.step(changed(id, before));
  EXPECT_THAT(h.last_answer().message, HasSubstr("has ended"));
}

TEST(Change, ADeadlineCountsFromTheBeginOfThePhase) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a"), 1);
  h.pass(Duration::seconds(100));
  JobBuilder after = job("a");
  after.raw().run_deadline = Duration::seconds(150);
  h.step(changed(id, after));
  h.pass(Duration::seconds(40));
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  h.pass(Duration::seconds(60));
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.job(id).reason, Reason::RunDeadline);
}

TEST(Change, ADeadlineOfTheRunHoldsUnderOlderRulesToo) {
  Settings older;
  older.rules = 2;
  ControllerHarness h({nodes_of(1, 4)}, older);
  const JobId id = h.running(job("a"), 1);
  JobBuilder after = job("a");
  after.raw().run_deadline = Duration::seconds(150);
  h.step(changed(id, after));
  h.pass(Duration::seconds(149));
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  h.pass(Duration::seconds(1));
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.job(id).reason, Reason::RunDeadline);
}

TEST(Change, ADeadlineOfTheRunHoldsForAJobThatDrains) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder before = job("a").elastic(1, 2);
  before.raw().drain_grace = Duration::seconds(300);
  const JobId id = h.running(before, 2);
  h.plan(grant(id, 1));
  ASSERT_EQ(h.phase(id), JobPhase::Rescheduling);
  JobBuilder after = before;
  after.raw().run_deadline = Duration::seconds(150);
  h.step(changed(id, after));
  ASSERT_TRUE(h.last_answer().accepted) << h.last_answer().message;
  h.pass(Duration::seconds(149));
  EXPECT_EQ(h.phase(id), JobPhase::Rescheduling);
  h.pass(Duration::seconds(1));
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.job(id).reason, Reason::RunDeadline);
}

TEST(Change, InTheMiddleOfARescaleIsMetAfterIt) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.running(job("a").replicas(4), 4);
  h.step(set_size(id, 2));
  EXPECT_EQ(h.phase(id), JobPhase::Rescheduling);
  h.step(changed(id, job("a").replicas(6)));
  EXPECT_TRUE(h.last_answer().accepted);
  h.settle();
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 6);
}

}  // namespace
}  // namespace orrery::tests
