// What a state leads to under a candidate, by nothing but what the controller knows.
#include "sim/rehearsal/rehearsed_candidates.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/base/random.hpp"
#include "core/control/state_view.hpp"
#include "core/driver/replay.hpp"
#include "tests/sim/rehearsal/model_runs.hpp"
#include "tests/support/fake_view.hpp"

namespace orrery::sim {
namespace {

/// Jobs that come within 90 s; `truth` draws how long they run, which is what they state where
/// `stated` is the same.
std::string drawn_jobs(std::uint64_t seed,
                       std::uint64_t truth,
                       std::uint64_t stated,
                       const std::string& policy) {
  Random shapes = Random::stream(seed, "shapes");
  Random truths = Random::stream(truth, "run times");
  Random states = Random::stream(stated, "run times");
  std::string out = "policy: " + policy + "\nseed: " + std::to_string(seed) +
                    "\ncluster: {nodes: 4, gpus_per_node: 4}\n" +
                    "controller: {retain_finished: 7d}\njobs:\n";
  for (int k = 0; k < 30; ++k)
    out += "  - {name: job-" + std::to_string(k) + ", at: " + std::to_string(k * 3) +
           "s, replicas: " + std::to_string(shapes.between(1, 6)) +
           ", preemptible: true, estimate: " + std::to_string(states.between(100, 900)) +
           "s, work: " + std::to_string(truths.between(100, 900)) + "s}\n";
  return out;
}

Controller state_at(const std::string& text, const std::string& until) {
  Controller controller;
  MemoryStore store;
  record(text,
         store,
         until.empty() ? std::vector<scenarios::Override>{}
                       : std::vector<scenarios::Override>{{"until", until}});
  EXPECT_TRUE(replay(store, controller));
  return controller;
}

RehearsedRun rehearsed(const Controller& from,
                       const std::string& policy,
                       RehearsalOptions options = {}) {
  if (options.events_max == 0) options.events_max = 1'000'000;
  const auto candidate = policies::make_policy(policy).value();
  ForkedRehearsal rehearsal;
  const StateView view(from.state(), {}, false);
  auto run = rehearsal.run(view, *candidate, options);
  EXPECT_TRUE(run);
  return run ? *run : RehearsedRun{};
}

std::map<JobId, Instant> ends_of(const RehearsedRun& run) {
  std::map<JobId, Instant> out;
  for (const RehearsedJob& job : run.jobs) out[job.id] = job.ended;
  return out;
}

TEST(RehearsedCandidates, WhereStatedTimesAreRightItIsWhatComes) {
  for (const char* policy : {"fifo", "easy", "srtf"})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const std::string text = drawn_jobs(seed, seed, seed, policy);
      const RehearsedRun run = rehearsed(state_at(text, "200s"), policy);
      const Controller at_end = state_at(text, "");
      EXPECT_FALSE(run.jobs.empty());
      EXPECT_TRUE(run.until.is_never());
      for (const RehearsedJob& job : run.jobs) {
        const JobState& came = at_end.state().job(job.id);
        // Work in floating point: a nanosecond or so.
        EXPECT_LT(std::abs((job.ended - came.finished_at).ns), 1000)
            << policy << ", seed " << seed << ", " << came.spec->name;
        EXPECT_EQ(job.submitted, came.row.submitted);
      }
    }
}

// The controllers know the same, the worlds differ.
TEST(RehearsedCandidates, WhatTheControllerDoesNotKnowDoesNotCount) {
  for (const char* policy : {"fifo", "srtf", "las"})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Controller one = state_at(drawn_jobs(seed, 100 + seed, seed, "fifo"), "95s");
      const Controller other = state_at(drawn_jobs(seed, 200 + seed, seed, "fifo"), "95s");
      ASSERT_EQ(one.digest(), other.digest()) << "seed " << seed;
      EXPECT_EQ(ends_of(rehearsed(one, policy)), ends_of(rehearsed(other, policy)))
          << policy << ", seed " << seed;
    }
}

