// Scaling requests, and how a job comes to the number that was asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/control/status.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::HasSubstr;

EventBody scale(JobId id, ScaleMode mode, std::int32_t replicas, RoleIndex role = RoleIndex{0}) {
  return ScaleRequested{7, id, role, mode, replicas};
}

TEST(Scaling, AFixedJobGrowsAndShrinksAtOnce) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  h.step(scale(id, ScaleMode::Add, 2));
  EXPECT_TRUE(h.last_answer().accepted);
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 4);
  h.step(scale(id, ScaleMode::Remove, 3));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 1);
  EXPECT_EQ(h.job(id).workers[0].birth_rank, Rank{0}) << "the highest local ranks go";
  h.step(scale(id, ScaleMode::Set, 3));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 3);
  h.step(scale(id, ScaleMode::Clear, 0));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 2);
  EXPECT_EQ(h.row(id).reschedules, 4u);
}

ScaleRequested any_size(JobId id, ScaleMode mode, std::int32_t replicas) {
  return {7, id, RoleIndex::none(), mode, replicas, true};
}

TEST(Scaling, APreemptibleJobOfAFixedSizeTakesAnotherOne) {
  ControllerHarness h({nodes_of(1, 8)});
  const JobId id = h.running(job("a").replicas(2).role("b", 1).preemptible(), 2);
  h.step(any_size(id, ScaleMode::Add, 1));
  ASSERT_TRUE(h.last_answer().accepted) << h.last_answer().message;
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 3) << "without its policy";
  EXPECT_EQ(h.job(id).workers.size(), 5U) << "every role has one more";
  EXPECT_EQ(h.row(id).min_replicas, 3);
  EXPECT_EQ(h.row(id).max_replicas, 3);
  h.step(ScaleRequested{7, id, RoleIndex{0}, ScaleMode::Set, 1, true});
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 1);
  h.step(any_size(id, ScaleMode::Clear, 0));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 2);
}

TEST(Scaling, APreemptibleJobOfAFixedSizeWaitsWithItsNewSize) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(2).preemptible());
  h.step(any_size(id, ScaleMode::Add, 1));
  EXPECT_TRUE(h.last_answer().accepted);
  EXPECT_EQ(h.row(id).min_replicas, 3);
  EXPECT_EQ(h.row(id).max_replicas, 3);
}

TEST(Scaling, OlderJournalsRefuseItForPreemptibleJobsOfAFixedSize) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2).preemptible(), 2);
  h.step(scale(id, ScaleMode::Add, 1));
  EXPECT_FALSE(h.last_answer().accepted);
}

TEST(Scaling, MoreIsAddedToWhatWasAskedForBefore) {
  Settings settings;
  settings.policy_sizes = true;
  ControllerHarness h({nodes_of(1, 8)}, settings);
  const JobId id = h.running(job("a").elastic(1, 8), 1);
  h.step(any_size(id, ScaleMode::Set, 1));
  h.step(any_size(id, ScaleMode::Add, 2));
  h.step(any_size(id, ScaleMode::Add, 2));
  EXPECT_EQ(h.row(id).replicas, 1) << "the policy has not come to it yet";
  EXPECT_EQ(h.row(id).max_replicas, 5);
  h.step(any_size(id, ScaleMode::Remove, 1));
  EXPECT_FALSE(h.last_answer().accepted) << "fewer than there are";
}

TEST(Scaling, AJournalOfRules1AddsToWhatWasAskedForBeforeToo) {
  Settings older;
  older.rules = 1;
  older.policy_sizes = true;
  ControllerHarness h({nodes_of(1, 8)}, older);
  const JobId id = h.running(job("a").elastic(1, 8), 1);
  h.step(any_size(id, ScaleMode::Add, 2));
  h.step(any_size(id, ScaleMode::Add, 2));
  EXPECT_EQ(h.row(id).max_replicas, 5);
}

