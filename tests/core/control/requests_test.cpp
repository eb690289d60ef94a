// Submissions, scaling, quotas, and what is kept of a job.
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

TEST(Submission, ANameIsUniqueAmongLiveJobs) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId first = h.running(job("a"), 1);
  EXPECT_TRUE(h.submit(job("a")).is_none());
  EXPECT_THAT(h.last_answer().message, HasSubstr("default.a"));
  EXPECT_EQ(h.reports_ignored(Ignored::AlreadyKnown), 1u);
  h.succeed(first, 0);
  const JobId second = h.submit(job("a"));
  EXPECT_FALSE(second.is_none());
  EXPECT_EQ(h.controller.state().named("default.a"), second);
}

TEST(Submission, ARepeatedRequestIsAnsweredAgainAndAcceptedOnce) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId first = h.submit(900, job("a"));
  EXPECT_EQ(h.submit(900, job("a")), first);
  EXPECT_TRUE(h.last_answer().accepted);
  h.plan(Plan{});
  h.step(StopRequested{0, first});
  EXPECT_EQ(h.submit(900, job("a")), first) << "also when the job is over";
  EXPECT_EQ(h.controller.state().totals.submitted, 1u);
}

TEST(Submission, ALoadedStateKnowsTheYoungestOfAName) {
  ControllerHarness h({nodes_of(1, 4)});
  h.succeed(h.running(job("a"), 1), 0);
  const JobId second = h.submit(job("a"));
  Controller loaded;
  const std::string bytes = bytes_of(h.controller.state());
  ByteReader in(bytes);
  ASSERT_TRUE(loaded.load(in, kRecordVersion));
  EXPECT_EQ(loaded.state().named("default.a"), second);
}

TEST(Submission, ABadSpecificationIsRefusedWithAllThatIsWrong) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(0).devices(99);
  EXPECT_TRUE(h.submit(builder).is_none());
  EXPECT_FALSE(h.last_answer().accepted);
  EXPECT_THAT(h.last_answer().message, HasSubstr("min_replicas"));
  EXPECT_THAT(h.last_answer().message, HasSubstr("devices"));
  EXPECT_EQ(h.reports_ignored(Ignored::BadSpecification), 1u);
  EXPECT_TRUE(h.submit(job("b").replicas(1, 2'000'000'000)).is_none()) << "sums would overflow";
}

TEST(Submission, TheOperatorsFamilyFailsABadSpecificationAtRunTime) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(job("a").family(JobFamily::Tasks).role("worker", 1));
  ASSERT_FALSE(id.is_none());
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(h.job(id).reason, Reason::InvalidSpec);
}

TEST(Submission, AJobThatCanNeverFitIsNotOfferedUntilNodesCome) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.submit(job("a").replicas(3).devices(4));
  EXPECT_TRUE(h.row(id).infeasible);
  EXPECT_EQ(h.job(id).reason, Reason::Infeasible);
  EXPECT_TRUE(h.controller.state().waiting.empty());
  h.step(NodesDeclared{{nodes_of(1, 8)}});
  EXPECT_FALSE(h.row(id).infeasible);
  EXPECT_NE(h.job(id).reason, Reason::Infeasible);
  EXPECT_EQ(h.controller.state().waiting.front(), id);
}

TEST(Submission, AModelThatNoNodeHasIsInfeasible) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder builder = job("a");
  builder.raw().roles[0].bundle.device_model = "tpu";
  EXPECT_TRUE(h.row(h.submit(builder)).infeasible);
}

