// What is kept of a job: profilings, progress, and for how long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

TEST(Profilings, EachKeyKeepsABoundedHistory) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a"), 1);
  for (int i = 0; i < 100; ++i)
    h.step(ProfilingChanged{
        id, Generation{1}, Rank{0}, {{"step_time_s", i * 1.0}, {"k" + std::to_string(i), 1.0}}});
  EXPECT_EQ(h.job(id).profilings->size(), 64u);
  EXPECT_EQ(h.job(id).profilings->at(0).samples.size(), ProfilingSeries::kSamplesMax);
  EXPECT_EQ(h.job(id).profilings->at(0).samples.back().value, 99.0);
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
  EXPECT_EQ(h.row(id).progress.rate, 900.0) << "there is no other report";
  h.step(ProfilingChanged{id, Generation{1}, Rank{0}, {{"throughput", 30.0}}});
  h.step(ProfilingChanged{id, Generation{1}, Rank{1}, {{"throughput", 50.0}}});
  EXPECT_EQ(h.row(id).progress.rate, 40.0);
}

// A report may name a rank that the job does not have.
TEST(Profilings, OfRanksBeyondTheJobCountAsOthers) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  for (const Rank rank : {Rank{0}, Rank{9'000}, Rank::none(), Rank{9'000}, Rank{1}})
    h.step(ProfilingChanged{id, Generation{1}, rank, {{"throughput", 10.0}}});
  EXPECT_EQ(h.row(id).progress.rate, 10.0);
  h.step(ProfilingChanged{id, Generation{1}, Rank{1}, {{"throughput", 40.0}}});
  EXPECT_EQ(h.row(id).progress.rate, 25.0);
  h.step(ProfilingChanged{id, Generation{1}, Rank{9'000}, {{"throughput", 90.0}}});
  EXPECT_EQ(h.row(id).progress.rate, 25.0);
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

TEST(Retention, ARequestIsKnownForAWhileAfterItsJobIsForgotten) {
  Settings settings;
  settings.retain_finished = Duration::seconds(1);
  ControllerHarness h({nodes_of(1, 4)}, settings);
  const auto spec = std::make_shared<JobSpec>(job("a").spec());
  h.step(JobSubmitted{77, spec});
  const JobId first = h.last_answer().job;
  h.step(StopRequested{0, first});
  h.pass(settings.retain_finished);
  h.step(TimeReached{});
  ASSERT_EQ(h.controller.state().find(first), nullptr);
  h.step(JobSubmitted{77, spec});
  EXPECT_EQ(h.last_answer().job, first) << "the client had not heard the answer";
  EXPECT_EQ(h.controller.state().next_job(), JobId{first.value + 1});

  Controller loaded;
  const std::string bytes = bytes_of(h.controller.state());
  ByteReader in(bytes);
  ASSERT_TRUE(loaded.load(in, kRecordVersion));
  EXPECT_EQ(loaded.state().submitted_by(77, "default.a"), first);
  EXPECT_TRUE(bytes_of(loaded.state()) == bytes);

  h.pass(kRequestsKnownFor - Duration{1});
  h.step(TimeReached{});
  EXPECT_EQ(h.controller.state().submitted_by(77, "default.a"), first);
  h.pass(Duration{1});
  h.step(TimeReached{});
  h.step(JobSubmitted{77, spec});
  EXPECT_EQ(h.last_answer().job, JobId{first.value + 1});
}

TEST(Retention, ARequestIsKnownWhereAYoungerJobHasItsName) {
  ControllerHarness h({nodes_of(1, 4)});
  const auto spec = std::make_shared<JobSpec>(job("a").spec());
  h.step(JobSubmitted{77, spec});
  const JobId first = h.last_answer().job;
  h.step(StopRequested{0, first});
  h.step(JobSubmitted{78, spec});
  ASSERT_NE(h.last_answer().job, first);
  h.step(JobSubmitted{77, spec});
  EXPECT_EQ(h.last_answer().job, first);
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

TEST(Deletion, OfAFinishedJobStopsTheWorkersThatItLeftRunning) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").clean(CleanPodPolicy::None).follower("serves", 1), 1);
  h.succeed(id, 0);
  ASSERT_EQ(h.phase(id), JobPhase::Succeeded);
  ASSERT_EQ(h.processes_of(id), 1u);
  h.step(DeleteRequested{7, id});
  EXPECT_EQ(h.processes_of(id), 0u);
  h.stop_all();
  h.step(TimeReached{});
  EXPECT_EQ(h.controller.state().find(id), nullptr);
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
