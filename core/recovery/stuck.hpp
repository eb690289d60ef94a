// Workers that were killed and do not end.
#pragma once

#include "core/base/units.hpp"
#include "core/state/step.hpp"

namespace orrery {

/// The workers of the job that were killed are waited for no longer: `due` is when that was to be.
/// Their nodes are suspected and excluded until a user lets them in again, and what was to start
/// there goes elsewhere. Waits on where the controller has not had the time to hear from the nodes.
void give_up_stuck(Step& step, JobState& job, Instant due);

}  // namespace orrery
