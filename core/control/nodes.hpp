// What becomes of nodes, and of the jobs on them: lost, replaced, excluded, leaving, held.
#pragma once

#include "core/record/event.hpp"
#include "core/state/step.hpp"

namespace orrery {

/// What a lost node takes from one job.
void lose_node(Step& step, JobState& job, NodeId node, Reason reason);

/// The job, which was in the middle of a change when a node of its announced that it leaves, moves
/// off it now, drained and with a checkpoint. False: it is on no such node, or may not change.
bool leave_leaving_node(Step& step, JobState& job);

void on_event(Step& step, const NodesRelaunched& event);
void on_event(Step& step, const ExclusionRequested& event);
void on_event(Step& step, const NodeLeaving& event);
void on_event(Step& step, const DevicesLost& event);
void on_event(Step& step, const NodeHeld& event);

}  // namespace orrery
