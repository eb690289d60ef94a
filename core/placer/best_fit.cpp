#include "core/placer/best_fit.hpp"

#include <algorithm>

#include "core/placer/pack_devices.hpp"

namespace orrery {
namespace {

/// What is left of an index as nodes are chosen from it. Each chosen node gives all replicas that
/// fit there, or the last that are missing: it is not chosen again. So of the nodes with as many
/// free devices those are chosen that come first.
class Choice {
 public:
  Choice(const PlacementRequest& request, const FreeIndex& index, std::vector<NodeCount>& nodes)
      : request_(request), index_(index), nodes_(nodes), begin_(nodes.size()) {}

  /// Chooses a node for up to `replicas`; returns how many it takes, 0 where there is none.
  std::int32_t choose(std::int32_t replicas) {
    const NodeId node = pick(replicas);
    if (node.is_none()) return 0;
    const std::int32_t here =
        std::min(replicas, replicas_that_fit(index_.at(node), request_.demand));
    nodes_.push_back({node, here});
    return here;
  }

  void undo() { nodes_.resize(begin_); }

 private:
  // The node that takes most of what is left: all of it, as tightly as possible, or as much as any.
  NodeId pick(std::int32_t replicas) const {
    const Demand& demand = request_.demand;
    const std::int32_t top = index_.devices_most();
    if (demand.devices == 0 || !demand.share.is_whole()) return tightest(0, top);
    const std::int64_t want = std::int64_t{replicas} * demand.devices;
    if (want <= top) {
      const NodeId node = tightest(static_cast<std::int32_t>(want), top);
      if (!node.is_none()) return node;
    }
    for (std::int32_t level = static_cast<std::int32_t>(std::min<std::int64_t>(top, want));
         level >= demand.devices;
         --level) {
      const NodeId node = first_with(level);
      if (!node.is_none()) return node;
    }
    return NodeId::none();
  }

  // The node with the fewest free devices in [at_least, at_most] on which one replica fits.
  NodeId tightest(std::int32_t at_least, std::int32_t at_most) const {
    for (std::int32_t level = at_least; level <= at_most; ++level) {
      const NodeId node = first_with(level);
      if (!node.is_none()) return node;
    }
    return NodeId::none();
  }

  NodeId first_with(std::int32_t level) const {
    for (std::size_t i = nodes_.size(); i-- > begin_;)
      if (index_.at(nodes_[i].node).devices == level)
        return index_.first_with(request_.demand, level, request_.avoid, nodes_[i].node.value + 1);
    return index_.first_with(request_.demand, level, request_.avoid);
  }

  const PlacementRequest& request_;
  const FreeIndex& index_;
  std::vector<NodeCount>& nodes_;
  std::size_t begin_;
};

}  // namespace

Placer::Found BestFit::find(const PlacementRequest& request,
                            const FreeIndex& index,
                            std::vector<NodeCount>& nodes) const {
  if (index.replicas_by_devices(request.demand) < request.replicas) return Found::None;
  Choice choice(request, index, nodes);
  for (std::int32_t left = request.replicas; left > 0;) {
    const std::int32_t here = choice.choose(left);
    if (here == 0) {
      choice.undo();
      return Found::None;
    }
    left -= here;
  }
  return Found::Place;
}

bool BestFit::place(const PlacementRequest& request,
                    CapacityTrial& trial,
                    std::vector<NodeCount>& nodes) const {
  return take_found(request, trial, nodes);
}

DeviceSet BestFit::choose_devices(const PlacementRequest& request, const DeviceOffer& offer) const {
  return pack_devices(offer.devices, request.demand);
}

}  // namespace orrery