TEST(Scaling, OutsideTheBoundsIsRefusedWholeAndNamesThem) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").elastic(2, 4).role("b", 1), 2);
  h.step(scale(id, ScaleMode::Set, 5, RoleIndex::none()));
  EXPECT_FALSE(h.last_answer().accepted);
  EXPECT_THAT(h.last_answer().message, HasSubstr("2 to 4"));
  EXPECT_EQ(h.job(id).target(RoleIndex{1}), 1) << "the other role keeps its number too";
  for (const std::int32_t n : {1, 0, -3}) {
    h.step(scale(id, ScaleMode::Set, n));
    EXPECT_FALSE(h.last_answer().accepted) << n;
  }
  h.step(scale(id, ScaleMode::Add, 2'147'483'647));
  EXPECT_FALSE(h.last_answer().accepted);
  h.step(scale(id, ScaleMode::Set, 3, RoleIndex{2}));
  EXPECT_FALSE(h.last_answer().accepted) << "no such role";
  EXPECT_EQ(h.reports_ignored(Ignored::OutOfBounds), 6u);
}

TEST(Scaling, TheTargetOfAPreemptibleJobBoundsThePolicy) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(job("a").elastic(1, 8), 6);
  h.step(scale(id, ScaleMode::Set, 4));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 4) << "what is above the target goes";
  h.plan(grant(id, 8));
  EXPECT_EQ(h.row(id).replicas, 4);
  h.step(scale(id, ScaleMode::Clear, 0));
  h.plan(grant(id, 8));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 8);
}

TEST(Scaling, SurvivesRestartsAndPreemption) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  h.step(scale(id, ScaleMode::Set, 3));
  h.settle();
  h.fail(id, 2);
  h.pass(Duration::seconds(1));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 3);
  EXPECT_EQ(h.job(id).target(RoleIndex{0}), 3);
}

TEST(Scaling, ARequestInTheMiddleOfARestartIsMetAfterIt) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  h.fail(id, 0);
  h.step(scale(id, ScaleMode::Set, 4));
  EXPECT_TRUE(h.last_answer().accepted);
  EXPECT_EQ(h.phase(id), JobPhase::Restarting);
  h.pass(Duration::seconds(1));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).replicas, 4);
}

TEST(Scaling, AJobThatWantsMoreGetsItWhenRoomComes) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId other = h.running(job("other").replicas(2), 2);
  const JobId id = h.running(job("a").replicas(2), 2);
  h.step(scale(id, ScaleMode::Set, 4));
  EXPECT_TRUE(h.last_answer().accepted);
  EXPECT_EQ(h.row(id).replicas, 2);
  h.succeed(other, 0);
  h.succeed(other, 1);
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 4);
  EXPECT_TRUE(h.controller.state().wants_more.empty());
}

TEST(Scaling, WhatOneRoleGivesUpCountsForTheOtherWithinTheQuota) {
  ControllerHarness h({nodes_of(1, 8)});
  h.step(QuotasDeclared{{{"group/x", 4}}});
  const JobId id = h.running(job("a").replicas(2).role("b", 2).group("x"), 2);
  h.step(scale(id, ScaleMode::Set, 3, RoleIndex{1}));
  h.settle();
  EXPECT_EQ(h.job(id).workers.size(), 4U) << "the quota is used up";
  EXPECT_EQ(h.row(id).reschedules, 0U);
  h.step(scale(id, ScaleMode::Set, 1));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 1);
  EXPECT_EQ(h.job(id).workers.size(), 4U) << "one of the first role and three of the other";
  EXPECT_EQ(h.row(id).reschedules, 1U) << "in one change";
}

TEST(Scaling, TheStatusSaysWhatAJobBelowItsTargetWaitsFor) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId other = h.running(job("other").replicas(2), 2);
  const JobId id = h.running(job("a").replicas(1), 1);
  const auto message = [&] { return status_of(h.controller.state(), h.job(id)).message; };
  EXPECT_EQ(message(), "all workers are ready");
  h.step(scale(id, ScaleMode::Set, 3));
  EXPECT_EQ(message(),
            "all workers are ready; role worker has 1 of 3 replicas and waits for 2 devices, "
            "1 is free");
  h.succeed(other, 0);
  h.succeed(other, 1);
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 3);
  EXPECT_EQ(message(), "all workers are ready");
}

TEST(Scaling, TheStatusOfAJobThatAPolicySizesSaysThatThePolicyDecides) {
  Settings settings;
  settings.policy = "fit/1";
  settings.policy_sizes = true;
  ControllerHarness h({nodes_of(1, 4)}, settings);
  const JobId id = h.running(job("a").elastic(1, 4), 1);
  const auto message = [&] { return status_of(h.controller.state(), h.job(id)).message; };
  EXPECT_EQ(message(), "all workers are ready") << "more was not asked for";
  h.step(scale(id, ScaleMode::Set, 4));
  EXPECT_EQ(message(),
            "all workers are ready; role worker has 1 of 4 replicas: of a preemptible job that "
            "number is a bound, and policy fit/1 decides whether it gets more");
  h.plan(grant(id, 4));
  h.settle();
  EXPECT_EQ(message(), "all workers are ready");
}

