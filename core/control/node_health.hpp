// Which nodes may be used: silence, exclusion, spares, notices of leaving, lost devices,
// relaunches.
#pragma once

#include <vector>

#include "core/control/lifecycle.hpp"
#include "core/record/event.hpp"

namespace orrery {

/// Brings the ledger's view of a node in line with its state, and calls a spare node in, or sends
/// one back, where that changes something. Tells `change`.
void refresh_node(Step& step, NodeId node, NodeChange change);

/// A node caused an incident: counted for lemon detection, which may exclude the node.
void note_node_incident(Step& step, NodeId node);

/// Takes a node out of use until `until`, or until a user includes it again.
void exclude_node(Step& step, NodeId node, Instant until);

/// From then on a node that announced that it goes away, and is heard all the same, stays; never
/// where it did not or is silent. It says itself that it is back only where its leader's clock is
/// past the time that it announced, and that clock may have been set back.
Instant stays_after(const State& state, const NodeState& node);

/// Nodes whose exclusion is over at this instant come back into use, and those that stay.
void node_timer_reached(Step& step);

/// A replica has failed too often on a node: the extension is asked for another. The job is
/// Restarting until it answers, or its time is over.
void begin_relaunch(Step& step, JobState& job, NodeId node, Reason reason);

/// Asks the extension once more.
void repeat_relaunch(Step& step, JobState& job);

/// The extension has not answered in time: its group is asked for, or the node is excluded
/// for as long as the settings say.
void give_up_relaunch(Step& step, JobState& job);

/// What a lost node takes from one job.
void lose_node(Step& step, JobState& job, NodeId node, Reason reason);

/// Jobs with leases on the node, ascending.
std::vector<JobId> owners_on(const Ledger& ledger, NodeId node);

void on_event(Step& step, const NodesRelaunched& event);
void on_event(Step& step, const ExclusionRequested& event);
void on_event(Step& step, const NodeLeaving& event);
void on_event(Step& step, const DevicesLost& event);
void on_event(Step& step, const NodeHeld& event);

}  // namespace orrery
