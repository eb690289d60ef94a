// The legal edges between phases. docs/architecture.md draws them.
#pragma once

#include "core/job/job_enums.hpp"

namespace orrery {

/// Whether a job may go from one phase to another.
///
/// Pending -> Starting (granted), Failed (stopped, bad specification)
/// Starting -> Running (all ready), Rescheduling (membership changes), Restarting (a failure is
///   charged), Unknown, Succeeded, Failed, Pending (lost its gang)
/// Running -> as Starting, except Running
/// Rescheduling -> Starting (new membership), Restarting, Pending (preempted), Succeeded, Failed,
///   Unknown
/// Restarting -> Starting, Rescheduling, Pending (gang does not fit any more), Failed, Unknown,
///   Succeeded (the last required worker ended while another was being replaced)
/// Unknown -> what it was before, or Restarting once its deadline has passed, or a final phase
/// Succeeded and Failed are final.
constexpr bool is_legal(JobPhase from, JobPhase to) {
  if (from == to || is_final(from)) return false;
  switch (from) {
    case JobPhase::Pending:
      return to == JobPhase::Starting || to == JobPhase::Failed;
    case JobPhase::Starting:
      return true;
    case JobPhase::Running:
      return to != JobPhase::Starting;
    case JobPhase::Rescheduling:
    case JobPhase::Restarting:
      return to != JobPhase::Running;
    case JobPhase::Unknown:
      return true;
    case JobPhase::Succeeded:
    case JobPhase::Failed:
      return false;
  }
  return false;
}

}  // namespace orrery