TEST(Scaling, TheStatusOfAJobWhoseQuotaIsUsedUpSaysSoThoughAPolicySizesIt) {
  Settings settings;
  settings.policy = "fit/1";
  settings.policy_sizes = true;
  ControllerHarness h({nodes_of(1, 4)}, settings);
  h.step(QuotasDeclared{{{"namespace/default", 2}}});
  const JobId id = h.running(job("a").elastic(1, 4), 2);
  h.step(scale(id, ScaleMode::Set, 4));
  EXPECT_EQ(status_of(h.controller.state(), h.job(id)).message,
            "all workers are ready; role worker has 2 of 4 replicas and waits for its quota: "
            "namespace/default may hold 2 devices and holds 2");
}

TEST(Scaling, AJobThatNoPolicySizesGrowsToWhatItsUserAsksFor) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").elastic(1, 4), 1);
  h.step(scale(id, ScaleMode::Set, 3));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 3) << "no plan was needed";
  EXPECT_TRUE(h.controller.state().wants_more.empty());
  h.plan(grant(id, 0));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Pending);
  h.plan(grant(id, 1));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 3) << "what its user asked for holds until it is cleared";
  h.step(scale(id, ScaleMode::Clear, 0));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 3);
}

TEST(Scaling, AnElasticJobTakesWhatThereIsAndSaysWhatItWaitsFor) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId other = h.running(job("other").replicas(2), 2);
  const JobId id = h.running(job("a").elastic(1, 4), 1);
  h.step(scale(id, ScaleMode::Set, 4));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 2);
  EXPECT_EQ(status_of(h.controller.state(), h.job(id)).message,
            "all workers are ready; role worker has 2 of 4 replicas and waits for 2 devices, "
            "0 are free");
  h.succeed(other, 0);
  h.succeed(other, 1);
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 4) << "nothing but the room was needed";
  EXPECT_EQ(status_of(h.controller.state(), h.job(id)).message, "all workers are ready");
}

TEST(Scaling, AWaitingElasticJobGrowsToWhatItsUserAskedForOnceItRuns) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").elastic(1, 4));
  h.step(scale(id, ScaleMode::Set, 3));
  h.plan(grant(id, 1));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 3);
}

TEST(Scaling, AnElasticJobWithPlacementsGrowsToTheLargestSizeThatIsFree) {
  ControllerHarness h({nodes_of(1, 8)});
  JobBuilder pinned = job("other").replicas(2);
  pinned.raw().roles[0].placements = {{2, {}, "4-5"}};
  JobBuilder sized = job("a").elastic(1, 6);
  sized.raw().roles[0].placements = {{1, {}, "0"}, {2, {}, "0-1"}, {6, {}, "0-5"}};
  const JobId other = h.running(pinned, 2);
  const JobId id = h.running(sized, 1);
  h.step(scale(id, ScaleMode::Set, 6));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 2);
  h.succeed(other, 0);
  h.succeed(other, 1);
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 6);
}

// A journal from before the rule says the same facts as when it was written.
TEST(Scaling, AnOlderLeaderLeavesAnElasticJobAsItIs) {
  Settings settings;
  settings.rules = 0;
  ControllerHarness h({nodes_of(1, 4)}, settings);
  const JobId id = h.running(job("a").elastic(1, 4), 1);
  h.step(scale(id, ScaleMode::Set, 3));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 1);
}

TEST(Scaling, AWaitingJobWaitsForItsNewNumber) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(2));
  h.step(scale(id, ScaleMode::Set, 4));
  EXPECT_EQ(h.row(id).min_replicas, 4);
  h.step(scale(id, ScaleMode::Set, 9));
  EXPECT_TRUE(h.row(id).infeasible);
  EXPECT_TRUE(h.controller.state().waiting.empty());
  h.step(scale(id, ScaleMode::Set, 3));
  EXPECT_FALSE(h.row(id).infeasible);
  EXPECT_EQ(h.controller.state().waiting.front(), id);
}

TEST(Scaling, ARoleThatIsScaledBeyondWhatOthersLeaveIsToldSo) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(2).role("side", 2));
  h.step(scale(id, ScaleMode::Set, 3));
  EXPECT_TRUE(h.row(id).infeasible);
  EXPECT_EQ(h.job(id).reason, Reason::Infeasible);
  h.step(scale(id, ScaleMode::Set, 1));
  EXPECT_FALSE(h.row(id).infeasible);
}

