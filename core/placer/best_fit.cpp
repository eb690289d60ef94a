#include "core/placer/best_fit.hpp"

#include <algorithm>

#include "core/placer/pack_devices.hpp"

namespace orrery {
namespace {

// The node with the fewest free devices in [at_least, at_most] on which one replica fits.
NodeId tightest(const FreeIndex& index,
                const PlacementRequest& request,
                std::int32_t at_least,
                std::int32_t at_most) {
  for (std::int32_t level = at_least; level <= at_most; ++level) {
    const NodeId node = index.first_with(request.demand, level, request.avoid);
    if (!node.is_none()) return node;
  }
  return NodeId::none();
}

// The node that takes most of what is left: all of it, as tightly as possible, or as much as any.
NodeId pick(const FreeIndex& index, const PlacementRequest& request, std::int32_t replicas) {
  const Demand& demand = request.demand;
  const std::int32_t top = index.devices_most();
  if (demand.devices == 0 || !demand.share.is_whole()) return tightest(index, request, 0, top);
  const std::int64_t want = std::int64_t{replicas} * demand.devices;
  if (want <= top) {
    const NodeId node = tightest(index, request, static_cast<std::int32_t>(want), top);
    if (!node.is_none()) return node;
  }
  for (std::int32_t level = static_cast<std::int32_t>(std::min<std::int64_t>(top, want));
       level >= demand.devices;
       --level) {
    const NodeId node = index.first_with(demand, level, request.avoid);
    if (!node.is_none()) return node;
  }
  return NodeId::none();
}

}  // namespace

bool BestFit::place(const PlacementRequest& request,
                    CapacityTrial& trial,
                    std::vector<NodeCount>& nodes) const {
  if (trial.index().replicas_by_devices(request.demand) < request.replicas) return false;
  const std::size_t begin = nodes.size();
  const std::size_t mark = trial.mark();
  std::int32_t left = request.replicas;
  while (left > 0) {
    const NodeId node = pick(trial.index(), request, left);
    if (node.is_none()) {
      trial.undo(mark);
      nodes.resize(begin);
      return false;
    }
    const std::int32_t here =
        std::min(left, replicas_that_fit(trial.index().at(node), request.demand));
    trial.take(node, request.demand, here);
    nodes.push_back({node, here});
    left -= here;
  }
  return true;
}

DeviceSet BestFit::choose_devices(const NodeDevices& devices, const Demand& demand) const {
  return pack_devices(devices, demand);
}

}  // namespace orrery
