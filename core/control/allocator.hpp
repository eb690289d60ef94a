// Checks a plan against the state of now, clips or drops stale parts for a named reason, and
// carries out the rest.
#pragma once

#include "core/record/event.hpp"
#include "core/state/step.hpp"

namespace orrery {

/// Folds one proposal: first all that gives capacity back, then all that takes some, in the plan's
/// order.
void on_event(Step& step, const PlanProposed& event);

/// There was no proposal: nothing changes, and a plan is due again.
void on_event(Step& step, const PlanLost& event);

}  // namespace orrery
