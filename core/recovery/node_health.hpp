// Which nodes may be used: silence, exclusion, spares, notices of leaving, lost devices.
#pragma once

#include "core/state/step.hpp"

namespace orrery {

/// Brings the ledger's view of a node in line with its state, and calls a spare node in, or sends
/// one back, where that changes something. Notes `change`.
void refresh_node(Step& step, NodeId node, NodeChange change);

/// A node that is well again while another stands in for it: the first of the two on which nothing
/// is held becomes the spare. Once at the end of a step: cheap where no spare is in use.
void return_spares(Step& step);

/// A node caused an incident: counted for lemon detection, which may exclude the node.
void note_node_incident(Step& step, NodeId node);

/// Takes a node out of use until `until`, or until a user includes it again.
void exclude_node(Step& step, NodeId node, Instant until);

/// As exclude_node, for as long as the settings say.
void exclude_for_a_while(Step& step, NodeId node);

/// Nodes whose exclusion is over at this instant come back into use, and those that stay.
void node_timer_reached(Step& step);

}  // namespace orrery
