// Placers that score what a node has free by one formula.
#pragma once

#include "core/placer/scored.hpp"

namespace orrery {

/// Where the free capacity points least in the direction of the demand: 100 (1 - (c a / C² + r d /
/// D²) / 2), with c and r what the node has free of CPU and devices, a and d what is asked for, C
/// and D the most that any node has.
class DotProduct final : public ScoredPlacer {
 public:
  std::string_view name() const override { return "dot_product/1"; }

  Found find(const PlacementRequest& request,
             const FreeIndex& index,
             std::vector<NodeCount>& nodes) const override;
};

/// Where least is left: 100 (1 - ((c - a) / C + (r - d) / D) / 2), stretched to 0 to 100 over the
/// nodes with room. Not best_fit/1, which goes by whole devices and fills a gang's nodes.
class BestFitScore final : public ScoredPlacer {
 public:
  std::string_view name() const override { return "best_fit_score/1"; }

  Found find(const PlacementRequest& request,
             const FreeIndex& index,
             std::vector<NodeCount>& nodes) const override;
};

/// Devices in use first, then nodes in use, then empty nodes, the smallest first.
class GpuPacking final : public ScoredPlacer {
 public:
  std::string_view name() const override { return "gpu_packing/1"; }

  Found find(const PlacementRequest& request,
             const FreeIndex& index,
             std::vector<NodeCount>& nodes) const override;
};

/// Nodes that have jobs of the same kind alone (parts of devices, or so many whole ones), then such
/// with others beside them, then empty ones, then those of others; of each the fullest.
class GpuClustering final : public ScoredPlacer {
 public:
  std::string_view name() const override { return "gpu_clustering/1"; }

  Found find(const PlacementRequest& request,
             const FreeIndex& index,
             std::vector<NodeCount>& nodes) const override;
};

/// Each replica on a node with the fewest of its gang, of those the one with the most free devices,
/// the most free CPU where no device is asked for.
class Spread final : public ScoredPlacer {
 public:
  std::string_view name() const override { return "spread/1"; }

  Found find(const PlacementRequest& request,
             const FreeIndex& index,
             std::vector<NodeCount>& nodes) const override;
};

}  // namespace orrery