TEST(RehearsedCandidates, TheLiveStateStaysAsItIs) {
  const Controller from = state_at(drawn_jobs(1, 1, 1, "fifo"), "200s");
  const Digest before = from.digest();
  rehearsed(from, "srtf");
  EXPECT_EQ(from.digest(), before);
}

TEST(RehearsedCandidates, EndWithTheirBudget) {
  const Controller from = state_at(drawn_jobs(1, 1, 1, "fifo"), "200s");
  const RehearsedRun whole = rehearsed(from, "srtf");
  RehearsalOptions options;
  options.events_max = whole.events / 2;
  const RehearsedRun cut = rehearsed(from, "srtf", options);
  // The batch in which it is used up is stepped whole.
  EXPECT_GE(cut.events, options.events_max);
  EXPECT_LT(cut.events, options.events_max + 40);
  EXPECT_FALSE(cut.until.is_never());
  const auto ends = ends_of(whole);
  for (const RehearsedJob& job : cut.jobs) {
    const Instant end = ends.at(job.id);
    if (end == cut.until) continue;  // The budget may end before it, at the same instant.
    EXPECT_EQ(job.ended, end < cut.until ? end : Instant::never());
  }
}

TEST(RehearsedCandidates, EndWhereTheyAreToldTo) {
  const Controller from = state_at(drawn_jobs(1, 1, 1, "fifo"), "200s");
  for (const std::string policy : {"srtf", "las"}) {
    const auto ends = ends_of(rehearsed(from, policy));
    for (const auto& [last, end] : ends) {
      RehearsalOptions options;
      options.until = end;
      const RehearsedRun cut = rehearsed(from, policy, options);
      EXPECT_TRUE(cut.until == end || cut.until.is_never());
      for (const RehearsedJob& job : cut.jobs)
        EXPECT_EQ(job.ended, ends.at(job.id) <= end ? ends.at(job.id) : Instant::never());
    }
  }
}

/// Another policy that counts how often it is asked in a cycle, and is settled only where told so.
class Counted final : public Policy {
 public:
  Counted(std::unique_ptr<Policy> policy, bool settles)
      : policy_(std::move(policy)), settles_(settles) {}

  std::string_view name() const override { return policy_->name(); }

  Triggers triggers() const override { return policy_->triggers(); }

  bool sizes_jobs() const override { return policy_->sizes_jobs(); }

  bool is_settled() const override { return settles_ && policy_->is_settled(); }

  Plan allocate(const JobView& job, const ClusterView& view) override {
    return policy_->allocate(job, view);
  }

  Plan optimize(const ClusterView& view) override {
    ++asked_;
    return policy_->optimize(view);
  }

  void save(ByteWriter& out) const override { policy_->save(out); }

  void load(ByteReader& in) override { policy_->load(in); }

  std::uint64_t asked() const { return asked_; }

 private:
  std::unique_ptr<Policy> policy_;
  bool settles_;
  std::uint64_t asked_ = 0;
};

/// Fixed and elastic jobs of a few hours, most of them submitted in the first minutes.
std::string mixed_jobs(std::uint64_t seed) {
  Random random = Random::stream(seed, "mixed jobs");
  std::string out = "policy: fit\nseed: " + std::to_string(seed) +
                    "\ncluster: {nodes: 3, gpus_per_node: 4}\njobs:\n";
  for (int k = 0; k < 14; ++k) {
    const auto least = random.between(1, 3);
    const bool elastic = seed % 2 == 0 && k % 3 == 0;
    out += "  - {name: job-" + std::to_string(k) + ", at: " + std::to_string(k * 20) +
           "s, replicas: " +
           (elastic ? "{min: " + std::to_string(least) + ", max: " + std::to_string(least * 3) + "}"
                    : std::to_string(least)) +
           ", priority: " + std::to_string(random.between(0, 1)) +
           ", preemptible: true, work: " + std::to_string(random.between(600, 20000)) + "s}\n";
  }
  return out;
}

