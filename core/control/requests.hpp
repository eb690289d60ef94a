// What users and the declaration of the cluster ask for.
#pragma once

#include "core/control/lifecycle.hpp"
#include "core/record/event.hpp"

namespace orrery {

void on_event(Step& step, const EpochStarted& event);
void on_event(Step& step, const NodesDeclared& event);
void on_event(Step& step, const QuotasDeclared& event);
void on_event(Step& step, const JobSubmitted& event);
void on_event(Step& step, const ScaleRequested& event);
void on_event(Step& step, const StopRequested& event);
void on_event(Step& step, const DeleteRequested& event);

}  // namespace orrery
