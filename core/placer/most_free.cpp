#include "core/placer/most_free.hpp"

#include <algorithm>

#include "core/placer/pack_devices.hpp"

namespace orrery {

Placer::Found MostFree::find(const PlacementRequest& request,
                             const FreeIndex& index,
                             std::vector<NodeCount>& nodes) const {
  const Demand& demand = request.demand;
  if (demand.devices == 0 || !demand.share.is_whole()) return packed_.find(request, index, nodes);
  if (index.replicas_by_devices(demand) < request.replicas) return Found::None;
  const std::size_t begin = nodes.size();
  std::int32_t left = request.replicas;
  // A node that was taken from has no room for another replica, so levels need no second look.
  for (std::int32_t level = index.devices_most(); left > 0 && level >= demand.devices; --level)
    for (NodeId node = index.first_with(demand, level, request.avoid); left > 0 && !node.is_none();
         node = index.first_with(demand, level, request.avoid, node.value + 1)) {
      const std::int32_t here = std::min(left, replicas_that_fit(index.at(node), demand));
      nodes.push_back({node, here});
      left -= here;
    }
  if (left == 0) return Found::Place;
  nodes.resize(begin);
  return Found::None;
}

bool MostFree::place(const PlacementRequest& request,
                     CapacityTrial& trial,
                     std::vector<NodeCount>& nodes) const {
  return take_found(request, trial, nodes);
}

DeviceSet MostFree::choose_devices(const PlacementRequest& request,
                                   const DeviceOffer& offer) const {
  return pack_devices(offer.devices, request.demand);
}

}  // namespace orrery
