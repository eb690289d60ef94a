// Figures of runs, and what a comparison says of two worlds of which one is known to be slower.

#include "sim/calibration/parity.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/sim/rehearsal/model_runs.hpp"

namespace orrery::sim {
namespace {

const char* const kJobs = R"(
policy: {name: fit, period: 20s}
cluster: {nodes: 2, gpus_per_node: 4}
jobs:
  - {name: elastic, replicas: {min: 2, max: 8}, preemptible: true, estimate: oracle, work: {units: 2000, throughput: 2}}
  - {name: fails, at: 10s, replicas: 2, backoff_base: 5s, work: 100s, workers: [{rank: 1, after: 30s, exit: 3}]}
)";

RunFigures figures(const std::string& timing) {
  MemoryStore store;
  record("timing: " + timing + kJobs, store);
  const auto out = run_figures(
      store, "run", {{"default.elastic", 2000}, {"default.fails", 100}}, Duration::zero());
  EXPECT_TRUE(out) << out.errors().front().text();
  return *out;
}

const JobFigures& job_of(const RunFigures& run, const std::string& name) {
  for (const JobFigures& job : run.jobs)
    if (job.name == "default." + name) return job;
  ADD_FAILURE() << "no job " << name;
  return run.jobs.front();
}

TEST(RunFigures, AreThoseOfTheRun) {
  const RunFigures run = figures("{start: 6s, stop: 1s}");
  const JobFigures& elastic = job_of(run, "elastic");
  ASSERT_TRUE(elastic.completed_s);
  double spent = 0;
  for (const double each : elastic.spent_s) spent += each;
  EXPECT_NEAR(spent, *elastic.completed_s, 1e-6);
  // Two units a second for each replica.
  ASSERT_FALSE(elastic.step_s.empty());
  for (const auto& [replicas, step_s] : elastic.step_s)
    EXPECT_NEAR(step_s, 0.5 / replicas, 1e-6) << replicas;
  const JobFigures& fails = job_of(run, "fails");
  ASSERT_EQ(fails.recoveries.size(), 1U);
  EXPECT_EQ(fails.recoveries.front().cause, Reason::WorkerFailed);
  // The delay, a start, and no more.
  ASSERT_TRUE(fails.recoveries.front().took_s);
  EXPECT_NEAR(*fails.recoveries.front().took_s, 5 + 6, 1e-6);
}

// A failure while workers join: what is saved and how far the work had come are told at once, of a
// stretch whose size changed.
TEST(RunFigures, WorkThatAFailureTookBackIsNotDoneInNoTime) {
  for (const char* crash : {"430s", "500s", "845s"}) {
    SCOPED_TRACE(crash);
    MemoryStore store;
    record(std::string(R"(
timing: {start: 9s, stop: 1s, checkpoint_interval: 45s}
policy: {name: fit, period: 60s}
cluster: {nodes: 4, gpus_per_node: 4}
jobs:
  - {name: grows, replicas: {min: 2, max: 12}, preemptible: true, recovery: worker, estimate: oracle, work: {units: 60000, throughput: 4}}
  - {name: stays, replicas: 4, work: 2000s}
faults:
  - {at: 500s, node: 1, kind: down, for: 300s}
  - {kind: crash, job: grows, rank: 0, at: )") +
               crash + "}\n",
           store);
    const auto run = run_figures(store, "run", {{"default.grows", 60000}}, Duration::zero());
    ASSERT_TRUE(run) << run.errors().front().text();
    const JobFigures& grows = job_of(*run, "grows");
    EXPECT_FALSE(grows.step_s.empty());
    for (const auto& [replicas, step_s] : grows.step_s)
      EXPECT_NEAR(step_s, 0.25 / replicas, 1e-6) << replicas;
  }
}

TEST(RunFigures, AJobThatFailsForGoodHasNotRecovered) {
  MemoryStore store;
  record(R"(
policy: fifo
cluster: {nodes: 1, gpus_per_node: 1}
jobs:
  - {name: bad, work: 50s, backoff_limit: 0}
faults:
  - {at: 20s, kind: crash, job: bad}
)",
         store);
  const auto run = run_figures(store, "run", {}, Duration::zero());
  ASSERT_TRUE(run) << run.errors().front().text();
  const JobFigures& bad = job_of(*run, "bad");
  ASSERT_EQ(bad.recoveries.size(), 1U);
  EXPECT_FALSE(bad.recoveries.front().took_s);
}

TEST(Parity, OfARunWithItselfHasNoErrors) {
  const RunFigures run = figures("{start: 6s, stop: 1s}");
  const Parity parity = compare_runs({run, run}, {run}, run);
  EXPECT_THAT(parity.wrong, testing::IsEmpty());
  for (const ParityTotal& total : parity.totals) {
    EXPECT_GT(total.count, 0U);
    EXPECT_EQ(total.error_max, 0);
    EXPECT_EQ(total.inside, 1);
    EXPECT_EQ(total.unmatched, 0U);
  }
  for (const DecisionPair& pair : parity.decisions) {
    EXPECT_EQ(pair.predicted, pair.measured);
    EXPECT_EQ(pair.runs_other, 0U);
  }
}

TEST(Parity, SaysWhereTheSlowerWorldWasSlower) {
  const RunFigures fast = figures("{start: 6s, stop: 1s}");
  const RunFigures slow = figures("{start: 26s, stop: 1s}");
  const Parity parity = compare_runs({slow}, {fast}, fast);
  const auto completion = std::ranges::find_if(parity.rows, [](const ParityRow& row) {
    return row.job == "default.fails" && row.figure == ParityFigure::Completion;
  });
  ASSERT_NE(completion, parity.rows.end());
  // Two starts of 20 s more each; through the second one of two workers works on.
  EXPECT_NEAR(completion->measured.p50 - completion->predicted.p50, 30, 1e-6);
  EXPECT_LT(completion->error(completion->measured.p50), -0.15);
  EXPECT_THAT(parity.wrong,
              testing::Contains(testing::AllOf(testing::HasSubstr("default.fails: completion"),
                                               testing::HasSubstr("most of it while"))));
}

TEST(Parity, ForetellsWhatRunsThatWereNotLearnedFromVaryBy) {
  const RunFigures run = figures("{start: 6s, stop: 1s}");
  // Between 5 % quicker and 15 % slower than foretold, each job of a run alike.
  std::vector<RunFigures> others;
  for (int percent = -5; percent <= 15; ++percent) {
    RunFigures& other = others.emplace_back(run);
    for (JobFigures& job : other.jobs) *job.completed_s *= 1 + percent / 100.0;
  }
  HeldOutRatios ratios;
  for (const RunFigures& other : others) add_ratios(other, {run}, ratios);
  EXPECT_EQ(ratios[static_cast<int>(ParityFigure::Completion)].size(), 2 * others.size());
  const auto completion = static_cast<int>(ParityFigure::Completion);
  EXPECT_LT(compare_runs(others, {run}, run).totals[completion].inside, 0.06)
      << "runs of the model alone do not vary";
  const Parity parity = compare_runs(others, {run}, run, ratios);
  EXPECT_NEAR(parity.totals[completion].inside, 0.8, 0.05);
  for (const ParityRow& row : parity.rows) {
    if (row.figure != ParityFigure::Completion) continue;
    EXPECT_NEAR(row.predicted.p10, 0.97 * row.predicted.p50, 1e-6);
    EXPECT_NEAR(row.predicted.p90, 1.13 * row.predicted.p50, 1e-6);
  }
  EXPECT_EQ(parity.totals[static_cast<int>(ParityFigure::Recovery)].inside, 1)
      << "they have no part in another figure's";
}

TEST(Parity, CountsWhatOneWorldAloneHas) {
  const RunFigures run = figures("{start: 6s, stop: 1s}");
  RunFigures without = run;
  for (JobFigures& job : without.jobs) job.recoveries.clear();
  const Parity never_measured = compare_runs({without}, {run}, run);
  EXPECT_EQ(never_measured.totals[static_cast<int>(ParityFigure::Recovery)].unmatched, 1U);
  EXPECT_EQ(never_measured.totals[static_cast<int>(ParityFigure::Recovery)].count, 0U);
  const Parity never_predicted = compare_runs({run}, {without}, without);
  EXPECT_EQ(never_predicted.totals[static_cast<int>(ParityFigure::Recovery)].unmatched, 1U);
  EXPECT_THAT(never_predicted.wrong,
              testing::Contains(testing::HasSubstr("measured, and never predicted")));
}

TEST(Parity, PutsDecisionsSideBySide) {
  const RunFigures run = figures("{start: 6s, stop: 1s}");
  RunFigures other = run;
  const std::string line = "restarts 1";
  const std::size_t at = other.decisions.find(line);
  ASSERT_NE(at, std::string::npos);
  other.decisions.replace(at, line.size(), "restarts 2");
  const Parity parity = compare_runs({run, other}, {run}, run);
  for (const DecisionPair& pair : parity.decisions) {
    EXPECT_EQ(pair.runs_other, pair.job == "default.fails" ? 1U : 0U);
    if (pair.runs_other == 0) continue;
    EXPECT_THAT(pair.first_other, testing::HasSubstr("measured 'restarts 2'"));
    EXPECT_THAT(pair.measured, testing::HasSubstr("restarts 2"));
    EXPECT_THAT(pair.predicted, testing::HasSubstr("restarts 1"));
  }
}

}  // namespace
}  // namespace orrery::sim
