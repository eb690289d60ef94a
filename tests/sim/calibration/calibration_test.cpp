// Journals of simulated clusters whose times are known: what is learned is what was set.

#include "sim/calibration/calibration.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "core/base/random.hpp"
#include "scenarios/language/yaml/yaml_text.hpp"
#include "tests/sim/rehearsal/model_runs.hpp"

namespace orrery::sim {
namespace {

using scenarios::FlowMap;
using scenarios::yaml_duration;
using scenarios::yaml_number;
using scenarios::yaml_spread;

ObservedTimes observed(const std::string& scenario) {
  MemoryStore store;
  record(scenario, store);
  const auto run = read_recorded_run(store, "journal", {});
  EXPECT_TRUE(run) << run.errors().front().text();
  return observed_times(*run, Duration::zero());
}

Calibration learned(const std::string& scenario) {
  return fit({observed(scenario)}, Duration::zero());
}

/// Elastic jobs that grow and shrink with what others leave, and workers and nodes that fail.
std::string busy(std::uint64_t seed, const std::string& timing) {
  return "seed: " + std::to_string(seed) + "\ntiming: " + timing + R"(
policy: {name: fit, period: 60s}
cluster: {nodes: 4, gpus_per_node: 4}
jobs:
  - {name: grows, replicas: {min: 2, max: 12}, preemptible: true, estimate: oracle, work: {units: 60000, throughput: 4}}
  - {name: stays, at: 7s, replicas: 3, estimate: oracle, work: {units: 2100, throughput: 3}}
  - {name: joins, at: 401s, replicas: {min: 1, max: 6}, preemptible: true, estimate: oracle, work: {units: 9000, throughput: 2}}
  - {name: fails, at: 90s, replicas: 2, backoff_limit: 9, work: 1500s, workers: [{rank: 1, after: 333s, exit: 3, times: 3}]}
  - {name: small, at: 1100s, replicas: 1, work: 300s}
faults:
  - {at: 1000s, node: 1, kind: down, for: 300s}
  - {at: 2200s, node: 2, kind: down, for: 200s}
)";
}

/// Times that are set in a simulated cluster.
struct KnownTimes {
  Duration start;
  Duration stop;
  Duration restore;
  Duration rescale;

  static KnownTimes drawn(std::uint64_t seed) {
    Random random = Random::stream(seed, "calibration");
    const auto between = [&](std::int64_t from_ms, std::int64_t to_ms) {
      return Duration::milliseconds(random.between(from_ms, to_ms));
    };
    return {between(500, 20'000), between(100, 8'000), between(100, 9'000), between(50, 6'000)};
  }

  std::string yaml() const {
    FlowMap map;
    map.duration("start", start).duration("stop", stop);
    map.duration("restore", restore).duration("rescale", rescale);
    return map.text();
  }
};

/// What was learned otherwise than it was set; empty: nothing.
std::string wrong(const KnownTimes& known, const Calibration& found) {
  std::string out;
  const auto compare = [&](const std::string& name, Duration is, Duration was, Duration slack) {
    if (std::abs(is.ns - was.ns) > slack.ns)
      out += name + " is " + yaml_duration(is) + ", was set to " + yaml_duration(was) + "\n";
  };
  compare("start", found.timing.start, known.start, {});
  compare("stop", found.timing.stop, known.stop, {});
  compare("restore", found.timing.restore, known.restore, {});
  // Progress is told in doubles, from which the pause is taken back.
  compare("rescale", found.timing.rescale, known.rescale, Duration{1'000});
  for (const FittedTime& time : found.times)
    if (time.held_out && time.held_out->error_p90 > 1e-6)
      out += std::string(orrery::to_string(time.kind)) + " varies, and was set not to\n";
  if (!found.timing.spread.start.empty() || !found.timing.spread.stop.empty())
    out += "starts or stops have a spread\n";
  return out;
}

TEST(Calibration, LearnsWhatWasSetToTheNanosecond) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const KnownTimes known = KnownTimes::drawn(seed);
    EXPECT_EQ(wrong(known, learned(busy(seed, known.yaml()))), "") << "seed " << seed;
  }
}

TEST(Calibration, LearnsTheSameThroughTheNoiseOfRealJournals) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const KnownTimes known = KnownTimes::drawn(seed);
    MemoryStore store;
    record(busy(seed, known.yaml()), store);
    const auto run = read_recorded_run(store, "journal", {});
    ASSERT_TRUE(run);
    const Duration noise = Duration::milliseconds(20);
    EXPECT_EQ(wrong(known, fit({observed_times(*run, noise)}, noise)), "") << "seed " << seed;
  }
}