TEST(Submission, NodesThatCannotBeAreIgnored) {
  ControllerHarness h({nodes_of(1, 4)});
  h.step(NodesDeclared{{nodes_of(1, 65)}});
  h.step(NodesDeclared{{nodes_of(-1, 4)}});
  EXPECT_EQ(h.reports_ignored(Ignored::BadSpecification), 2u);
  EXPECT_EQ(h.controller.state().nodes.size(), 1u);
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

TEST(Names, AnOlderJobHasItsNameAgainOnceTheYoungerIsGone) {
  ControllerHarness h({nodes_of(1, 4)});
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(h.running(job("a"), 1));
    h.succeed(ids.back(), 0);
  }
  const State& state = h.controller.state();
  const auto remove = [&](JobId id) {
    h.step(DeleteRequested{7, id});
    EXPECT_TRUE(state.find(id) == nullptr || state.job(id).is_forgotten());
    h.step(TimeReached{});
  };
  remove(ids[3]);
  EXPECT_EQ(state.named("default.a"), ids[2]);
  remove(ids[1]);
  EXPECT_EQ(state.job(ids[2]).before, ids[0]) << "one in the middle";
  Controller loaded;
  const std::string bytes = bytes_of(state);
  ByteReader in(bytes);
  ASSERT_TRUE(loaded.load(in, kRecordVersion));
  EXPECT_EQ(loaded.state().named("default.a"), ids[2]) << "as after a takeover";
  EXPECT_EQ(loaded.state().job(ids[2]).before, ids[0]);
  remove(ids[2]);
  EXPECT_EQ(state.named("default.a"), ids[0]);
  remove(ids[0]);
  EXPECT_TRUE(state.named("default.a").is_none());
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
  EXPECT_EQ(message(), "all workers are ready") << "nobody has asked for more";
  h.step(scale(id, ScaleMode::Set, 4));
  EXPECT_EQ(message(),
            "all workers are ready; role worker has 1 of 4 replicas: of a preemptible job that "
            "number is a bound, and policy fit/1 decides whether it gets more");
  h.plan(grant(id, 4));
  h.settle();
  EXPECT_EQ(message(), "all workers are ready");
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
  EXPECT_EQ(h.row(id).phase, JobPhase::Running) << "it works, as far as anybody can see";
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
  EXPECT_EQ(h.reports_ignored(Ignored::AlreadyKnown), 1u) << "nobody unsays hello";
  h.step(scale(id, ScaleMode::Set, 2));
  h.settle();
  EXPECT_EQ(h.row(id).replicas, 2);
  EXPECT_EQ(h.job(id).workers[0].born, Generation{1});
}

TEST(Scaling, WhoeverIsToStayInPlaceStaysWhetherItCanBeToldOrNot) {
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
  h.step(h.cluster.runs(0));
  EXPECT_EQ(h.row(id).phase, JobPhase::Rescheduling);
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

// --- what is kept ---

TEST(Profilings, EachKeyKeepsABoundedHistory) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a"), 1);
  for (int i = 0; i < 100; ++i)
    h.step(ProfilingChanged{
        id, Generation{1}, Rank{0}, {{"step_time_s", i * 1.0}, {"k" + std::to_string(i), 1.0}}});
  EXPECT_EQ(h.job(id).profilings.size(), 64u);
  EXPECT_EQ(h.job(id).profilings[0].samples.size(), ProfilingSeries::kSamplesMax);
  EXPECT_EQ(h.job(id).profilings[0].samples.back().value, 99.0);
  EXPECT_EQ(h.reports_ignored(Ignored::OutOfBounds), 37u);
}

TEST(Profilings, EveryRankReportsTheRateOfTheWholeJob) {
  ControllerHarness h({nodes_of(5, 4)});
  const JobId id = h.running(job("a").replicas(20), 20);
  for (std::uint32_t r = 0; r < 20; ++r)
    h.step(ProfilingChanged{id, Generation{1}, Rank{r}, {{"throughput", 40.0 + r % 2}}});
  EXPECT_EQ(h.row(id).progress.rate, 40.5);
  EXPECT_EQ(h.row(id).progress.source, EstimateSource::Measured);
  h.step(ProfilingChanged{id, Generation{0}, Rank{0}, {{"throughput", 9.0}}});
  EXPECT_EQ(h.reports_ignored(Ignored::StaleGeneration), 1u);
}

