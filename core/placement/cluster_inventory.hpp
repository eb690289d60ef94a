// The inventory of a declared cluster: what placements in jobs refer to.
#pragma once

#include <span>

#include "core/cluster/resources.hpp"
#include "core/placement/inventory.hpp"

namespace orrery::placement {

/// Nodes in the order of their ids. Each node group is a group of its name; each type of custom
/// hardware is a group of the type's name over the nodes that have it, unless a node group has
/// that name. Node groups of one name are one group; one named "cluster" or "node" is reached by
/// the reserved labels only. Pieces of hardware are numbered per node as `HardwareCount` says.
Inventory inventory_of(std::span<const NodeGroup> groups);

}  // namespace orrery::placement