TEST(Scaling, AJobThatRestartsToRescaleRestartsForAUserToo) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2).rescale(RescaleMode::Restart), 2);
  h.step(scale(id, ScaleMode::Set, 3));
  EXPECT_EQ(h.order<StopWorkers>()->workers.size(), 2u);
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 3);
  for (const Worker& worker : h.job(id).workers) EXPECT_EQ(worker.born, Generation{2});
}

TEST(Scaling, WhoCannotBeToldOfAChangeStartsAnewAndTheOthersStay) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(2).rescale(RescaleMode::Auto));
  h.plan(grant(id, 2));
  h.step(h.cluster.runs(0));
  h.step(h.cluster.ready(1));
  EXPECT_EQ(h.row(id).phase, JobPhase::Running) << "it works, as far as is known";
  h.step(scale(id, ScaleMode::Set, 3));
  ASSERT_EQ(h.order<StopWorkers>()->workers.size(), 1u);
  EXPECT_EQ(h.order<StopWorkers>()->workers[0].rank, Rank{0});
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 3);
  EXPECT_EQ(h.row(id).restarts, 0u) << "no failure";
  EXPECT_EQ(h.job(id).workers[0].born, Generation{2});
  EXPECT_EQ(h.job(id).workers[1].born, Generation{1}) << "it said hello, so it was told";
}

TEST(Scaling, WhoSaysHelloLaterCanBeToldFromThenOn) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(1).rescale(RescaleMode::Auto));
  h.plan(grant(id, 1));
  h.step(h.cluster.runs(0));
  h.step(h.cluster.ready(0));
  EXPECT_EQ(h.reports_ignored(Ignored::AlreadyKnown), 0u);
  h.step(h.cluster.runs(0));
  EXPECT_EQ(h.reports_ignored(Ignored::AlreadyKnown), 1u) << "a hello is not taken back";
  h.step(scale(id, ScaleMode::Set, 2));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 2);
  EXPECT_EQ(h.job(id).workers[0].born, Generation{1});
}

TEST(Scaling, AWorkerThatIsToStayInPlaceStaysWhetherItCanBeNotifiedOrNot) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(1).rescale(RescaleMode::InPlace));
  h.plan(grant(id, 1));
  h.step(h.cluster.runs(0));
  h.step(scale(id, ScaleMode::Set, 2));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 2);
  EXPECT_EQ(h.job(id).workers[0].born, Generation{1});
}

// The order to scale overtook the report: the worker came up with the size of before.
TEST(Scaling, WhoComesUpWithAnOlderMembershipAndCannotBeToldStartsAnew) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(1).rescale(RescaleMode::Auto));
  h.plan(grant(id, 1));
  h.step(scale(id, ScaleMode::Set, 2));
  EXPECT_EQ(h.row(id).generation, Generation{2});
  const auto before = h.row(id).reschedules;
  h.step(h.cluster.runs(0));
  EXPECT_EQ(h.row(id).phase, JobPhase::Rescheduling);
  EXPECT_EQ(h.row(id).reschedules, before + 1);
  h.settle();
  EXPECT_EQ(h.row(id).phase, JobPhase::Running);
  EXPECT_EQ(h.row(id).restarts, 0u);
  EXPECT_EQ(h.job(id).workers[0].born, Generation{3});
  EXPECT_EQ(h.job(id).workers[1].born, Generation{2}) << "it knows the size";
}

TEST(Scaling, WhoComesUpWithAnOlderMembershipOfTheSamePlacesStays) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").replicas(2).rescale(RescaleMode::Auto));
  h.plan(grant(id, 2));
  h.fail(id, 1);
  h.pass(Duration::seconds(1));
  EXPECT_EQ(h.row(id).generation, Generation{2});
  h.step(h.cluster.runs(h.process(id, 0)));
  h.settle();
  EXPECT_EQ(h.row(id).phase, JobPhase::Running);
  EXPECT_EQ(h.job(id).workers[0].born, Generation{1});
}

TEST(Scaling, UnknownAndFinishedJobsAreRefused) {
  ControllerHarness h({nodes_of(1, 4)});
  h.step(scale(JobId{5}, ScaleMode::Set, 2));
  EXPECT_FALSE(h.last_answer().accepted);
  const JobId id = h.running(job("a"), 1);
  h.succeed(id, 0);
  h.step(scale(id, ScaleMode::Set, 2));
  EXPECT_FALSE(h.last_answer().accepted);
}

}  // namespace
}  // namespace orrery::tests
