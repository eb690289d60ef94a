// Rehearsals without a model: what they tell is scripted, or follows from nothing but their
// arguments.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/plan/rehearsal.hpp"

namespace orrery::testing {

/// The run in which every live job of the view ends so many seconds from now.
inline RehearsedRun ends_after(const ClusterView& view, double seconds) {
  RehearsedRun run;
  run.events = 10;
  std::vector<JobId> ids(view.holding().begin(), view.holding().end());
  view.waiting().for_each([&](const WaitEntry& entry) {
    ids.push_back(entry.job);
    return true;
  });
  std::ranges::sort(ids);
  for (const JobId id : ids)
    run.jobs.push_back(
        {id, view.row(id).submitted, view.now(), view.now() + Duration::from_seconds(seconds)});
  run.until = Instant::never();
  return run;
}

/// Tells nonsense, another one at each instant, and the same to equal questions.
class FakeRehearsal final : public Rehearsal {
 public:
  std::optional<RehearsedRun> run(const ClusterView& view,
                                  Policy& candidate,
                                  const RehearsalOptions& options) override {
    const auto seed = static_cast<std::uint64_t>(view.now().ns) ^ options.draw;
    Random random = Random::stream(seed, candidate.name());
    return ends_after(view, 100 + static_cast<double>(random.below(1000)));
  }
};

/// Tells of each candidate, by its versioned name, what the script says: seconds until all jobs
/// end.
class ScriptedRehearsal final : public Rehearsal {
 public:
  using Script = std::function<double(const std::string& policy, const ClusterView& view)>;

  explicit ScriptedRehearsal(Script script) : script_(std::move(script)) {}

  std::optional<RehearsedRun> run(const ClusterView& view,
                                  Policy& candidate,
                                  const RehearsalOptions& options) override {
    asked.push_back({std::string(candidate.name()), options});
    return ends_after(view, script_(asked.back().policy, view));
  }

  struct Asked {
    std::string policy;
    RehearsalOptions options;
  };

  std::vector<Asked> asked;

 private:
  Script script_;
};

}  // namespace orrery::testing
