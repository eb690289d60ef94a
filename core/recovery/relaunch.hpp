// Nodes that the extension is asked to replace, and the recovery that waits for its answer.
#pragma once

#include "core/state/step.hpp"

namespace orrery {

/// A replica has failed too often on a node: the extension is asked for another. The job is
/// Restarting until it answers, or its time is over.
void begin_relaunch(Step& step, JobState& job, NodeId node, Reason reason);

/// Asks the extension once more.
void repeat_relaunch(Step& step, JobState& job);

/// The extension has not answered in time: its group is asked for, or the node is excluded
/// for as long as the settings say.
void give_up_relaunch(Step& step, JobState& job);

/// The relaunch is over, one way or the other: the recovery that it held up goes on, led where the
/// role has a sub-master.
void end_relaunch(Step& step, JobState& job, Reason reason);

}  // namespace orrery
