#include "core/recovery/ending.hpp"

#include <algorithm>
#include <vector>

#include "core/base/planted.hpp"
#include "core/membership/releasing.hpp"
#include "core/membership/target.hpp"
#include "core/recovery/incident.hpp"
#include "core/recovery/recovery.hpp"
#include "core/state/phases.hpp"

namespace orrery {

void become_running(Step& step, JobState& job, Reason reason) {
  set_phase(step, job, JobPhase::Running, reason);
  if (!job.failover->start_by.is_never() && !planted(Bug::StartByNotCleared))
    job.failover.edit().start_by = Instant::never();
  close_incident(step, job);
  if (!job.targets->empty()) meet_target(step, job);
}

bool all_required_succeeded(const JobState& job) {
  for (const Worker& worker : job.workers)
    if (job.spec->roles[worker.role.index()].completion == Completion::Required &&
        worker.state != WorkerState::Succeeded &&
        !(job.spec->failover->trigger == FailureTrigger::Skip && is_set_aside(job, worker)))
      return false;
  return !job.workers.empty();
}

void finish(Step& step, JobState& job, JobPhase phase, Reason reason) {
  State& state = step.state;
  const bool held = job.row.holds;
  if (!held) state.dequeue(job);
  if (job.after_drain != AfterDrain::Nothing) abandon_next(step, job);
  job.forget_answers();
  set_phase(step, job, phase, reason);
  close_incident(step, job);
  job.finished_at = step.occurred_at;
  for (Worker& worker : job.workers)
    if (worker.is_gone()) release(step, worker);
  if (job.spec->clean_pods != CleanPodPolicy::None || reason == Reason::StoppedByUser)
    stop_remaining(step, job);
  if (!job.conditions.empty() && !job.started_at.is_never())
    step.out.orders.emplace_back(CleanJob{job.row.id, job.spec->clean_pods});
  job.elastic_nodes.clear();
  job.row.replicas = 0;
  state.set_held(job, false, 0);
  if (job.wants_more) std::erase(state.wants_more, job.row.id);
  job.wants_more = false;
  if (held)
    state.due.completion = true;
  else if (reason != Reason::InvalidSpec)
    state.due.capacity = true;  // Jobs that it kept waiting in the queue may go ahead.
  ++(phase == JobPhase::Succeeded ? state.totals.succeeded : state.totals.failed);
  state.note_final(job);
  retain_if_cleared(step, job);
}

}  // namespace orrery
