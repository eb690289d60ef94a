// The nodes with the most free devices first, as Tiresias and Optimus place.
#pragma once

#include "core/placer/best_fit.hpp"

namespace orrery {

/// Always the node with the most free devices, the lower id of equal ones, and on it as many
/// replicas as fit. Parts of devices and demands without a device go where BestFit puts them.
class MostFree final : public Placer {
 public:
  std::string_view name() const override { return "most_free/1"; }

  bool place(const PlacementRequest& request,
             CapacityTrial& trial,
             std::vector<NodeCount>& nodes) const override;

  Found find(const PlacementRequest& request,
             const FreeIndex& index,
             std::vector<NodeCount>& nodes) const override;

  DeviceSet choose_devices(const PlacementRequest& request,
                           const DeviceOffer& offer) const override;

 private:
  BestFit packed_;
};

}  // namespace orrery
