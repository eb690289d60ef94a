// Workers that came up with the environment of a membership that was over by then.
#pragma once

#include "core/membership/change.hpp"

namespace orrery {

/// Starts them anew, in place. True where there was such a worker.
bool restart_outdated(Step& step, JobState& job);

}  // namespace orrery
