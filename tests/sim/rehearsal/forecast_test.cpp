// A state goes on in world `model` as the run that it was taken from went on.

#include "sim/rehearsal/forecast.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "core/base/random.hpp"
#include "core/driver/replay.hpp"
#include "tests/sim/rehearsal/model_runs.hpp"

namespace orrery::sim {
namespace {

/// Runs a scenario up to `until` (or its end) and folds its journal.
Controller state_of(const std::string& text, const std::string& until) {
  Controller controller;
  MemoryStore store;
  record(text,
         store,
         until.empty() ? std::vector<scenarios::Override>{}
                       : std::vector<scenarios::Override>{{"until", until}});
  EXPECT_TRUE(replay(store, controller));
  return controller;
}

Forecast foretell(const Controller& from, const ForecastOptions& options = {}) {
  const scenarios::Scenario scenario = forked_scenario(from.state());
  const auto policy = policy_of(scenario);
  auto out = forecast(from, scenario, *policy, options);
  EXPECT_TRUE(out);
  return std::move(*out);
}

/// Jobs that are all submitted within 100 s, and state how long they run.
std::string jobs_drawn(std::uint64_t seed, const std::string& policy) {
  Random random = Random::stream(seed, "forecast test");
  std::string out = "policy: " + policy + "\nseed: " + std::to_string(seed) +
                    "\ncluster: {nodes: 4, gpus_per_node: 4}\n" +
                    "controller: {retain_finished: 7d}\njobs:\n";
  for (int k = 0; k < 30; ++k) {
    const std::string work = std::to_string(random.between(50, 900)) + "s";
    out += "  - {name: job-" + std::to_string(k) + ", at: " + std::to_string(k * 3) +
           "s, replicas: " + std::to_string(random.between(1, 6)) +
           ", preemptible: " + (random.chance(0.5) ? "true" : "false") + ", estimate: " + work +
           ", work: " + work + "}\n";
  }
  return out;
}

// Devices are free, and the queue of the second job may not hold more of them.
TEST(Forecast, KeepsTheQueuesInFrontOfThePolicy) {
  const Controller then = state_of(R"(
policy: {name: fifo, queues: {tree: [{name: small, limit: 4}]}}
cluster: {nodes: 4, gpus_per_node: 4}
jobs:
  - {name: first, group: small, replicas: 4, estimate: 100s, work: 100s}
  - {name: second, group: small, replicas: 4, estimate: 50s, work: 50s}
  - {name: other, replicas: 4, estimate: 50s, work: 50s}
)",
                                   "10s");
  const Forecast foretold = foretell(then);
  ASSERT_EQ(foretold.jobs.size(), 3U);
  EXPECT_TRUE(foretold.jobs[0].runs);
  EXPECT_FALSE(foretold.jobs[1].runs);
  EXPECT_NE(foretold.jobs[1].waits_for.find("its queue small may hold 4 devices"),
            std::string::npos)
      << foretold.jobs[1].waits_for;
  EXPECT_EQ(foretold.jobs[1].start, foretold.jobs[0].end);
  EXPECT_TRUE(foretold.jobs[2].runs);
}

TEST(Forecast, WhoWaitsForPlacesThatOthersGiveBackHasNotStarted) {
  const Controller then = state_of(R"(
policy: fifo
cluster: {nodes: 1, gpus_per_node: 4}
timing: {stop: 30s}
jobs:
  - {name: low, replicas: 4, preemptible: true, drain_grace: 60s, estimate: 1000s, work: 1000s}
  - {name: high, at: 10s, replicas: 4, priority: high, estimate: 50s, work: 50s}
)",
                                   "20s");
  ASSERT_TRUE(then.state().job(JobId{1}).row.holds) << "it has its places, which drain";
  const Forecast foretold = foretell(then);
  EXPECT_FALSE(foretold.jobs[1].runs);
  EXPECT_NE(foretold.jobs[1].waits_for, "");
  EXPECT_FALSE(foretold.jobs[1].start.is_never());
  EXPECT_EQ(foretold.jobs[1].nodes.size(), 1U);
}

TEST(Forecast, IsWhatTheRunCameTo) {
  for (const char* policy : {"fifo", "easy", "srtf"})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(std::string(policy) + ", seed " + std::to_string(seed));
      const std::string text = jobs_drawn(seed, policy);
      const Controller then = state_of(text, "120s");
      const Controller end = state_of(text, "");
      const Forecast told = foretell(then);
      ASSERT_GT(told.jobs.size(), 15U);
      for (const JobForecast& job : told.jobs) {
        const JobState* truth = end.state().find(job.id);
        ASSERT_NE(truth, nullptr);
        EXPECT_EQ(job.known, RemainingKnown::Declared);
        EXPECT_TRUE(job.succeeds);
        EXPECT_NEAR((job.end - truth->finished_at).in_seconds(), 0, 1e-3) << job.name;
        // One that was preempted has started before.
        if (truth->started_at > told.now) {
          EXPECT_NEAR((job.start - truth->started_at).in_seconds(), 0, 1e-3) << job.name;
        }
      }
    }
}

