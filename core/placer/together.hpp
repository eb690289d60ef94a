// Placers that keep a gang together: on few nodes, or below few switches.
#pragma once

#include "core/placer/scored.hpp"

namespace orrery {

/// As few nodes as possible, CPU and memory counted: the nodes on which most replicas fit, and for
/// the last ones the node on which the fewest more would.
class Consolidate final : public ScoredPlacer {
 public:
  std::string_view name() const override { return "consolidate/1"; }

  Found find(const PlacementRequest& request,
             const FreeIndex& index,
             std::vector<NodeCount>& nodes) const override;
};

/// In one NVLink domain where the gang fits in one, else in one rack, else in as few racks as
/// possible, and in these in few domains and on few nodes. Of several that are large enough the one
/// with least room. Nodes whose racks were not declared count as one rack.
class Topology final : public ScoredPlacer {
 public:
  std::string_view name() const override { return "topology/1"; }

  Found find(const PlacementRequest& request,
             const FreeIndex& index,
             std::vector<NodeCount>& nodes) const override;
};

}  // namespace orrery
