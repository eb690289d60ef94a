// What is done when a timer of a job is due.
#pragma once

#include "core/state/step.hpp"

namespace orrery {

/// Does what the timer was set for; it is cleared already.
void timer_reached(Step& step, const State::DueTimer& due);

/// The rules rose to 3: the one timer of the job becomes those of its kinds.
void split_timers(Step& step, JobState& job);

}  // namespace orrery
