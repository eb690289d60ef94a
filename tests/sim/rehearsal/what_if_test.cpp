// A recorded run under its own decisions is the same run again; under others the work is the same.

#include "sim/rehearsal/what_if.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/rehearsal/what_ifs.hpp"

namespace orrery::sim {
namespace {

std::string drawn(std::uint64_t seed, const std::string& policy, const std::string& more) {
  return "seed: " + std::to_string(seed) + "\npolicy: " + policy + R"(
cluster: {nodes: 6, gpus_per_node: 4}
timing: {start: 13s, stop: 3s, restore: 7s, rescale: 4s}
workload:
  generator:
    jobs: 80
    arrivals: {load: 1.3}
    duration: {lognormal: {median: 20min, sigma: 1}}
    gpu_mix: [{gpus: 1, weight: 3}, {gpus: 2, weight: 1}, {gpus: 8, weight: 1}]
    preemptible_share: 0.7
)" + more;
}

const char* const kFaults = R"(
faults:
  - {at: 1h, node: 1, kind: down, for: 30min}
  - {at: 2h, node: 2, kind: device_lost, devices: [0, 1], for: 20min}
  - {at: 3h, node: 3, kind: cordon, for: 1h}
  - {at: 4h, node: 0, kind: down, for: 10min}
)";

TEST(WhatIf, OfTheSameDecisionsEndsEveryJobAtTheSameNanosecond) {
  for (const char* policy : {"fifo", "easy", "srtf", "las", "tiresias"})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(std::string(policy) + ", seed " + std::to_string(seed));
      MemoryStore store;
      record(drawn(seed, policy, ""), store);
      const RecordedBasis rehearsal = rehearsal_of(store);
      EXPECT_TRUE(std::ranges::all_of(rehearsal.truth.jobs, [](const JobTruth& truth) {
        return truth.known == WorkKnown::Observed;
      }));
      EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
    }
}

TEST(WhatIf, RepeatsFaultsOfNodes) {
  for (const char* policy : {"fifo", "tiresias"})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(std::string(policy) + ", seed " + std::to_string(seed));
      MemoryStore store;
      record(drawn(seed, policy, kFaults), store);
      const RecordedBasis rehearsal = rehearsal_of(store);
      const WhatIfRun run = what_if(rehearsal, {});
      EXPECT_GT(run.report.summary.node_losses + run.report.summary.restarts, 0U);
      EXPECT_EQ(changed(rehearsal, run), "");
    }
}

