#include "core/membership/outdated.hpp"

#include <algorithm>
#include <cstddef>

#include "core/membership/forming.hpp"
#include "core/membership/releasing.hpp"
#include "core/state/phases.hpp"

namespace orrery {

bool restart_outdated(Step& step, JobState& job) {
  if (job.row.phase != JobPhase::Starting && job.row.phase != JobPhase::Running) return false;
  // Nearly always none is.
  if (std::none_of(job.workers.begin(), job.workers.end(), [](const Worker& worker) {
        return worker.is_outdated();
      }))
    return false;
  MembershipChange change;
  change.keep.assign(job.workers.size(), 1);
  change.replace.assign(job.workers.size(), 0);
  bool found_any = false;
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    const Worker& worker = job.workers[i];
    // A failure goes first: its recovery is a change of membership as well.
    if (worker.state == WorkerState::Failed || worker.state == WorkerState::Lost) return false;
    if (!worker.is_outdated() || !must_start_anew(job, worker)) continue;
    if (is_stranded(step.state, worker)) continue;
    change.replace[i] = 1;
    found_any = true;
  }
  if (!found_any) return false;
  ++job.row.reschedules;
  job.change_reason = Reason::Rescaled;
  set_phase(step, job, JobPhase::Rescheduling, Reason::Rescaled);
  count(step, job, Counter::Reschedules);
  release_dropped(step, job, change);
  form_next(step, job, change);
  return true;
}

}  // namespace orrery
