// How lives of workers ended in a recorded run, for worlds in which they end so again.
#pragma once

#include <compare>
#include <cstdint>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/job/job_enums.hpp"
#include "core/record/diagnosis.hpp"

namespace orrery::sim {

/// One life of a worker that ended by itself, was removed from outside, or was never launched.
struct WorkerLife {
  RoleIndex role;
  std::int32_t local_rank = 0;
  std::int32_t number = 0;  ///< How many lives of this worker came up, or ended so, before.
  bool came_up = true;
  WorkerFact fact = WorkerFact::Exited;  ///< Or Lost; LaunchFailed: it did not come up.
  std::int32_t exit_code = 0;  ///< Exited. LaunchFailed: kPortInUse, kCannotRun, kNotFound or else.
  Duration after;              ///< From ready to its end; from its start where it did not come up.
  Diagnosis diagnosis;         ///< What it said before.

  friend auto operator<=>(const WorkerLife&, const WorkerLife&) = default;
};

}  // namespace orrery::sim
