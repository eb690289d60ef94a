// Any node with room, any device with room.
#pragma once

#include "core/placer/scored.hpp"

namespace orrery {

/// Each replica on a node drawn uniformly from those with room, a part of a device from one drawn
/// uniformly from the node's devices with room. What is drawn follows from the seed, the job, its
/// membership and the node, so that a trial and the claim after it draw the same.
class RandomNode final : public ScoredPlacer {
 public:
  std::string_view name() const override { return "random/1"; }

  Found find(const PlacementRequest& request,
             const FreeIndex& index,
             std::vector<NodeCount>& nodes) const override;

 protected:
  std::int32_t choose_share(const PlacementRequest& request,
                            NodeId node,
                            const NodeFree& free) const override;
};

}  // namespace orrery
