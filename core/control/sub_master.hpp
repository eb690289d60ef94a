// Recovery of a role that is led by its sub-master, a worker process that keeps no state.
#pragma once

#include "core/control/lifecycle.hpp"
#include "core/record/event.hpp"

namespace orrery {

void on_event(Step& step, const SubMasterSaid& event);
void on_event(Step& step, const WorkerSuspected& event);

}  // namespace orrery