TEST(RehearsedCandidates, CyclesThatArePassedOverChangeNothing) {
  std::uint64_t asked = 0;
  std::uint64_t asked_all = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Controller from = state_at(mixed_jobs(seed), "400s");
    const StateView view(from.state(), {}, false);
    ForkedRehearsal rehearsal;
    RehearsalOptions options;
    options.draw = seed;
    options.restart = Duration::seconds(30);
    // Also where the budget or the end comes in the middle of what is passed over.
    for (const std::uint64_t events_max : {100'000U, 700U, 301U, 300U, 150U, 77U})
      for (const Instant until : {Instant::never(), Instant{} + Duration::seconds(3 * 3600 + 7)}) {
        options.events_max = events_max;
        options.until = until;
        Counted settles(policies::make_policy("fit").value(), true);
        Counted never(policies::make_policy("fit").value(), false);
        const auto run = rehearsal.run(view, settles, options);
        const auto whole = rehearsal.run(view, never, options);
        ASSERT_TRUE(run && whole);
        EXPECT_EQ(run->events, whole->events) << events_max;
        EXPECT_EQ(run->until, whole->until) << events_max;
        ASSERT_EQ(run->jobs.size(), whole->jobs.size());
        for (std::size_t i = 0; i < run->jobs.size(); ++i) {
          EXPECT_EQ(run->jobs[i].started, whole->jobs[i].started) << events_max << ", job " << i;
          EXPECT_EQ(run->jobs[i].ended, whole->jobs[i].ended) << events_max << ", job " << i;
        }
        asked += settles.asked();
        asked_all += never.asked();
      }
  }
  EXPECT_LT(asked * 3, asked_all) << "most of them are passed over";
}

TEST(RehearsedCandidates, UnknownRunTimesAreDrawnFromThoseThatEnded) {
  const Controller from = state_at(R"(
policy: fifo
cluster: {nodes: 1, gpus_per_node: 1}
jobs:
  - {name: only, work: 1h}
  - {name: other, at: 40s, work: 1h}
)",
                                   "40s");
  RehearsalOptions options;
  options.ended.assign(20, {Duration::seconds(100), Duration::zero()});
  EXPECT_EQ(rehearsed(from, "fifo", options).jobs.at(0).ended, Instant{} + Duration::seconds(100));
  // It has run longer than all of them: as if nothing were known.
  options.ended.assign(20, {Duration::seconds(30), Duration::zero()});
  options.draw = 1;
  const Instant one = rehearsed(from, "fifo", options).jobs.at(0).ended;
  EXPECT_EQ(rehearsed(from, "easy", options).jobs.at(0).ended, one) << "equal for all candidates";
  EXPECT_GT(one, Instant{} + Duration::seconds(600));
  options.draw = 2;
  EXPECT_NE(rehearsed(from, "fifo", options).jobs.at(0).ended, one);
}

TEST(RehearsedCandidates, StatedTimesAreAsFarOffAsThoseThatEnded) {
  const Controller from = state_at(R"(
policy: fifo
cluster: {nodes: 1, gpus_per_node: 1}
jobs:
  - {name: only, estimate: 100s, work: 1h}
)",
                                   "40s");
  RehearsalOptions options;
  EXPECT_EQ(rehearsed(from, "fifo", options).jobs.at(0).ended, Instant{} + Duration::seconds(100));
  options.ended.assign(20, {Duration::seconds(300), Duration::seconds(100)});
  EXPECT_EQ(rehearsed(from, "fifo", options).jobs.at(0).ended, Instant{} + Duration::seconds(300));
}

TEST(RehearsedCandidates, WithoutAStateThereIsNone) {
  testing::FakeCluster cluster;
  cluster.add_nodes(1, 1);
  ForkedRehearsal rehearsal;
  const auto candidate = policies::make_policy("fifo").value();
  EXPECT_FALSE(rehearsal.run(cluster, *candidate, {}));
}

}  // namespace
}  // namespace orrery::sim
