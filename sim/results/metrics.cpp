#include "sim/results/metrics.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <span>
#include <vector>

#include "core/base/invariant.hpp"
#include "core/base/percentile.hpp"

namespace orrery::sim {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kNsPerMicrosecond = 1e3;

/// Fills the four JCT fields; rearranges `jct`.
void set_jct(std::vector<std::int64_t>& jct, Summary& summary) {
  summary.jct_avg_s = mean_of(jct) / kNsPerSecond;
  summary.jct_p50_s = percentile_by_selection(jct, 0.50) / kNsPerSecond;
  summary.jct_p90_s = percentile_by_selection(jct, 0.90) / kNsPerSecond;
  summary.jct_p99_s = percentile_by_selection(jct, 0.99) / kNsPerSecond;
}

/// Fills the two fields of queue times; rearranges `queued`.
void set_queue_times(std::vector<std::int64_t>& queued, Summary& summary) {
  summary.queue_avg_s = mean_of(queued) / kNsPerSecond;
  summary.queue_p99_s = percentile_by_selection(queued, 0.99) / kNsPerSecond;
}

/// Fills the five fields of slowdown and fairness.
void set_ratios(const std::vector<JobRatios>& jobs, Summary& summary) {
  if (jobs.empty()) return;
  const auto count = static_cast<double>(jobs.size());
  std::vector<double> slowdown;
  slowdown.reserve(jobs.size());
  std::uint64_t unfair = 0;
  for (const JobRatios& job : jobs) {
    slowdown.push_back(job.slowdown);
    // Divided once, below: many quotients of 1 add up to less than 1.
    summary.slowdown_avg += job.slowdown;
    summary.ftf_avg += job.fairness;
    summary.ftf_max = std::max(summary.ftf_max, job.fairness);
    unfair += job.fairness > 1 ? 1 : 0;
  }
  summary.slowdown_avg /= count;
  summary.ftf_avg /= count;
  summary.slowdown_p99 = percentile_by_selection(std::span<double>(slowdown), 0.99);
  summary.ftf_unfair = static_cast<double>(unfair) / count;
}

/// From the first submission, which is never where there is none, to the last end; to `end` where a
/// job that has started is not over.
struct Makespan {
  Instant first = Instant::never();
  Instant last = Instant::zero();

  Duration length() const {
    return first.is_never() ? Duration::zero() : std::max(last - first, Duration::zero());
  }
};

Makespan makespan_of(const JobTable& jobs, Instant end) {
  Makespan out;
  bool open = false;
  for (const JobOutcome& job : jobs.rows()) {
    if (!job.exists()) continue;
    out.first = std::min(out.first, job.submitted);
    if (job.is_over()) {
      out.last = std::max(out.last, job.finished);
    } else if (job.has_started()) {
      open = true;
    }
  }
  if (open) out.last = std::max(out.last, end);
  return out;
}

}  // namespace

void Metrics::submitted(JobId id, const JobFacts& facts) {
  advance(facts.submitted);
  jobs_.add(id, facts);
  ++waiting_;
}

void Metrics::observe(const Notice& notice) {
  advance(notice.at);
  if (!jobs_.contains(notice.job)) return;
  JobOutcome& job = jobs_[notice.job];
  switch (notice.kind) {
    case NoticeKind::PhaseChanged:
      phase_changed(notice, job);
      return;
    case NoticeKind::Allocated:
      allocated(notice, job);
      return;
    case NoticeKind::Counted:
      counted(notice, job);
      return;
    case NoticeKind::IgnoredReport:
    case NoticeKind::GrantDropped:
    case NoticeKind::GrantClipped:
    case NoticeKind::PlanLost:
    case NoticeKind::PolicyChosen:
    case NoticeKind::NodeChanged:
    case NoticeKind::WorkersReported:
    case NoticeKind::IncidentOpened:
    case NoticeKind::IncidentClosed:
    case NoticeKind::WorkerRestarted:
    case NoticeKind::WorkLost:
    case NoticeKind::WorkerSuspected:
      return;
  }
}

void Metrics::left_with(JobId id, Reason reason) {
  if (jobs_.contains(id) && !is_final(jobs_[id].phase)) jobs_[id].reason = reason;
}

void Metrics::decided(Duration wall) { decisions_.add(wall); }

void Metrics::advance(Instant at) {
  if (at <= now_) return;
  waiting_max_ = std::max(waiting_max_, waiting_);
  thousandths_ns_ += static_cast<__int128>((at - now_).ns) * thousandths_held_;
  now_ = at;
}

