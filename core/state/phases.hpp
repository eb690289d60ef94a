// The phase that a job is in, its conditions, and the deadline of the phase.
#pragma once

#include "core/base/units.hpp"
#include "core/state/step.hpp"

namespace orrery {

/// Goes to `to` and notes it; the edge must be legal. The same phase with another reason only
/// changes the reason.
void set_phase(Step& step, JobState& job, JobPhase to, Reason reason);

/// End of the longest wait of a job that is Pending; never where there is none.
Instant waits_until(const JobState& job);

/// End of the longest run of a job that has started; never where there is none.
Instant runs_until(const JobState& job);

/// Rules before 3: sets the one timer of a job to look at it again at `at`. One that is Pending is
/// looked at no later than its wait may last, whatever else it waits for.
void look_again(Step& step, JobState& job, Instant at);

}  // namespace orrery
