// Whether the roles of a gang could be placed together on nodes that are empty.
#pragma once

#include <cstdint>
#include <span>

#include "core/cluster/free_index.hpp"

namespace orrery {

/// Nodes that are alike.
struct NodeKind {
  NodeFree free;  ///< All of one such node; usable, no device partly taken.
  std::int64_t count = 0;
};

/// What one role of a gang asks for.
struct GangRole {
  Demand demand;
  std::int64_t replicas = 0;
};

/// How many replicas of `demand` such nodes hold if nothing else is on them.
std::int64_t replicas_on(std::span<const NodeKind> nodes, const Demand& demand);

/// False where no placement of all roles at once exists; never false where one does. True may be
/// wrong where roles take parts of devices, which are counted as if they could be divided further,
/// and where a search of bounded length has come to no end: with many roles of different sizes, or
/// many kinds of nodes. Equal arguments give equal answers. O(roles^2 + roles * kinds of nodes),
/// and the search.
bool may_fit_together(std::span<const NodeKind> nodes, std::span<const GangRole> gang);

}  // namespace orrery
