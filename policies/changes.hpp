// How a policy keeps an index of jobs in step with the views it is shown.
#pragma once

#include <algorithm>
#include <vector>

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

/// To whom the plan grants something, ascending.
inline std::vector<JobId> granted_jobs(const Plan& plan) {
  std::vector<JobId> out;
  for (const Grant& grant : plan.grants) out.push_back(grant.job);
  std::sort(out.begin(), out.end());
  return out;
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
