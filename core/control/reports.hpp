// What the world reports of workers, nodes, progress and measurements.
#pragma once

#include "core/control/lifecycle.hpp"
#include "core/record/event.hpp"

namespace orrery {

void on_event(Step& step, const WorkersChanged& event);
void on_event(Step& step, const ProgressReported& event);
void on_event(Step& step, const ProfilingChanged& event);
void on_event(Step& step, const NodeSilent& event);
void on_event(Step& step, const NodeReturned& event);
void on_event(Step& step, const WorkerSuspected& event);

/// Whom a report about (`generation`, `incarnation`, `rank`) is about: by his present rank, or by
/// the one he was born with. Null where the job has no such worker any more.
const Worker* worker_named(const JobState& job,
                           Generation generation,
                           Incarnation incarnation,
                           Rank rank);

/// A job's Unknown deadline has passed: what is out of contact is lost.
void give_up_unknown(Step& step, JobState& job);

}  // namespace orrery