TEST(Profilings, TheRoleThatAPolicySizesSaysTheRate) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").elastic(2, 3).role("collector", 1), 2);
  h.step(ProfilingChanged{id, Generation{1}, Rank{2}, {{"throughput", 900.0}}});
  EXPECT_EQ(h.row(id).progress.rate, 900.0) << "nobody else says anything";
  h.step(ProfilingChanged{id, Generation{1}, Rank{0}, {{"throughput", 30.0}}});
  h.step(ProfilingChanged{id, Generation{1}, Rank{1}, {{"throughput", 50.0}}});
  EXPECT_EQ(h.row(id).progress.rate, 40.0);
}

// A journal from before the rule says the same facts as when it was written.
TEST(Profilings, AnOlderLeaderAddsTheRatesOfAllRanks) {
  Settings settings;
  settings.rules = 0;
  ControllerHarness h({nodes_of(1, 4)}, settings);
  const JobId id = h.running(job("a").replicas(2), 2);
  for (std::uint32_t r = 0; r < 2; ++r)
    h.step(ProfilingChanged{id, Generation{1}, Rank{r}, {{"throughput", 20.0}}});
  EXPECT_EQ(h.row(id).progress.rate, 40.0);
}

TEST(Progress, OnlyACheckpointIsSafe) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a"), 1);
  ProgressReported report;
  report.job = id;
  report.generation = Generation{1};
  report.done = 10;
  report.checkpointed = true;
  h.step(report);
  report.done = 15;
  report.checkpointed = false;
  h.step(report);
  EXPECT_EQ(h.row(id).progress.done, 15);
  EXPECT_EQ(h.row(id).progress.checkpointed, 10);
  report.generation = Generation{0};
  h.step(report);
  EXPECT_EQ(h.reports_ignored(Ignored::StaleGeneration), 1u);
}

TEST(Retention, FinishedJobsAreForgottenAfterTheirTime) {
  Settings settings;
  settings.retain_finished = Duration::seconds(10);
  ControllerHarness h({nodes_of(1, 4)}, settings);
  const JobId id = h.running(job("a"), 1);
  h.succeed(id, 0);
  h.pass(Duration::seconds(9));
  h.step(TimeReached{});
  EXPECT_NE(h.controller.state().find(id), nullptr);
  h.pass(Duration::seconds(1));
  h.step(TimeReached{});
  EXPECT_EQ(h.controller.state().find(id), nullptr);
  h.step(StopRequested{0, id});
  EXPECT_EQ(h.reports_ignored(Ignored::UnknownJob), 1u);
}

TEST(Retention, AndBeyondTheirNumberTheOldestFirst) {
  Settings settings;
  settings.retain_finished_max = 2;
  ControllerHarness h({nodes_of(1, 4)}, settings);
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(h.running(job("j" + std::to_string(i)), 1));
    h.succeed(ids.back(), 0);
  }
  h.step(TimeReached{});
  EXPECT_EQ(h.controller.state().find(ids[0]), nullptr);
  EXPECT_EQ(h.controller.state().find(ids[1]), nullptr);
  EXPECT_NE(h.controller.state().find(ids[2]), nullptr);
  EXPECT_NE(h.controller.state().find(ids[3]), nullptr);
}

TEST(Retention, AJobWhoseWorkersStillStopDoesNotHoldUpTheOthers) {
  Settings settings;
  settings.retain_finished_max = 0;
  ControllerHarness h({nodes_of(1, 4)}, settings);
  const JobId slow = h.running(job("slow"), 1);
  h.step(StopRequested{0, slow});
  const JobId quick = h.submit(job("quick"));
  h.step(StopRequested{0, quick});
  h.step(TimeReached{});
  EXPECT_EQ(h.controller.state().find(quick), nullptr);
  ASSERT_NE(h.controller.state().find(slow), nullptr);
  h.stop_all();
  h.step(TimeReached{});
  EXPECT_EQ(h.controller.state().find(slow), nullptr);
}

