// The node that loses least to fragmentation.
#pragma once

#include "core/placer/scored.hpp"

namespace orrery {

/// Fragmentation gradient descent (Weng et al., USENIX ATC 2023): the node, and for a part of a
/// device the device, where the fragment for the mix of the live jobs (Fragmentation) grows least
/// or shrinks most. Score: 100 times the logistic function of how many devices it shrinks by, whole
/// numbers.
class Fgd final : public ScoredPlacer {
 public:
  std::string_view name() const override { return "fgd/1"; }

  Found find(const PlacementRequest& request,
             const FreeIndex& index,
             std::vector<NodeCount>& nodes) const override;

 protected:
  std::int32_t choose_share(const PlacementRequest& request,
                            NodeId node,
                            const NodeFree& free) const override;
};

}  // namespace orrery