// Learners that are wrong on purpose: the comparison above finds each, in every seed.
TEST(Calibration, AWrongLearnerIsFound) {
  struct Planted {
    const char* what;
    void (*change)(ObservedTimes&);
  };

  const auto move = [](ObservedTimes& times, TimeKind from, TimeKind to) {
    times.of(to).insert(times.of(to).end(), times.of(from).begin(), times.of(from).end());
    times.of(from).clear();
  };
  static const auto kMove = move;
  const Planted planted[] = {
      {"restarts are taken for first starts",
       [](ObservedTimes& times) { kMove(times, TimeKind::Restart, TimeKind::Start); }},
      {"first starts are taken for restarts",
       [](ObservedTimes& times) { kMove(times, TimeKind::Start, TimeKind::Restart); }},
      {"a pause counts twice",
       [](ObservedTimes& times) {
         for (Duration& pause : times.of(TimeKind::Rescale)) pause = pause * 2;
       }},
      {"stops end a millisecond early",
       [](ObservedTimes& times) {
         for (Duration& stop : times.of(TimeKind::Stop)) stop = stop - Duration::milliseconds(1);
       }},
      {"one start is taken from another job's order",
       [](ObservedTimes& times) {
         times.of(TimeKind::Start).front() += Duration::milliseconds(700);
       }},
      {"no restart is seen", [](ObservedTimes& times) { times.of(TimeKind::Restart).clear(); }},
  };
  for (const Planted& each : planted)
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const KnownTimes known = KnownTimes::drawn(seed);
      ObservedTimes times = observed(busy(seed, known.yaml()));
      ASSERT_EQ(wrong(known, fit({times}, Duration::zero())), "");
      each.change(times);
      EXPECT_NE(wrong(known, fit({times}, Duration::zero())), "")
          << each.what << ", seed " << seed << " is not found";
    }
}

TEST(Calibration, WorkersThatFailedTogetherTellNothingOfStops) {
  const Calibration found = learned(R"(
cluster: {nodes: 2, gpus_per_node: 2}
timing: {start: 5s, stop: 3s}
jobs:
  - {name: a, replicas: 2, recovery: job, work: 200s}
  - {name: b, replicas: 2, recovery: job, work: 200s}
faults:
  - {at: 50s, kind: crash, node: 0}
  - {at: 80s, kind: crash, job: b, rank: 0}
)");
  EXPECT_EQ(found.timing.stop, Duration::seconds(3));
  EXPECT_TRUE(found.timing.spread.stop.empty());
}

// One change comes 5 s before the report of the next size, whose pause goes on behind it.
TEST(Calibration, APauseThatAReportFallsIntoIsNotCutShort) {
  const Calibration found = learned(R"(
policy: fit
cluster: {nodes: 2, gpus_per_node: 4}
timing: {start: 5s, rescale: 20s}
jobs:
  - {name: elastic, replicas: {min: 1, max: 8}, work: {units: 7200, throughput: 1}}
  - {name: b, at: 5min, replicas: 4, work: 10min}
  - {name: c, at: 20min, replicas: 2, work: 5min}
)");
  EXPECT_NEAR(found.timing.rescale.in_seconds(), 20, 1e-6);
}

TEST(Calibration, FindsCheckpointsByWhatFailuresTook) {
  for (const int interval_s : {45, 60, 100, 170, 300}) {
    SCOPED_TRACE("checkpoints every " + std::to_string(interval_s) + " s");
    const Calibration found = learned(
        busy(1, "{start: 5s, stop: 1s, checkpoint_interval: " + std::to_string(interval_s) + "s}"));
    ASSERT_GT(found.losses, 1U);
    EXPECT_EQ(found.timing.checkpoint_interval, Duration::seconds(interval_s));
  }
}

