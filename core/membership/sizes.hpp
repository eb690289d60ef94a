// What a job may hold, by its specification and by what its user asked for since.
#pragma once

#include "core/state/state.hpp"

namespace orrery {

/// Sets the bounds within which a policy may size the job, and what it needs beside its elastic
/// role, from the specification and the user's targets.
void set_bounds(JobState& job);

/// Sets whether the job could run on the declared nodes if they were all free and up: each role by
/// itself, and by rules 4 all roles at once (`may_fit_together`). Seats are resolved anew: more
/// nodes may have been declared.
void judge_feasibility(State& state, JobState& job);

}  // namespace orrery
