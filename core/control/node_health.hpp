// Which nodes may be used: silence, exclusion, spares, notices of leaving, lost devices,
// relaunches.
#pragma once

#include "core/control/lifecycle.hpp"
#include "core/record/event.hpp"

namespace orrery {

void on_event(Step& step, const NodesRelaunched& event);
void on_event(Step& step, const ExclusionRequested& event);
void on_event(Step& step, const NodeLeaving& event);
void on_event(Step& step, const DevicesLost& event);

}  // namespace orrery