TEST(WhatIf, RepeatsElasticSizesFailuresAndRequests) {
  MemoryStore store;
  record(R"(
policy: fit
cluster: {nodes: 3, gpus_per_node: 4}
timing: {start: 5s, stop: 2s, restore: 3s, rescale: 1s}
jobs:
  - {name: grows, replicas: {min: 2, max: 8}, work: {units: 9000, throughput: 10, scaling: {amdahl: {serial: 0.1}}}}
  - {name: fails, replicas: 2, backoff_limit: 5, work: 900s, workers: [{rank: 1, after: 100s, exit: 3, times: 2}]}
  - {name: dies, replicas: 1, backoff_limit: 1, work: 900s, workers: [{rank: 0, after: 50s, exit: 7, times: 9}]}
  - {name: stopped, at: 10s, replicas: 1, work: 1h}
  - {name: late, at: 200s, replicas: {min: 1, max: 4}, work: {units: 900, throughput: 3}}
requests:
  - {at: 300s, job: stopped, stop: true}
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
}

TEST(WhatIf, WhatCannotStartFailsAgain) {
  MemoryStore store;
  record(R"(
policy: fifo
cluster: {nodes: 2, gpus_per_node: 2}
timing: {start: 5s, stop: 2s}
jobs:
  - {name: nowhere, replicas: 2, work: 60s, workers: [{rank: 1, kind: cannot_start}]}
  - {name: moved, replicas: 1, work: 900s, workers: [{rank: 0, after: 100s, exit: 3}, {rank: 0, kind: cannot_start}]}
  - {name: fine, replicas: 2, work: 60s}
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(rehearsal.recorded.summary.jobs_failed, 2U);
  EXPECT_EQ(rehearsal.recorded.summary.restarts, 1U);
  for (const char* policy : {"fifo", "srtf"}) {
    const WhatIfRun run = what_if(rehearsal, {{"policy", policy}});
    EXPECT_EQ(run.report.summary.jobs_failed, 2U) << policy;
    EXPECT_EQ(run.report.summary.restarts, 1U) << policy;
    EXPECT_EQ(changed(rehearsal, run), "") << policy;
  }
}

TEST(WhatIf, WhatWasDeletedOrBlamedAnotherEndsSoAgain) {
  MemoryStore store;
  record(R"(
policy: fifo
cluster: {nodes: 12, gpus_per_node: 2}
timing: {start: 5s, stop: 2s}
jobs:
  - {name: kept, replicas: 2, backoff_limit: 0, work: 60s}
  - {name: starts, at: 1s, replicas: 2, backoff_limit: 0, work: 60s}
  - {name: taken, replicas: 1, backoff_limit: 0, command: [train], work: 60s, workers: [{rank: 0, kind: port_in_use, times: 2}]}
  - {name: named, replicas: 2, backoff_limit: 3, work: 90s, failover: {worker_failures_max: 1}}
  - {name: node, replicas: 1, backoff_limit: 0, work: 60s}
faults:
  - {at: 20s, kind: delete, job: kept, rank: 1}
  - {at: 3s, kind: delete, job: starts, rank: 0}
  - {at: 20s, kind: crash, job: named, rank: 0, exit_code: 1, blames: {rank: 1}}
  - {at: 50s, kind: crash, job: named, rank: 0, exit_code: 1, blames: {rank: 1}}
  - {at: 20s, kind: crash, job: node, rank: 0, exit_code: 1, blames: node}
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_GT(rehearsal.recorded.summary.jobs_finished, 2U);
  for (const char* policy : {"fifo", "srtf"}) {
    const WhatIfRun run = what_if(rehearsal, {{"policy", policy}});
    EXPECT_EQ(run.report.summary.jobs_failed, rehearsal.recorded.summary.jobs_failed) << policy;
    EXPECT_EQ(changed(rehearsal, run), "") << policy;
  }
}

// Workers that exchange gradients wait for one that is started anew; others go on without it.
TEST(WhatIf, APartialRestartIsNoLossOfWork) {
  for (const char* work : {"{duration: 20s, step: {units: 1, gradient: 1GB}}",
                           "{duration: 20s, step: {units: 1}}",
                           "20s"}) {
    SCOPED_TRACE(work);
    MemoryStore store;
    record(std::string(R"(
policy: fifo
cluster: {nodes: 4, gpus_per_node: 2}
timing: {start: 2s, restore: 1s, stop: 1s}
jobs:
  - {name: broken, replicas: 4, recovery: worker, work: )") +
               work + R"(}
  - {name: whole, at: 3s, replicas: 2, work: 10s}
faults:
  - {at: 8s, kind: crash, job: broken, rank: 0, exit_code: 1}
)",
           store);
    const RecordedBasis rehearsal = rehearsal_of(store);
    EXPECT_EQ(rehearsal.recorded.summary.restarts, 1U);
    EXPECT_EQ(rehearsal.truth.jobs.front().known, WorkKnown::Observed);
    EXPECT_EQ(rehearsal.truth.timing.checkpoint_interval, Duration::zero());
    EXPECT_EQ(rehearsal.truth.timing.rescale, Duration::zero());
    EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
  }
}

// What a failure takes, what workers do that are left, and a pause afterwards are told apart.
TEST(WhatIf, LossesAndPausesAreToldApart) {
  const char* const jobs[] = {R"(
timing: {start: 2s, stop: 1s, rescale: 5s}
jobs:
  - {name: goes-on, at: 1s, replicas: 4, work: 45s}
  - {name: waits, at: 4s, replicas: 2, backoff_base: 10s, work: {duration: 76s, step: {units: 1}}}
faults:
  - {at: 42s, kind: crash, job: goes-on, rank: 1, exit_code: 1}
  - {at: 30s, kind: crash, job: waits, rank: 1, exit_code: 1}
  - {at: 59s, kind: crash, job: waits, rank: 0, exit_code: 1}
)",
                              R"(
timing: {start: 0s, stop: 1s, restore: 1s, rescale: 7s}
jobs:
  - {name: waits, at: 16s, replicas: 3, recovery: worker, backoff_base: 10s, work: {duration: 199s, step: {units: 1}}}
faults:
  - {at: 141s, kind: crash, job: waits, rank: 2, exit_code: 1}
  - {at: 42s, kind: down, node: 0, lasting: 15s}
)",
                              R"(
timing: {start: 1s, stop: 7s, rescale: 3s, checkpoint_interval: 60s}
jobs:
  - {name: late, at: 20s, replicas: {min: 3, max: 4}, preemptible: false, backoff_base: 5s, work: 155s}
  - {name: early, at: 2s, replicas: 2, backoff_base: 10s, work: 169s}
faults:
  - {at: 122s, kind: crash, job: late, rank: 0, exit_code: 1}
  - {at: 59s, kind: crash, job: early, rank: 0, exit_code: 1}
)"};
  for (const char* text : jobs) {
    SCOPED_TRACE(text);
    MemoryStore store;
    record(std::string("policy: srtf\ncluster: {nodes: 6, gpus_per_node: 2}\n") + text, store);
    const RecordedBasis rehearsal = rehearsal_of(store);
    EXPECT_GT(rehearsal.recorded.summary.restarts, 0U);
    for (const JobTruth& truth : rehearsal.truth.jobs) EXPECT_EQ(truth.known, WorkKnown::Observed);
    EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
  }
}

// A device that is lost tells of the last checkpoint, and of all that was done, at the rate that
// holds until the worker ends.
TEST(WhatIf, WhatALostDeviceTookIsALoss) {
  for (const char* const interval : {"20s", "30s", "50s"}) {
    SCOPED_TRACE(interval);
    MemoryStore store;
    record(std::string(R"(
cluster: {nodes: 2, gpus_per_node: 1}
jobs:
  - {name: a, work: 98s}
faults:
  - {kind: device_lost, node: 0, devices: 0, at: 72.3s, lasting: 60s}
timing: {checkpoint_interval: )") +
               interval + "}\n",
           store);
    const RecordedBasis rehearsal = rehearsal_of(store);
    ASSERT_EQ(rehearsal.truth.jobs.size(), 1U);
    EXPECT_EQ(rehearsal.truth.jobs[0].known, WorkKnown::Observed);
    EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
  }
}

TEST(WhatIf, WhoIsLeftByALostNodeWorksUntilThatIsFound) {
  for (const char* const job : {"{name: a, replicas: 2, work: 45s}",
                                "{name: a, replicas: 2, work: 45s, at: 1s}",
                                "{name: a, replicas: 2, work: 300s, recovery: job}"}) {
    SCOPED_TRACE(job);
    MemoryStore store;
    record(std::string(R"(
cluster: {nodes: 2, gpus_per_node: 1}
timing: {checkpoint_interval: 20s}
faults:
  - {kind: down, node: 1, at: 18s, lasting: 30s}
jobs:
  - )") + job + "\n",
           store);
    const RecordedBasis rehearsal = rehearsal_of(store);
    EXPECT_EQ(rehearsal.truth.jobs[0].known, WorkKnown::Observed);
    EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
  }
}

TEST(WhatIf, ASizeOfWhichNoRateWasToldHasTheOneBefore) {
  MemoryStore store;
  record(R"(
cluster: {nodes: 1, gpus_per_node: 8}
timing: {stop: 10s}
jobs:
  - name: flat
    replicas: {min: 1, max: 6}
    preemptible: false
    backoff_base: 10s
    work: {units: 200, scaling: {table: {1: 1}}}
requests:
  - {at: 10s, job: flat, scale: {set: 3}}
  - {at: 25s, job: flat, scale: {set: 5}}
faults:
  - {at: 50s, kind: crash, job: flat, rank: 0}
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(rehearsal.truth.jobs.front().known, WorkKnown::Observed);
  EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
}

TEST(WhatIf, ASizeOfWhichNoRateWasToldLiesBetweenItsNeighbours) {
  MemoryStore store;
  record(R"(
cluster: {nodes: 1, gpus_per_node: 8}
jobs:
  - name: grows
    replicas: 1
    recovery: worker
    work: {units: 80, scaling: {table: {1: 1, 5: 3, 6: 3}}}
requests:
  - {at: 10s, job: grows, scale: {set: 5}}
faults:
  - {at: 14s, kind: crash, job: grows, role: worker, local: 2}
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(rehearsal.recorded.summary.restarts, 1U);
  EXPECT_EQ(rehearsal.truth.jobs.front().known, WorkKnown::Observed);
  EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
}

TEST(WhatIf, WhereNothingWasSavedNothingIsRestored) {
  MemoryStore store;
  record(R"(
cluster: {nodes: 2, gpus_per_node: 4}
timing: {start: 2s, stop: 2s, restore: 3s, rescale: 1s, checkpoint_interval: 60s}
jobs:
  - {name: anew, replicas: {min: 2, max: 4}, preemptible: false, rescale: restart, work: 100s}
  - {name: in-place, replicas: {min: 2, max: 4}, preemptible: false, work: 100s}
requests:
  - {at: 30s, job: anew, scale: {add: 1}}
  - {at: 30s, job: in-place, scale: {add: 1}}
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(rehearsal.truth.timing.restore, Duration::seconds(3));
  EXPECT_GT(rehearsal.truth.timing.checkpoint_interval, Duration::seconds(28));
  EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
}

TEST(WhatIf, AStopThatWasCutShortTakesLonger) {
  MemoryStore store;
  record(R"(
cluster: {nodes: 3, gpus_per_node: 2}
timing: {stop: 20s, checkpoint_interval: 30s}
jobs:
  - {name: warned, replicas: 4, backoff_limit: 0, unknown_deadline: 0s, work: 100s}
faults:
  - {at: 40s, kind: preemption_notice, node: 0, notice: 5s}
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(rehearsal.truth.timing.stop, Duration::seconds(10));
  EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
}

// The first report of a crash makes the controller ask the other worker to stop, which has crashed
// with it.
TEST(WhatIf, WorkersThatFailedTogetherDoSoAgain) {
  for (const char* kind : {"crash", "delete"}) {
    SCOPED_TRACE(kind);
    MemoryStore store;
    record(std::string(R"(
cluster: {nodes: 3, gpus_per_node: 2}
timing: {start: 5s, stop: 3s}
jobs:
  - {name: a, replicas: 2, recovery: job, work: 200s}
  - {name: c, replicas: 2, recovery: job, work: 200s}
  - {name: b, replicas: 2, recovery: job, work: 200s}
faults:
  - {at: 50s, node: 0, kind: )") +
               kind + "}\n  - {at: 60s, node: 1, kind: " + kind + R"(}
  - {at: 80s, kind: crash, job: b, rank: 0}
)",
           store);
    const RecordedBasis rehearsal = rehearsal_of(store);
    EXPECT_EQ(rehearsal.truth.timing.stop, Duration::seconds(3));
    EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
  }
}

TEST(WhatIf, WhatIsSetIsNotAssumed) {
  std::vector<Assumption> assumed{{"timing.stop", "a"}, {"timing.checkpoint_interval", "b"}};
  forget_what_is_set({{"timing.stopping", "1s"}, {"policy.period", "1s"}}, assumed);
  EXPECT_EQ(assumed.size(), 2U);
  forget_what_is_set({{"timing.checkpoint_interval", "60s"}}, assumed);
  ASSERT_EQ(assumed.size(), 1U);
  EXPECT_EQ(assumed[0].setting, "timing.stop");
  forget_what_is_set({{"timing", "{stop: 1s}"}}, assumed);
  EXPECT_TRUE(assumed.empty());
}

TEST(WhatIf, CountsLivesThatCameUp) {
  MemoryStore store;
  record(R"(
policy: fifo
cluster: {nodes: 2, gpus_per_node: 1}
timing: {start: 5s, stop: 1s}
jobs:
  - {name: moved, replicas: 1, backoff_limit: 3, work: 60s, workers: [{rank: 0, after: 20s, exit: 3}]}
faults:
  - {at: 2s, node: 0, kind: device_lost, devices: 0}
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  EXPECT_EQ(rehearsal.recorded.summary.restarts, 1U);
  EXPECT_EQ(changed(rehearsal, what_if(rehearsal, {})), "");
}

TEST(WhatIf, KnowsWhatItRefusedFromWhatItNeverCameTo) {
  MemoryStore store;
  record(R"(
policy: fifo
cluster: {nodes: 1, gpus_per_node: 4}
jobs:
  - {name: early, work: 60s}
  - {name: late, at: 100s, work: 60s}
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  const WhatIfRun run = what_if(rehearsal, {{"until", "50s"}});
  const std::vector<JobDifference> jobs = differences(rehearsal, run);
  EXPECT_NE(jobs[0].now, nullptr);
  EXPECT_TRUE(jobs[0].submitted);
  EXPECT_EQ(jobs[1].now, nullptr);
  EXPECT_FALSE(jobs[1].submitted);
}

TEST(WhatIf, OfAnotherPolicyHasTheSameWork) {
  MemoryStore store;
  record(drawn(7, "fifo", ""), store);
  MemoryStore truth;
  record(drawn(7, "tiresias", ""), truth);
  const RecordedBasis rehearsal = rehearsal_of(store);
  const WhatIfRun run = what_if(rehearsal, {{"policy", "tiresias"}});
  // Which is what Tiresias does with the same arrivals in the simulator itself, but for what fifo
  // has never shown: how long a restore and a stop take.
  const WhatIfRun told =
      what_if(rehearsal, {{"policy", "tiresias"}, {"timing.restore", "7s"}, {"timing.stop", "3s"}});
  const auto simulated = read_recorded_run(truth, "truth", {});
  ASSERT_TRUE(simulated);
  EXPECT_NE(changed(rehearsal, run), "");
  for (std::size_t k = 0; k < told.jobs.size(); ++k) {
    const JobOutcome& now = told.report.metrics->jobs()[told.jobs[k]];
    const JobOutcome& then = simulated->metrics->jobs()[simulated->jobs[k].id];
    EXPECT_EQ(now.finished, then.finished) << simulated->jobs[k].spec->name;
  }
}

TEST(WhatIf, SaysWhereUnfinishedWorkIsKnownFrom) {
  MemoryStore store;
  record(R"(
until: 100s
cluster: {nodes: 1, gpus_per_node: 4}
jobs:
  - {name: done, replicas: 1, work: 50s}
  - {name: stated, replicas: 1, estimate: 300s, work: 200s}
  - {name: like, replicas: 1, work: 200s}
  - {name: last, at: 90s, replicas: 1, work: 200s}
)",
         store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  const auto known = [&](std::size_t k) { return rehearsal.truth.jobs[k].known; };
  EXPECT_EQ(known(0), WorkKnown::Observed);
  EXPECT_NE(known(1), WorkKnown::Observed);
  EXPECT_EQ(known(2), WorkKnown::History);
  // It has worked for longer than the median by then, and not ended.
  EXPECT_GT(rehearsal.truth.jobs[2].job.work.units, 90);
  EXPECT_TRUE(what_if(rehearsal, {}).all_over);
}

// In a cluster the job may tell its rate before the controller knows of the last worker.
TEST(WhatIf, TakesARateThatComesBeforeTheLastReadinessForThatOfAllWorkers) {
  MemoryStore store;
  record(
      "cluster: {nodes: 1}\ntiming: {start: 5s}\n"
      "jobs: [{name: a, replicas: 2, work: {units: 80, throughput: 4}}]\n",
      store);
  auto recorded = read_recorded_run(store, "recorded", {});
  ASSERT_TRUE(recorded);
  std::vector<WorkFact>& facts = recorded->jobs.front().facts;
  ASSERT_GE(facts.size(), 2U);
  ASSERT_EQ(facts[0].kind, WorkFact::Kind::Members);
  ASSERT_EQ(facts[1].kind, WorkFact::Kind::Report);
  WorkFact first = facts[0];
  first.at = first.at - Duration::milliseconds(5);
  first.replicas = 1;
  first.whole = false;
  WorkFact early = facts[1];
  early.at = early.at - Duration::milliseconds(3);
  early.replicas = 1;
  early.whole = false;
  const WorkFact whole = facts[0];
  facts[0] = first;
  facts[1] = early;
  facts.insert(facts.begin() + 2, whole);
  const RunTruth truth = truth_of(*recorded);
  const scenarios::WorkSpec& work = truth.jobs.front().job.work;
  EXPECT_EQ(work.base_replicas, 2);
  EXPECT_EQ(work.base_rate, 8);
  EXPECT_NEAR(work.units, 80, 1e-6);
}

// Who goes on with fewer workers, waits for others or hangs falls behind, and has lost nothing.
TEST(WhatIf, TakesOnlyWorkThatWentBackForALoss) {
  struct Case {
    std::string text;
    Duration interval;  ///< Between checkpoints, as learned.
  };

  const std::string fails =
      "cluster: {nodes: 2, gpus_per_node: 2}\njobs: [{name: a, replicas: 4, work: 600s}]\n";
  for (const Case& each :
       {Case{fails + "timing: {start: 3s}\nfaults: [{at: 20s, kind: down, node: 1, lasting: 6s}]\n",
             {}},
        Case{fails + "faults: [{at: 20s, kind: hang, job: a, rank: 1, lasting: 60s}]\n", {}},
        Case{fails + "timing: {start: 3s, checkpoint_interval: 200s}\n"
                     "faults: [{at: 253s, kind: crash, job: a, rank: 0, exit_code: 1}, {at: 440s, "
                     "kind: crash, job: a, rank: 0, exit_code: 1}]\n",
             Duration::seconds(200)}}) {
    SCOPED_TRACE(each.text);
    MemoryStore store;
    record(each.text, store);
    const RunTruth truth = rehearsal_of(store).truth;
    EXPECT_EQ(truth.timing.checkpoint_interval, each.interval);
    EXPECT_EQ(truth.assumed.empty(), each.interval == Duration::zero());
  }
}

// In a cluster reports come milliseconds before or after what they tell of.
TEST(WhatIf, AReportThatIsALittleLateIsNoLossOfWork) {
  for (const char* fault : {"", "faults: [{at: 20s, kind: crash, job: a, rank: 0}]"}) {
    SCOPED_TRACE(fault);
    MemoryStore store;
    record(std::string("cluster: {nodes: 1}\ntiming: {start: 5s}\n"
                       "jobs: [{name: a, replicas: 2, work: 80s}]\n") +
               fault,
           store);
    auto recorded = read_recorded_run(store, "recorded", {});
    ASSERT_TRUE(recorded);
    std::vector<WorkFact>& facts = recorded->jobs.front().facts;
    const auto first = std::ranges::find(facts, WorkFact::Kind::Report, &WorkFact::kind);
    ASSERT_NE(first, facts.end());
    std::vector<WorkFact> more;
    for (int second = 1; second < 10; ++second) {
      WorkFact report = *first;
      report.at = report.at + Duration::seconds(second);
      report.done = report.rate * (second - 0.001 * second);
      more.push_back(report);
    }
    facts.insert(first + 1, more.begin(), more.end());
    const RunTruth truth = truth_of(*recorded);
    EXPECT_EQ(truth.timing.checkpoint_interval, Duration::zero());
    EXPECT_TRUE(truth.assumed.empty());
  }
}

TEST(WhatIf, RefusesPathsThatAreTheJournals) {
  MemoryStore store;
  record(drawn(1, "fifo", ""), store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  const auto refused = what_if_scenario(rehearsal, "j.db", "", {{"jobs[0].work", "1s"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors().front().text(),
            "--set jobs[0].work=1s: jobs[0].work: is no part of a what-if, whose jobs and faults "
            "are the journal's; set something below cluster, quotas, policy, placer, planner, "
            "controller, timing, seed, until, outputs");
  const auto unknown = what_if_scenario(rehearsal, "j.db", "", {{"timing.begin", "1s"}});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.errors().front().text().find("begin: is no key here"), std::string::npos)
      << unknown.errors().front().text();
}

TEST(WhatIf, OfAnotherClusterHasItsNodes) {
  MemoryStore store;
  record(drawn(2, "fifo", ""), store);
  const RecordedBasis rehearsal = rehearsal_of(store);
  const WhatIfRun more = what_if(rehearsal, {{"cluster.groups[0].nodes", "60"}});
  EXPECT_LT(more.report.summary.queue_avg_s, rehearsal.recorded.summary.queue_avg_s / 10);
  const WhatIfRun none = what_if(rehearsal, {{"cluster.groups[0].nodes", "1"}});
  EXPECT_FALSE(none.all_over);  // Some need eight devices.
}

}  // namespace
}  // namespace orrery::sim
