#include "tools/orrery/run_listeners.hpp"

#include <algorithm>

#include "core/control/status.hpp"
#include "core/state/state.hpp"

namespace orrery::cli {

void TimelineListener::on_submitted(JobId job, const JobSpec&, const sim::JobFacts& facts) {
  timeline_.submitted(job, facts.submitted);
}

void TimelineListener::on_notices(std::span<const Notice> notices,
                                  const State& state,
                                  const sim::JobTable&) {
  timeline_.observe(notices, state);
}

void TimelineListener::on_decided(Instant at,
                                  PlanTrigger trigger,
                                  std::size_t grants,
                                  Duration wall) {
  timeline_.planned(at, trigger, static_cast<std::uint32_t>(grants), wall);
}

void TimelineListener::on_link_use(Instant at, std::span<const double> shares) {
  for (std::size_t i = 0; i < shares.size(); ++i)
    timeline_.link_used(at, static_cast<std::uint32_t>(i), shares[i]);
}

const sim::Timeline& TimelineListener::close(Instant end) {
  timeline_.close(end);
  return timeline_;
}

void EventWriter::on_notices(std::span<const Notice> notices,
                             const State& state,
                             const sim::JobTable& jobs) {
  for (const Notice& notice : notices) log_.write(notice, jobs, state.chosen.choice);
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
        notice.kind == NoticeKind::GrantClipped || notice.kind == NoticeKind::PlanLost ||
        notice.kind == NoticeKind::PolicyChosen)
      continue;
    changed_ = true;
    held_ = state.holding_count() > 0;
    if (notice.kind != NoticeKind::PhaseChanged || notice.reason != Reason::Submitted) continue;
    const JobState* job = state.find(notice.job);
    if (job == nullptr || !job->row.infeasible) continue;
    ++infeasible_;
    if (lacks_.size() < kLacksMax)
      lacks_.push_back(job->spec->name + ": " + status_of(state, *job).message);
  }
}

bool StuckListener::on_progress(const sim::RunProgress& progress) {
  const bool all_came = progress.jobs_submitted >= jobs_expected_;
  stopped_ = !changed_ && !held_ && all_came;
  changed_ = false;
  return stopped_;
}

void ProgressListener::on_turns(const sim::RunProgress& progress) {
  constexpr std::chrono::milliseconds kInterval{100};
  const auto now = std::chrono::steady_clock::now();
  if (now - told_ < kInterval) return;
  told_ = now;
  report_.progress({.jobs_done = progress.jobs_over,
                    .jobs_total = jobs_total_,
                    .events = progress.events,
                    .simulated_s = std::max((progress.now - begin_).in_seconds(), 0.0) * scale_});
}

}  // namespace orrery::cli