void Metrics::phase_changed(const Notice& notice, JobOutcome& job) {
  if (is_final(job.phase)) return;
  if (job.phase == JobPhase::Pending && notice.to != JobPhase::Pending) --waiting_;
  if (job.phase != JobPhase::Pending && notice.to == JobPhase::Pending) ++waiting_;
  job.phase = notice.to;
  job.reason = notice.reason;
  if (!is_final(notice.to)) return;
  job.finished = notice.occurred_at;
  // Nothing is its own from its end on, whenever the controller hears of it.
  thousandths_ns_ -= static_cast<__int128>((now_ - job.finished).ns) * job.thousandths_held;
  away_.back(notice.job, notice.occurred_at);
  ++jobs_over_;
  hold(job, 0);
}

void Metrics::allocated(const Notice& notice, JobOutcome& job) {
  if (notice.count > 0 && !job.has_started()) {
    job.started = notice.at;
  } else if (notice.count > 0) {
    away_.back(notice.job, notice.at);
  } else if (job.has_started() && !job.is_over()) {
    away_.left(notice.job, notice.at);
  }
  // A finished job gives everything back; a notice about what it still drains comes too late.
  if (!job.is_over()) hold(job, notice.thousandths);
}

void Metrics::counted(const Notice& notice, JobOutcome& job) {
  const auto value = static_cast<std::uint32_t>(notice.count);
  switch (notice.counter) {
    case Counter::Restarts:
      job.restarts = value;
      return;
    case Counter::Reschedules:
      job.reschedules = value;
      return;
    case Counter::Preemptions:
      job.preemptions = value;
      return;
    case Counter::NodeLosses:
      job.node_losses = value;
      return;
    case Counter::RoleRestarts:
    case Counter::JobRestarts:
    case Counter::NodesRelaunched:
      return;
  }
}

void Metrics::hold(JobOutcome& job, std::int32_t thousandths) {
  thousandths_held_ += thousandths - job.thousandths_held;
  job.thousandths_held = thousandths;
}

Instant Metrics::makespan_end(Instant end) const {
  const Instant last = makespan_of(jobs_, end).last;
  return last == Instant::zero() ? end : last;
}

Summary Metrics::summarise(const RunFacts& facts) const {
  Summary summary;
  summary.scenario = facts.scenario;
  summary.policy = facts.policy;
  summary.world = facts.world;
  summary.seed = facts.seed;
  std::vector<std::int64_t> jct;
  std::vector<std::int64_t> queued;
  jct.reserve(jobs_.size());
  queued.reserve(jobs_.size());
  for (const JobOutcome& job : jobs_.rows()) {
    if (!job.exists()) continue;
    ++summary.jobs_total;
    summary.jobs_finished += job.phase == JobPhase::Succeeded ? 1 : 0;
    summary.jobs_failed += job.phase == JobPhase::Failed ? 1 : 0;
    summary.restarts += job.restarts;
    summary.reallocations += job.reschedules;
    summary.preemptions += job.preemptions;
    summary.node_losses += job.node_losses;
    if (job.phase == JobPhase::Succeeded) jct.push_back((job.finished - job.submitted).ns);
    if (job.has_started()) queued.push_back((job.started - job.submitted).ns);
  }
  summary.jobs_unfinished = summary.jobs_total - summary.jobs_finished - summary.jobs_failed;
  set_jct(jct, summary);
  jct = {};
  set_queue_times(queued, summary);
  queued = {};
  set_ratios(job_ratios(jobs_, away_, facts.devices, facts.end), summary);
  summary.queue_max = static_cast<std::uint64_t>(std::max(waiting_max_, waiting_));

  const Duration makespan = makespan_of(jobs_, facts.end).length();
  const Duration tail = std::max(facts.end - now_, Duration::zero());
  const __int128 held = thousandths_ns_ + static_cast<__int128>(tail.ns) * thousandths_held_;
  summary.makespan_s = makespan.in_seconds();
  summary.gpu_seconds_allocated = static_cast<double>(held / 1000) / kNsPerSecond;
  const double offered = static_cast<double>(facts.devices) * summary.makespan_s;
  summary.gpu_utilization = offered > 0 ? summary.gpu_seconds_allocated / offered : 0;
  summary.decisions = decisions_.count();
  summary.events = facts.events;
  summary.state_digest = facts.state_digest;
  summary.measured.decision_p50_us =
      static_cast<double>(decisions_.quantile(0.50).ns) / kNsPerMicrosecond;
  summary.measured.decision_p99_us =
      static_cast<double>(decisions_.quantile(0.99).ns) / kNsPerMicrosecond;
  summary.measured.decision_max_us = static_cast<double>(decisions_.max().ns) / kNsPerMicrosecond;
  summary.measured.wall_s = facts.wall.in_seconds();
  summary.measured.peak_rss_mb = facts.peak_rss_mb;
  return summary;
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;  // Linux counts in KiB.
}

}  // namespace orrery::sim
