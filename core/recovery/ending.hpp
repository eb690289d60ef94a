// A job works again, or ends.
#pragma once

#include "core/state/step.hpp"

namespace orrery {

/// All workers are up: Running, at the size that a user asked for meanwhile. Closes the incident.
void become_running(Step& step, JobState& job, Reason reason);

/// Whether every required worker has exited 0.
bool all_required_succeeded(const JobState& job);

/// Ends the job; stops what still runs; frees its leases as the workers go.
void finish(Step& step, JobState& job, JobPhase phase, Reason reason);

}  // namespace orrery