TEST(Forecast, ReadsNothingButTheState) {
  const auto text = [](const char* work) {
    return std::string(R"(
cluster: {nodes: 1, gpus_per_node: 4}
jobs:
  - {name: runs, replicas: 4, estimate: 300s, work: )") +
           work + R"(}
  - {name: waits, at: 1s, replicas: 4, estimate: 50s, work: 60s}
  - {name: later, at: 30s, replicas: 4, work: 60s}
)";
  };
  const Controller slow = state_of(text("900s"), "40s");
  const Controller fast = state_of(text("100s"), "40s");
  ASSERT_EQ(slow.digest(), fast.digest());
  const Forecast one = foretell(slow);
  const Forecast other = foretell(fast);
  ASSERT_EQ(one.jobs.size(), 3U);
  for (std::size_t k = 0; k < one.jobs.size(); ++k) {
    EXPECT_EQ(one.jobs[k].start, other.jobs[k].start);
    EXPECT_EQ(one.jobs[k].end, other.jobs[k].end);
  }
  EXPECT_EQ(one.jobs[1].start, Instant{} + Duration::seconds(300));
  EXPECT_EQ(one.jobs[2].known, RemainingKnown::Nothing);
}

TEST(Forecast, LeavesTheControllerAsItWas) {
  const Controller from = state_of(jobs_drawn(3, "easy"), "120s");
  const Digest before = from.digest();
  foretell(from);
  EXPECT_EQ(from.digest(), before);
}

TEST(Forecast, TellsOfAJobThatIsNotSubmitted) {
  const Controller from = state_of(R"(
policy: fifo
cluster: {nodes: 1, gpus_per_node: 4}
jobs:
  - {name: runs, replicas: 4, estimate: 100s, work: 100s}
  - {name: waits, at: 1s, replicas: 4, estimate: 50s, work: 50s}
)",
                                   "10s");
  JobSpec spec = *from.state().job(JobId{1}).spec;
  spec.name = "default.urgent";
  spec.priority = 100;
  spec.estimate = Duration::seconds(20);
  ForecastOptions options;
  options.submitted = std::make_shared<const JobSpec>(spec);
  const Forecast with = foretell(from, options);
  const Forecast without = foretell(from);
  ASSERT_EQ(with.jobs.size(), 3U);
  EXPECT_EQ(with.jobs[2].start, Instant{} + Duration::seconds(100));
  EXPECT_EQ(with.jobs[2].end, Instant{} + Duration::seconds(120));
  // It goes first, so the other one waits for longer.
  EXPECT_EQ(with.jobs[1].end - without.jobs[1].end, Duration::seconds(20));
  EXPECT_EQ(from.state().named("default.urgent"), JobId::none());

  spec.name = "default.waits";
  options.submitted = std::make_shared<const JobSpec>(spec);
  EXPECT_NE(foretell(from, options).refused, "");
  spec.name = "default.wide";
  RoleSpec wide = spec.roles[0];
  wide.min_replicas = wide.max_replicas = 8;
  spec.roles.clear();
  spec.roles.push_back(wide);
  options.submitted = std::make_shared<const JobSpec>(spec);
  const Forecast never = foretell(from, options);
  EXPECT_TRUE(never.jobs.back().never_fits);
  EXPECT_TRUE(never.jobs.back().start.is_never());
}

TEST(Forecast, GoesOnWithLostNodesAndWithoutAJob) {
  const Controller from = state_of(R"(
cluster: {nodes: 2, gpus_per_node: 4}
jobs:
  - {name: runs, replicas: 4, estimate: 100s, work: 100s}
  - {name: waits, at: 1s, replicas: 4, estimate: 50s, work: 50s}
  - {name: next, at: 2s, replicas: 4, estimate: 50s, work: 50s}
faults:
  - {at: 20s, node: 1, kind: down}
)",
                                   "60s");
  const Forecast all = foretell(from);
  const JobForecast& last = all.jobs.back();
  EXPECT_FALSE(last.end.is_never());
  ForecastOptions options;
  options.without = all.jobs.front().id;
  const Forecast less = foretell(from, options);
  EXPECT_LT(less.jobs.back().end, last.end);
}

// Workers that were started anew stand in the world beside those of the first start.
TEST(Forecast, GoesOnWithWorkersOfSeveralStarts) {
  const Controller from = state_of(R"(
cluster: {nodes: 3, gpus_per_node: 4}
jobs:
  - {name: mends, replicas: 6, estimate: 500s, work: 500s}
  - {name: waits, at: 1s, replicas: 8, estimate: 50s, work: 50s}
faults:
  - {at: 20s, kind: crash, job: mends, rank: 1}
  - {at: 60s, kind: crash, job: mends, rank: 4}
)",
                                   "100s");
  const JobState& mends = from.state().job(from.state().named("default.mends"));
  std::set<Incarnation> starts;
  for (const Worker& worker : mends.workers) starts.insert(worker.incarnation);
  ASSERT_EQ(starts.size(), 3U);
  const Forecast told = foretell(from);
  ASSERT_EQ(told.jobs.size(), 2U);
  for (const JobForecast& job : told.jobs) EXPECT_TRUE(job.succeeds);
  EXPECT_EQ(told.jobs[0].end, told.now + told.jobs[0].remaining);
  EXPECT_EQ(told.jobs[1].start, told.jobs[0].end);
}

TEST(Forecast, EndsWhenItHasTakenItsRecords) {
  const Controller from = state_of(jobs_drawn(1, "easy"), "120s");
  ForecastOptions options;
  options.records_max = 20;
  const Forecast cut = foretell(from, options);
  EXPECT_TRUE(cut.cut_short);
  EXPECT_LT(cut.records, 100U);
}

}  // namespace
}  // namespace orrery::sim
