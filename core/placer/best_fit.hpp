// Few nodes, the last one the tightest fit.
#pragma once

#include "core/placer/placer.hpp"

namespace orrery {

/// As few nodes as possible, the last one the tightest fit, the lowest id on ties. Parts of devices
/// and demands without a device go to the node with the fewest free devices.
class BestFit final : public Placer {
 public:
  static constexpr std::string_view kName = "best_fit/1";

  std::string_view name() const override { return kName; }

  bool place(const PlacementRequest& request,
             CapacityTrial& trial,
             std::vector<NodeCount>& nodes) const override;

  Found find(const PlacementRequest& request,
             const FreeIndex& index,
             std::vector<NodeCount>& nodes) const override;

  DeviceSet choose_devices(const PlacementRequest& request,
                           const DeviceOffer& offer) const override;
};

}  // namespace orrery
