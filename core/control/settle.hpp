// What follows from the states of a job's workers: success, recovery, Running.
#pragma once

#include "core/state/step.hpp"

namespace orrery {

/// Looks at what the workers of a job have become and acts on it.
void settle(Step& step, JobState& job);

/// Settles the jobs in Step::woken until there are none. Effects of an event on jobs other than its
/// own are applied here, after the event: no loop over workers is in progress.
void settle_woken(Step& step);

}  // namespace orrery
