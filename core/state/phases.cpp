#include "core/state/phases.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"
#include "core/base/planted.hpp"
#include "core/job/phase.hpp"

namespace orrery {
namespace {

void set_condition(JobState& job, JobPhase phase, Reason reason, Instant at) {
  Condition* mine = nullptr;
  for (Condition& c : job.conditions) {
    if (c.phase == phase) mine = &c;
    if (c.phase == phase || !c.status) continue;
    c.status = false;
    c.since = at;
  }
  if (mine == nullptr) {
    // A job that leaves the queue goes through four phases at least.
    if (job.conditions.size() == 1) job.conditions.reserve(4);
    mine = &job.conditions.emplace_back();
  }
  *mine = {phase, true, reason, mine->status ? mine->since : at};
}

Instant plus(Instant from, Duration time) {
  return time.is_forever() ? Instant::never() : from + time;
}

// Rules before 3: when the phase that was just entered ends by itself.
Instant phase_deadline(JobState& job, Instant now) {
  switch (job.row.phase) {
    case JobPhase::Pending:
      return waits_until(job);
    case JobPhase::Starting:
      // Strict recovery starts again without a charge, so all tries share one deadline.
      if (job.failover->start_by.is_never())
        job.failover.edit().start_by = plus(now, job.spec->start_deadline);
      return job.spec->failover->mode == RecoveryMode::Strict ? job.failover->start_by
                                                              : plus(now, job.spec->start_deadline);
    case JobPhase::Running:
      return runs_until(job);
    case JobPhase::Rescheduling:
    case JobPhase::Restarting:
    case JobPhase::Unknown:
    case JobPhase::Succeeded:
    case JobPhase::Failed:
      return Instant::never();
  }
  return Instant::never();
}

// The timers of the phase that was just entered; those of the phase before end.
void enter(State& state, JobState& job, Instant now) {
  const JobPhase phase = job.row.phase;
  if (phase == JobPhase::Pending) state.set_timer(job, TimerKind::Wait, waits_until(job));
  if (phase != JobPhase::Pending) state.clear_timer(job, TimerKind::Wait);
  // Strict recovery starts again without a charge, so all tries share one deadline.
  const bool strict = job.spec->failover->mode == RecoveryMode::Strict;
  const bool tries_are_over = phase == JobPhase::Pending || is_final(phase) ||
                              (phase == JobPhase::Running && !planted(Bug::StartByNotCleared));
  if (phase == JobPhase::Starting && !(strict && job.timers.is_set(TimerKind::Start)))
    state.set_timer(job, TimerKind::Start, plus(now, job.spec->start_deadline));
  else if (tries_are_over || !strict)
    state.clear_timer(job, TimerKind::Start);
  state.clear_timer(job, TimerKind::Change);
  state.clear_timer(job, TimerKind::Contact);
  // A sub-master that cannot be reached is asked again once it can.
  if (phase == JobPhase::Unknown) state.clear_timer(job, TimerKind::Answer);
  if (is_final(phase))
    for (const TimerKind kind :
         {TimerKind::Run, TimerKind::Backoff, TimerKind::Lists, TimerKind::Answer})
      state.clear_timer(job, kind);
}

}  // namespace

void set_phase(Step& step, JobState& job, JobPhase to, Reason reason) {
  JobRow& row = job.row;
  job.reason = reason;
  step.state.touch(row.id);
  if (row.phase == to && !job.conditions.empty()) {
    set_condition(job, to, reason, step.at);
    return;
  }
  invariant(row.phase == to || is_legal(row.phase, to), "a job goes along a legal edge");
  Notice notice = step.notice(NoticeKind::PhaseChanged, job);
  notice.from = row.phase;
  notice.to = to;
  notice.reason = reason;
  step.out.notices.push_back(notice);
  row.phase = to;
  set_condition(job, to, reason, step.at);
  if (step.state.settings.rules >= 3)
    enter(step.state, job, step.at);
  else
    step.state.set_timer(job, TimerKind::Sole, phase_deadline(job, step.at));
}

Instant waits_until(const JobState& job) {
  for (const Condition& condition : job.conditions)
    if (condition.phase == JobPhase::Pending && condition.status)
      return plus(condition.since, job.spec->wait_deadline);
  return Instant::never();
}

void look_again(Step& step, JobState& job, Instant at) {
  const bool waits = job.row.phase == JobPhase::Pending && step.state.settings.rules >= 1;
  step.state.set_timer(job, TimerKind::Sole, waits ? std::min(at, waits_until(job)) : at);
}

Instant runs_until(const JobState& job) { return plus(job.started_at, job.spec->run_deadline); }

}  // namespace orrery
