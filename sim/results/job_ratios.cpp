#include "sim/results/job_ratios.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {
namespace {

__extension__ using Wide = __int128;

/// What all jobs that are there ask for, over time.
class Demand {
 public:
  Demand(const JobTable& jobs, Instant end) {
    std::vector<std::pair<Instant, std::int64_t>> changes;
    for (const JobOutcome& job : jobs.rows()) {
      if (!job.exists() || job.devices_requested == 0) continue;
      changes.emplace_back(job.submitted, job.devices_requested);
      changes.emplace_back(job.is_over() ? job.finished : std::max(end, job.submitted),
                           -job.devices_requested);
    }
    std::ranges::sort(changes);
    Step step;
    for (const auto& [at, change] : changes) {
      step.before += static_cast<Wide>(step.devices) * (at - step.at).ns;
      step.at = at;
      step.devices += change;
      if (!steps_.empty() && steps_.back().at == at)
        steps_.back() = step;
      else
        steps_.push_back(step);
    }
  }

  /// Device-nanoseconds asked for from the beginning to `at`.
  Wide until(Instant at) const {
    const auto next = std::ranges::upper_bound(steps_, at, {}, &Step::at);
    if (next == steps_.begin()) return 0;
    const Step& step = *(next - 1);
    return step.before + static_cast<Wide>(step.devices) * (at - step.at).ns;
  }

 private:
  struct Step {
    Instant at = Instant::zero();
    std::int64_t devices = 0;  ///< From `at` on.
    Wide before = 0;           ///< Device-nanoseconds up to `at`.
  };

  std::vector<Step> steps_;  // In order.
};

}  // namespace

void AwayTimes::left(JobId job, Instant at) {
  Away& away = jobs_[job];
  if (away.since.is_never()) away.since = at;
}

void AwayTimes::back(JobId job, Instant at) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || found->second.since.is_never()) return;
  Away& away = found->second;
  // The end in the world may come before the controller observes that it holds nothing.
  away.total += std::max(at - away.since, Duration::zero());
  away.since = Instant::never();
}

Duration AwayTimes::of(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? Duration::zero() : found->second.total;
}

std::vector<JobRatios> job_ratios(const JobTable& jobs,
                                  const AwayTimes& away,
                                  std::int64_t devices,
                                  Instant end) {
  const Demand demand(jobs, end);
  std::vector<JobRatios> out;
  for (std::size_t index = 0; index < jobs.size(); ++index) {
    const JobId id(static_cast<std::uint32_t>(index));
    const JobOutcome& job = jobs.rows()[index];
    if (!job.exists() || job.phase != JobPhase::Succeeded || !job.has_started()) continue;
    JobRatios ratios{.job = id};
    const Duration jct = job.finished - job.submitted;
    if (jct > Duration::zero()) {
      const Duration held = job.finished - job.started - away.of(id);
      const auto alone = static_cast<double>(std::max(held, kAloneAtLeast).ns);
      const auto whole = static_cast<double>(jct.ns);
      ratios.slowdown = std::max(1.0, whole / alone);
      double contention = 1;
      if (devices > 0) {
        const Wide asked = demand.until(job.finished) - demand.until(job.submitted);
        contention =
            std::max(1.0, static_cast<double>(asked) / whole / static_cast<double>(devices));
      }
      ratios.fairness = whole / (alone * contention);
    }
    out.push_back(ratios);
  }
  return out;
}

}  // namespace orrery::sim
