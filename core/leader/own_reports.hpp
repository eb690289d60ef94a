// Whose word counts: what is said of a worker is taken from its own node alone.
//
// A certificate proves which node speaks, not that it speaks of its own. So everything that an
// agent says of a worker is held against where the controller has placed that worker; and what it
// says of a node, or answers to what a node was asked, against that node. What names
// no known worker any more is let through where it can only be late, since the core ignores it
// for a named reason; what names a start, a generation or a job that does not exist yet is made up.
#pragma once

#include <vector>

#include "core/base/ids.hpp"
#include "core/record/event.hpp"
#include "core/state/state.hpp"

namespace orrery {

/// Appends to `own` the part of `report` that is about workers of `node`, in runs of ranks.
/// True where that is all of it.
bool take_own(const State& state,
              NodeId node,
              const WorkersChanged& report,
              std::vector<WorkersChanged>& own);

/// Of a member of the job's present generation: whether `node` has it. Older ones are of no use.
bool is_own(const State& state, NodeId node, const ProfilingChanged& measured);

/// Of a job as a whole: whether `node` has one of its workers. Where it has none now, whether the
/// node is among `asked`, ascending: those that had.
bool is_own(const State& state,
            NodeId node,
            const ProgressReported& progress,
            const std::vector<NodeId>& asked);

/// Whether the sub-master runs on `node`.
bool is_own(const State& state, NodeId node, const SubMasterSaid& said);

/// Whether the worker runs on `node`, or failed there.
bool is_own(const State& state, NodeId node, const FailureExplained& explained);

/// Of a node, or of what one was asked: whether `named` is `node` itself.
bool is_own(NodeId node, NodeId named);

}  // namespace orrery
