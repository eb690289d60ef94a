#include "tools/orrery/run_listeners.hpp"

#include "core/control/state.hpp"

namespace orrery::cli {

void AllocationListener::on_notices(std::span<const Notice> notices,
                                    const State& state,
                                    const sim::JobTable&) {
  for (const Notice& notice : notices) {
    if (notice.kind != NoticeKind::Allocated || notice.devices == 0) continue;
    const JobState* job = state.find(notice.job);
    if (job == nullptr) continue;
    // While the present members drain, the devices are already those of the coming ones.
    const std::vector<Worker>& members = job->next.empty() ? job->workers : job->next;
    held_.clear();
    for (const Worker& worker : members) held_.push_back({worker.node, worker.devices});
    book_.record(notice.job, held_);
  }
}

void EventWriter::on_notices(std::span<const Notice> notices,
                             const State&,
                             const sim::JobTable& jobs) {
  for (const Notice& notice : notices) log_.write(notice, jobs);
}

void JudgeListener::on_submitted(JobId job, const JobSpec& spec, const sim::JobFacts& facts) {
  judge_.on_job(job, spec.name, facts.submitted);
}

void JudgeListener::on_notices(std::span<const Notice> notices,
                               const State& state,
                               const sim::JobTable&) {
  judge_.on_notices(notices, state);
}

void StuckListener::on_notices(std::span<const Notice> notices,
                               const State& state,
                               const sim::JobTable&) {
  for (const Notice& notice : notices) {
    if (notice.kind == NoticeKind::IgnoredReport || notice.kind == NoticeKind::GrantDropped ||
        notice.kind == NoticeKind::GrantClipped)
      continue;
    changed_ = true;
    held_ = state.holding_count() > 0;
    if (notice.kind != NoticeKind::PhaseChanged || notice.reason != Reason::Submitted) continue;
    const JobState* job = state.find(notice.job);
    infeasible_ += job != nullptr && job->row.infeasible ? 1 : 0;
  }
}

bool StuckListener::on_progress(const sim::RunProgress& progress) {
  const bool all_came = progress.jobs_submitted >= jobs_expected_;
  stopped_ = !changed_ && !held_ && all_came;
  changed_ = false;
  return stopped_;
}

bool ProgressListener::on_progress(const sim::RunProgress& progress) {
  constexpr std::chrono::milliseconds kInterval{100};
  const auto now = std::chrono::steady_clock::now();
  if (now - told_ < kInterval) return false;
  told_ = now;
  report_.progress({.jobs_done = progress.jobs_over,
                    .jobs_total = jobs_total_,
                    .events = progress.events,
                    .simulated_s = progress.now.in_seconds()});
  return false;
}

}  // namespace orrery::cli
