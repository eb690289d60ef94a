// A change under way goes on: the next membership starts, or the job waits again.
#pragma once

#include "core/membership/change.hpp"

namespace orrery {

/// Lets a change under way go on if nothing holds it up any more. A job that starts goes to
/// Step::woken.
void advance(Step& step, JobState& job);

/// Gives everything back; the job waits again once drained.
void give_all_back(Step& step, JobState& job, Reason reason);

}  // namespace orrery