TEST(Calibration, LearnsHowMuchTimesVary) {
  const std::string jobs = R"(
cluster: {nodes: 40, gpus_per_node: 8}
policy: fifo
workload:
  generator:
    jobs: 3000
    arrivals: {load: 0.5}
    duration: {lognormal: {median: 20min, sigma: 0.3}}
)";
  const Calibration found = learned("timing: {start: {quantiles: [2s, 4s, 5s, 6s, 40s]}}\n" + jobs);
  const scenarios::TimeSpread& start = found.timing.spread.start;
  ASSERT_EQ(start.quantiles.size(), 11U);
  // The true quantiles 0.1, 0.5 and 0.9; 3,000 draws are within a few hundredths of them.
  EXPECT_NEAR(start.at(0.1).in_seconds(), 2.8, 0.15);
  EXPECT_NEAR(start.at(0.5).in_seconds(), 5, 0.1);
  EXPECT_NEAR(start.at(0.9).in_seconds(), 26.4, 1.5);
  ASSERT_NE(found.find(TimeKind::Start), nullptr);
  const HeldOut& held_out = *found.find(TimeKind::Start)->held_out;
  EXPECT_EQ(held_out.samples, 1500U);
  EXPECT_NEAR(held_out.inside, 0.8, 0.03);
  // What is learned, set again, is learned again.
  scenarios::Scenario scenario;
  const Calibration again =
      learned("timing: {start: " + yaml_spread(start) + "}\nseed: 9\n" + jobs);
  EXPECT_NEAR(again.timing.start.in_seconds(), found.timing.start.in_seconds(), 0.1);
}

TEST(Calibration, RestoreIsWhatAStartFromACheckpointTakesBeyondOneWithout) {
  const Calibration found = learned(
      busy(3, "{start: {quantiles: [2s, 3s, 4s]}, restore: {quantiles: [5s, 10s]}, stop: 1s}"));
  const FittedTime* again = found.find(TimeKind::Restart);
  ASSERT_NE(again, nullptr);
  EXPECT_GE(again->shortest, Duration::seconds(7));
  EXPECT_LE(again->longest, Duration::seconds(14));
  EXPECT_GT(found.timing.restore, Duration::seconds(4));
  EXPECT_LT(found.timing.restore, Duration::seconds(11));
}

TEST(Calibration, LearnsHowFastDevicesAreFromJobsOfOneProfile) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Random random = Random::stream(seed, "speeds");
    const double h100 = static_cast<double>(random.between(11, 80)) / 10;
    const double v100 = static_cast<double>(random.between(2, 9)) / 10;
    std::string jobs;
    int at = 0;
    for (const char* profile : {"bert", "resnet"})
      for (const char* model : {"a100", "h100", "v100"})
        jobs += "  - {name: " + std::string(profile) + "-" + model +
                ", at: " + std::to_string(at++) + "s, profile: " + profile + ", gpu: " + model +
                ", replicas: 2, work: {units: 4000, throughput: " +
                std::to_string(profile[0] == 'b' ? 3 : 7) + "}}\n";
    const Calibration found = learned(
        "cluster:\n  groups:\n"
        "    - {name: one, nodes: 1, gpus_per_node: 8, gpu: a100}\n"
        "    - {name: two, nodes: 1, gpus_per_node: 8, gpu: h100}\n"
        "    - {name: three, nodes: 1, gpus_per_node: 8, gpu: v100}\n"
        "  devices: {a100: {speed: 1}, h100: {speed: " +
        yaml_number(h100) + "}, v100: {speed: " + yaml_number(v100) + "}}\njobs:\n" + jobs);
    ASSERT_EQ(found.speeds.size(), 3U) << "seed " << seed;
    EXPECT_EQ(found.speeds[0].model, "a100");
    EXPECT_EQ(found.speeds[1].model, "h100");
    EXPECT_NEAR(found.speeds[1].speed, h100, 1e-9) << "seed " << seed;
    EXPECT_EQ(found.speeds[2].model, "v100");
    EXPECT_NEAR(found.speeds[2].speed, v100, 1e-9) << "seed " << seed;
    EXPECT_EQ(found.speeds[2].count, 2U);
    EXPECT_THAT(calibration_yaml(found, "a test"),
                testing::HasSubstr("h100: {speed: " + yaml_number(h100) + "}"));
  }
  // One model alone says nothing of another.
  EXPECT_TRUE(learned("cluster: {nodes: 1, gpu: a100}\n"
                      "jobs: [{name: a, profile: bert, work: 9s}]\n")
                  .speeds.empty());
}

