// How a policy keeps an index of jobs in step with the views it is shown.
#pragma once

#include "core/job/row.hpp"
#include "core/plan/cluster_view.hpp"

namespace orrery::policies {

/// Whether a policy may take devices from the job. While its membership changes it may not; what a
/// draining job gives back counts as free already.
inline bool may_be_taken_from(const JobRow& row) {
  return row.holds && row.preemptible &&
         (row.phase == JobPhase::Starting || row.phase == JobPhase::Running);
}

/// Whether the job is in the view's queue.
inline bool waits(const JobRow& row) {
  return !row.holds && row.phase == JobPhase::Pending && !row.infeasible;
}

/// Calls `refresh(JobId)` for every job that may differ from the policy's last view; where that is
/// not known, calls `reset()` first and then `refresh` for all jobs that hold or wait.
template <class Reset, class Refresh>
void absorb_changes(const ClusterView& view, Reset&& reset, Refresh&& refresh) {
  if (view.touched_complete()) {
    for (const JobId id : view.touched()) refresh(id);
    return;
  }
  reset();
  for (const JobId id : view.holding()) refresh(id);
  view.waiting().for_each([&](const WaitEntry& entry) {
    refresh(entry.job);
    return true;
  });
}

}  // namespace orrery::policies
