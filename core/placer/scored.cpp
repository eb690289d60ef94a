#include "core/placer/scored.hpp"

#include <bit>

#include "core/base/invariant.hpp"
#include "core/placer/pack_devices.hpp"

namespace orrery {
namespace {

// Only the emptiest of the partly taken devices is known, as in journals from before rule 1.
bool is_estimate(const NodeFree& free) { return free.parts == nullptr && free.partial_max > 0; }

// What the node has free, its parts as the devices tell them.
NodeFree free_by_devices(const DeviceOffer& offer) {
  NodeFree free = offer.free;
  free.devices = std::popcount(offer.devices.whole);
  DeviceParts parts;
  for (std::size_t d = 0; d < offer.devices.left.size(); ++d)
    if ((offer.devices.whole >> d & 1) == 0 && offer.devices.left[d] > 0)
      parts.push_back(offer.devices.left[d]);
  set_parts(free, std::move(parts));
  return free;
}

}  // namespace

std::int32_t fullest_with(const NodeFree& free, std::int32_t thousandths) {
  if (free.parts == nullptr) return free.partial_max >= thousandths ? free.partial_max : 1000;
  const auto part = std::lower_bound(free.parts->begin(), free.parts->end(), thousandths);
  return part == free.parts->end() ? 1000 : *part;
}

bool ScoredPlacer::place(const PlacementRequest& request,
                         CapacityTrial& trial,
                         std::vector<NodeCount>& nodes) const {
  return take_found(request, trial, nodes);
}

void ScoredPlacer::take(const PlacementRequest& request,
                        CapacityTrial& trial,
                        const NodeCount& nodes) const {
  std::int32_t left = nodes.replicas;
  for (; left > 0 && is_share(request.demand) && !is_estimate(trial.index().at(nodes.node)); --left)
    trial.take_from(nodes.node,
                    request.demand,
                    choose_share(request, nodes.node, trial.index().at(nodes.node)));
  if (left > 0) trial.take(nodes.node, request.demand, left);
}

DeviceSet ScoredPlacer::choose_devices(const PlacementRequest& request,
                                       const DeviceOffer& offer) const {
  const NodeDevices& devices = offer.devices;
  if (!is_share(request.demand)) return pack_devices(devices, request.demand);
  const std::int32_t left = choose_share(request, offer.node, free_by_devices(offer));
  for (std::size_t d = 0; left < 1000 && d < devices.left.size(); ++d)
    if ((devices.whole >> d & 1) == 0 && devices.left[d] == left) return DeviceSet{1} << d;
  const DeviceSet unused = devices.whole & devices.unused;
  const DeviceSet from = unused != 0 ? unused : devices.whole;
  invariant(from != 0, "a claim finds the device it was promised");
  return from & (~from + 1);
}

std::int32_t ScoredPlacer::choose_share(const PlacementRequest& request,
                                        NodeId,
                                        const NodeFree& free) const {
  return fullest_with(free, request.demand.share.thousandths);
}

NodeFree ScoredPlacer::after(const PlacementRequest& request,
                             NodeId node,
                             const NodeFree& free) const {
  if (!is_share(request.demand) || is_estimate(free)) return less(free, request.demand, 1);
  return less_from(free, request.demand, choose_share(request, node, free));
}

}  // namespace orrery