TEST(Calibration, OfSeveralJournalsEachIsHeldOutInTurn) {
  const ObservedTimes one = observed(busy(1, "{start: 4s, stop: 1s}"));
  const ObservedTimes two = observed(busy(2, "{start: 6s, stop: 1s}"));
  const Calibration found = fit({one, two}, Duration::zero());
  const FittedTime* start = found.find(TimeKind::Start);
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(start->count, one.of(TimeKind::Start).size() + two.of(TimeKind::Start).size());
  // 6 s where 4 s were foretold, and the other way round.
  EXPECT_NEAR(start->held_out->error_p90, 0.5, 1e-9);
  EXPECT_EQ(start->held_out->inside, 0);
  EXPECT_EQ(found.find(TimeKind::Stop)->held_out->error_p90, 0);
}

TEST(Calibration, WhatWasNotSeenIsSaid) {
  const Calibration found = learned("cluster: {nodes: 1}\njobs: [{name: a, work: 9s}]\n");
  EXPECT_THAT(found.remarks,
              testing::ElementsAre(testing::HasSubstr("restore is not said"),
                                   testing::HasSubstr("stop is not said"),
                                   testing::HasSubstr("rescale is not said"),
                                   testing::HasSubstr("checkpoint_interval is not said")));
  EXPECT_TRUE(observed("cluster: {nodes: 1}\njobs: [{name: a, replicas: 99, work: 9s}]\nuntil: 9s")
                  .of(TimeKind::Start)
                  .empty());
}

WorkFact reported(double at_s, double done, bool checkpointed) {
  WorkFact fact;
  fact.kind = WorkFact::Kind::Report;
  fact.at = Instant::zero() + Duration::from_seconds(at_s);
  fact.done = done;
  fact.rate = 2;
  fact.replicas = 1;
  fact.checkpointed = checkpointed;
  return fact;
}

TEST(Calibration, AStartAfterWhichNothingIsSaidIsNoRestart) {
  RecordedRun run;
  RecordedJob job;
  job.spec = std::make_shared<const JobSpec>();
  const auto up_at = [](std::int64_t s) { return Instant::zero() + Duration::seconds(s); };
  job.starts.push_back({.took = Duration::seconds(2), .up_at = up_at(2)});
  job.starts.push_back({.took = Duration::seconds(5), .restores = true, .up_at = up_at(20)});
  run.jobs.push_back(job);
  const ObservedTimes silent = observed_times(run, Duration::zero());
  EXPECT_THAT(silent.of(TimeKind::Start), testing::ElementsAre(Duration::seconds(2)));
  EXPECT_THAT(silent.of(TimeKind::Restart), testing::IsEmpty());
  // It had saved nothing.
  run.jobs[0].facts.push_back(reported(21, 0, false));
  const ObservedTimes afresh = observed_times(run, Duration::zero());
  EXPECT_THAT(afresh.of(TimeKind::Start),
              testing::ElementsAre(Duration::seconds(2), Duration::seconds(5)));
  EXPECT_THAT(afresh.of(TimeKind::Restart), testing::IsEmpty());
}

TEST(Calibration, WorkersThatTellOfCheckpointsTellWhatThoseCost) {
  RecordedRun run;
  RecordedJob job;
  job.spec = std::make_shared<const JobSpec>();
  // 60 s of work at 2 a second, then 3 s in which it stands still.
  for (int k = 0; k < 5; ++k) job.facts.push_back(reported(63.0 * k, 120.0 * k, true));
  run.jobs.push_back(job);
  const Calibration found = fit({observed_times(run, Duration::zero())}, Duration::zero());
  EXPECT_EQ(found.timing.checkpoint_cost, Duration::seconds(3));
  EXPECT_EQ(found.timing.checkpoint_interval, Duration::seconds(60));
}

TEST(Calibration, CheckpointsThatNoIntervalExplainsAreNotInvented) {
  const Duration noise = Duration::milliseconds(1);
  EXPECT_EQ(checkpoint_interval_of({}, {}, noise), Duration::zero());
  // Multiples of 30 s within the noise, where 17 s were lost once.
  EXPECT_EQ(checkpoint_interval_of({17, 3}, {60.0004, 89.9996}, noise), Duration::seconds(30));
  // Nothing fits: twice the longest loss.
  EXPECT_EQ(checkpoint_interval_of({17, 3}, {61, 40}, noise), Duration::seconds(34));
}

}  // namespace
}  // namespace orrery::sim
