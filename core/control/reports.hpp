// What the world reports of workers, nodes, progress and measurements.
#pragma once

#include "core/record/event.hpp"
#include "core/state/step.hpp"

namespace orrery {

void on_event(Step& step, const WorkersChanged& event);
void on_event(Step& step, const ProgressReported& event);
void on_event(Step& step, const ProfilingChanged& event);
void on_event(Step& step, const NodeSilent& event);
void on_event(Step& step, const NodeReturned& event);
void on_event(Step& step, const WorkerSuspected& event);
void on_event(Step& step, const SubMasterSaid& event);

/// A job's Unknown deadline has passed: what is out of contact is lost.
void give_up_unknown(Step& step, JobState& job);

}  // namespace orrery
