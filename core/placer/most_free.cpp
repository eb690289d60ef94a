#include "core/placer/most_free.hpp"

#include <algorithm>

#include "core/placer/pack_devices.hpp"

namespace orrery {

bool MostFree::place(const PlacementRequest& request,
                     CapacityTrial& trial,
                     std::vector<NodeCount>& nodes) const {
  const Demand& demand = request.demand;
  if (demand.devices == 0 || !demand.share.is_whole()) return packed_.place(request, trial, nodes);
  const FreeIndex& index = trial.index();
  if (index.replicas_by_devices(demand) < request.replicas) return false;
  const std::size_t begin = nodes.size();
  const std::size_t mark = trial.mark();
  std::int32_t left = request.replicas;
  // A node that was taken from has no room for another replica, so levels need no second look.
  for (std::int32_t level = index.devices_most(); left > 0 && level >= demand.devices; --level)
    while (left > 0) {
      const NodeId node = index.first_with(demand, level, request.avoid);
      if (node.is_none()) break;
      const std::int32_t here = std::min(left, replicas_that_fit(index.at(node), demand));
      trial.take(node, demand, here);
      nodes.push_back({node, here});
      left -= here;
    }
  if (left == 0) return true;
  trial.undo(mark);
  nodes.resize(begin);
  return false;
}

DeviceSet MostFree::choose_devices(const NodeDevices& devices, const Demand& demand) const {
  return pack_devices(devices, demand);
}

}  // namespace orrery
