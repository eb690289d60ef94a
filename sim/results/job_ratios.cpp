#include "sim/results/job_ratios.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {
namespace {

__extension__ using Wide = __int128;

/// What all jobs that are there ask for, added up over time. Time only goes on.
class Demand {
 public:
  void change(std::int64_t thousandths) { thousandths_ += thousandths; }

  /// Thousandths of device-nanoseconds from the beginning to `at`.
  Wide until(Instant at) {
    sum_ += static_cast<Wide>(thousandths_) * (at - now_).ns;
    now_ = at;
    return sum_;
  }

 private:
  Instant now_ = Instant::zero();
  std::int64_t thousandths_ = 0;
  Wide sum_ = 0;
};

/// An instant in the life of the job of this index.
using JobInstant = std::pair<Instant, std::uint32_t>;

std::vector<JobInstant> submissions_in_order(const JobTable& jobs) {
  std::vector<JobInstant> out;
  out.reserve(jobs.size());
  for (std::uint32_t i = 0; i < jobs.size(); ++i)
    if (jobs.rows()[i].exists()) out.emplace_back(jobs.rows()[i].submitted, i);
  // Ids are given in the order of submissions.
  if (!std::ranges::is_sorted(out)) std::ranges::sort(out);
  return out;
}

/// A job that is not over ends with the run.
std::vector<JobInstant> ends_in_order(const JobTable& jobs, Instant end) {
  std::vector<JobInstant> out;
  out.reserve(jobs.size());
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    const JobOutcome& job = jobs.rows()[i];
    if (job.exists())
      out.emplace_back(job.is_over() ? job.finished : std::max(end, job.submitted), i);
  }
  std::ranges::sort(out);
  return out;
}

/// By index: thousandths of device-nanoseconds that all jobs ask for from the job's submission to
/// its end; of a job that ends after its submission. One pass in the order of time, since a million
/// jobs are asked about: a list of all changes took a quarter of the run's memory.
std::vector<Wide> asked_during(const JobTable& jobs, Instant end) {
  const std::vector<JobInstant> submissions = submissions_in_order(jobs);
  auto next = submissions.begin();
  std::vector<Wide> asked(jobs.size(), 0);
  Demand demand;
  for (const auto& [at, leaver] : ends_in_order(jobs, end)) {
    for (; next != submissions.end() && next->first <= at; ++next) {
      asked[next->second] -= demand.until(next->first);
      demand.change(jobs.thousandths_requested(next->second));
    }
    asked[leaver] += demand.until(at);
    demand.change(-jobs.thousandths_requested(leaver));
  }
  return asked;
}

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
  const std::vector<Wide> asked = asked_during(jobs, end);
  std::vector<JobRatios> out;
  out.reserve(jobs.size());
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
        // Whole devices first: where all jobs ask for those, it is the number that it was.
        const auto devices_asked = static_cast<double>(asked[index]) / 1000;
        contention = std::max(1.0, devices_asked / whole / static_cast<double>(devices));
      }
      ratios.fairness = whole / (alone * contention);
    }
    out.push_back(ratios);
  }
  return out;
}

}  // namespace orrery::sim