TEST(Deletion, OfALiveJobStopsItAndForgetsItWithItsLastWorker) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId kept = h.running(job("kept"), 1);
  h.succeed(kept, 0);
  const JobId id = h.running(job("a"), 1);
  h.step(DeleteRequested{7, id});
  EXPECT_TRUE(h.last_answer().accepted);
  h.step(TimeReached{});
  ASSERT_NE(h.controller.state().find(id), nullptr) << "its worker still stops";
  EXPECT_EQ(h.controller.state().job(id).reason, Reason::StoppedByUser);
  h.stop_all();
  h.step(TimeReached{});
  EXPECT_EQ(h.controller.state().find(id), nullptr);
  EXPECT_NE(h.controller.state().find(kept), nullptr) << "others are retained as before";
  const JobId again = h.submit(job("a"));
  EXPECT_NE(again, id);
}

TEST(Deletion, OfAFinishedJobForgetsItAtOnce) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId older = h.running(job("older"), 1);
  h.succeed(older, 0);
  const JobId id = h.running(job("a"), 1);
  h.succeed(id, 0);
  h.step(DeleteRequested{7, id});
  h.step(DeleteRequested{8, JobId{99}});
  EXPECT_EQ(h.controller.state().find(id), nullptr);
  EXPECT_NE(h.controller.state().find(older), nullptr);
  EXPECT_FALSE(h.last_answer().accepted);
}

TEST(Deletion, IsRememberedByALoadedState) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a"), 1);
  h.step(DeleteRequested{7, id});
  h.stop_all();
  Controller loaded;
  const std::string bytes = bytes_of(h.controller.state());
  ByteReader in(bytes);
  ASSERT_TRUE(loaded.load(in, kRecordVersion));
  Commands out;
  loaded.step({loaded.state().now, {}, Origin::Reaction, TimeReached{}}, out);
  EXPECT_EQ(loaded.state().find(id), nullptr);
}

TEST(Declaration, GivesNodesTheirNamesAndRefusesOneThatIsTaken) {
  ControllerHarness h({nodes_of(1, 4)});
  NodeGroup group = nodes_of(2, 4);
  group.node_names = {"n1", "n2"};
  h.step(NodesDeclared{{group}});
  ASSERT_EQ(h.controller.state().nodes.size(), 3u);
  EXPECT_EQ(h.controller.state().nodes[0].name, "");
  EXPECT_EQ(h.controller.state().nodes[2].name, "n2");
  group.node_names = {"n3", "n1"};
  h.step(NodesDeclared{{group}});
  EXPECT_EQ(h.reports_ignored(Ignored::AlreadyKnown), 1u);
  group.node_names = {"n3"};
  h.step(NodesDeclared{{group}});
  EXPECT_EQ(h.reports_ignored(Ignored::BadSpecification), 1u);
  EXPECT_EQ(h.controller.state().nodes.size(), 3u);
}

TEST(Retention, ManyForgottenJobsLeaveIdsInOrder) {
  Settings settings;
  settings.retain_finished_max = 0;
  Controller controller;
  Commands out;
  const auto step = [&](EventBody body) {
    out.clear();
    controller.step({{}, {}, Origin::External, std::move(body)}, out);
  };
  step(EpochStarted{Epoch{1}, settings});
  step(NodesDeclared{{nodes_of(1, 4)}});
  const auto spec = std::make_shared<JobSpec>(job("a").spec());
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    step(JobSubmitted{0, spec});
    ASSERT_EQ(std::get<AnswerRequest>(out.orders[0]).job, JobId{i});
    step(StopRequested{0, JobId{i}});
  }
  EXPECT_EQ(controller.state().next_job(), JobId{10'000});
  EXPECT_EQ(controller.state().job_count(), 1u);
  Controller loaded;
  const std::string bytes = bytes_of(controller.state());
  ByteReader in(bytes);
  ASSERT_TRUE(loaded.load(in, kRecordVersion));
  EXPECT_TRUE(bytes_of(loaded.state()) == bytes);
}

}  // namespace
}  // namespace orrery::tests
