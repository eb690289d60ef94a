// How far a job is by its last report.
#pragma once

#include <algorithm>

#include "core/job/row.hpp"

namespace orrery::policies {

/// The job's last report, to be extrapolated from `as_of`. A job that waits stands. One that has
/// started again goes on from then: worlds report a rate when it has changed, and that of a job of
/// unchanged size has not.
inline ProgressView present_progress(const JobRow& row) {
  ProgressView progress = row.progress;
  if (!row.holds) progress.rate = 0;
  progress.as_of = std::max(progress.as_of, row.allocated_at);
  return progress;
}

}  // namespace orrery::policies
