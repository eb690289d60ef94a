// Whole runs of `twin` beside its candidates alone, on random workloads, and the same with planted
// rehearsals that lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "tests/sim/rehearsal/model_runs.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::sim {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::vector<std::string> kCandidates{"fifo", "srtf", "las", "fit"};
constexpr double kRestart = 30;

/// Jobs in waves, some of them gangs, some elastic, some of which nobody knows how long they run.
std::string twin_jobs(std::uint64_t seed, const std::string& policy) {
  Random random = Random::stream(seed, "twin runs");
  const double elastic = random.uniform();
  const double stated = random.uniform();
  std::string out = "policy: " + policy + "\nseed: " + std::to_string(seed) +
                    "\ncluster: {nodes: 4, gpus_per_node: 4}\ntiming: {start: 5s, restore: 20s}\n" +
                    "controller: {retain_finished: 7d}\njobs:\n";
  std::int64_t at = 0;
  for (int k = 0; k < 60; ++k) {
    at += random.chance(0.7) ? random.between(0, 60) : random.between(0, 3000);
    const std::int64_t least = random.between(1, 6);
    const std::int64_t most =
        random.uniform() < elastic ? std::min<std::int64_t>(16, least * 3) : least;
    const std::int64_t work = random.between(60, random.chance(0.2) ? 9000 : 900);
    out += "  - {name: job-" + std::to_string(k) + ", at: " + std::to_string(at) +
           "s, replicas: {min: " + std::to_string(least) + ", max: " + std::to_string(most) +
           "}, preemptible: " + (random.chance(0.8) ? "true" : "false") +
           (random.uniform() < stated ? ", estimate: " + std::to_string(work) + "s" : "") +
           ", work: " + std::to_string(work) + "s}\n";
  }
  return out;
}

struct Compared {
  std::vector<double> alone;  ///< Mean JCT of each candidate, in seconds.
  double twin = 0;
  std::size_t changes = 0;
};

Summary summary_of(const std::string& text, std::shared_ptr<Rehearsal> rehearsal) {
  const auto scenario = scenarios::parse_scenario(text, "twin.yaml");
  EXPECT_TRUE(scenario);
  const auto loaded = LoadedWorkload::load(*scenario);
  policies::PolicyArguments arguments;
  arguments.seed = scenario->seed;
  for (const scenarios::Parameter& parameter : scenario->policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  arguments.rehearsal = std::move(rehearsal);
  const auto policy = policies::make_policy(scenario->policy.name, arguments);
  EXPECT_TRUE(policy);
  const auto report = run_model(*scenario, *loaded, **policy, {});
  EXPECT_TRUE(report);
  return report->summary;
}

Compared compare(std::uint64_t seed,
                 std::shared_ptr<Rehearsal> rehearsal,
                 const std::string& margin) {
  Compared out;
  std::string candidates;
  for (const std::string& candidate : kCandidates) {
    candidates += (candidates.empty() ? "" : "; ") + candidate;
    out.alone.push_back(summary_of(twin_jobs(seed, candidate), nullptr).jct_avg_s);
  }
  const Summary twin = summary_of(twin_jobs(seed,
                                            "{name: twin, period: 60s, margin: " + margin +
                                                ", candidates: \"" + candidates + "\"}"),
                                  std::move(rehearsal));
  out.twin = twin.jct_avg_s;
  out.changes = twin.policy_choices.size() - 1;
  return out;
}

/// What is promised of runs on many workloads, and was not kept.
std::vector<std::string> broken_promises(const std::vector<Compared>& results) {
  std::vector<std::string> broken;
  double best = 0;
  double twin = 0;
  std::size_t changes = 0;
  for (const Compared& result : results) {
    const auto [least, most] = std::ranges::minmax(result.alone);
    best += least;
    twin += result.twin;
    changes += result.changes;
    // A change may stop every job once.
    const double cost = kRestart * static_cast<double>(result.changes);
    if (result.twin > most * 1.02 + cost)
      broken.push_back("worst: " + std::to_string(result.twin) + " s, the worst candidate has " +
                       std::to_string(most) + " s and changes cost " + std::to_string(cost) + " s");
  }
  const auto runs = static_cast<double>(results.size());
  if (twin > 1.1 * best)
    broken.push_back("best: " + std::to_string(twin / runs) + " s in the mean, the best are at " +
                     std::to_string(best / runs) + " s");
  if (static_cast<double>(changes) > 15 * runs)
    broken.push_back("hysteresis: " + std::to_string(changes) + " changes in " +
                     std::to_string(results.size()) + " runs");
  return broken;
}

using MakeRehearsal = std::function<std::shared_ptr<Rehearsal>()>;

std::vector<std::string> promises_broken_by(const MakeRehearsal& make,
                                            const std::string& margin = "0.02") {
  std::vector<Compared> results;
  for (std::uint64_t seed = 1; seed <= tests::count_of(6, 20); ++seed)
    results.push_back(compare(seed, make(), margin));
  return broken_promises(results);
}

TEST(TwinRuns, AreNearTheBestAndNeverWorseThanTheWorst) {
  EXPECT_THAT(promises_broken_by([] { return std::make_shared<ForkedRehearsal>(); }), IsEmpty());
}

TEST(TwinRuns, AreEqualForEqualSeeds) {
  const auto once = [] {
    return summary_of(twin_jobs(7, "{name: twin, period: 60s}"),
                      std::make_shared<ForkedRehearsal>());
  };
  EXPECT_EQ(once().state_digest, once().state_digest);
}

// ---- Planted: rehearsals that lie ----

class Lying : public Rehearsal {
 public:
  std::optional<RehearsedRun> run(const ClusterView& view,
                                  Policy& candidate,
                                  const RehearsalOptions& options) override {
    auto told = truth_.run(view, candidate, options);
    if (told) spoil(view, *told);
    return told;
  }

 private:
  virtual void spoil(const ClusterView& view, RehearsedRun& told) = 0;

  ForkedRehearsal truth_;
};

/// Tells the worst candidate for the best.
class Inverts final : public Lying {
  void spoil(const ClusterView& view, RehearsedRun& told) override {
    told.until = Instant::never();
    for (RehearsedJob& job : told.jobs) {
      const double left = job.ended.is_never() ? 1e5 : (job.ended - view.now()).in_seconds();
      job.ended = view.now() + Duration::from_seconds(1e6 - std::min(left, 9e5));
    }
  }
};

/// Tells what comes as if it were a tenth longer or shorter.
class IsNoisy final : public Lying {
  void spoil(const ClusterView& view, RehearsedRun& told) override {
    const double factor = 0.8 + 0.4 * random_.uniform();
    for (RehearsedJob& job : told.jobs)
      if (!job.ended.is_never())
        job.ended =
            view.now() + Duration::from_seconds((job.ended - view.now()).in_seconds() * factor);
  }

  Random random_ = Random::stream(1, "noise");
};

TEST(TwinRunsPlanted, ChoosingTheWorstIsFound) {
  EXPECT_THAT(promises_broken_by([] { return std::make_shared<Inverts>(); }, "0"),
              Contains(StartsWith("best")));
}

TEST(TwinRunsPlanted, ChangingWithoutReasonIsFound) {
  EXPECT_THAT(promises_broken_by([] { return std::make_shared<IsNoisy>(); }, "0"),
              Contains(StartsWith("hysteresis")));
}

}  // namespace
}  // namespace orrery::sim
