#include "core/placer/random_node.hpp"

namespace orrery {
namespace {

// What makes a request's draws its own.
std::uint64_t draw_seed(const PlacementRequest& request) {
  return mixed_bits(mixed_bits(request.seed + mixed_bits(request.job.value)) +
                    request.generation.value);
}

// All score the same, and the order of ties is drawn anew for each request.
struct SameScore : PlainScore {
  static constexpr std::int64_t score(NodeId, const NodeFree&, std::int32_t) { return 0; }
};

}  // namespace

Placer::Found RandomNode::find(const PlacementRequest& request,
                               const FreeIndex& index,
                               std::vector<NodeCount>& nodes) const {
  return find_by(SameScore{}, TieOrder(draw_seed(request)), request, index, nodes);
}

std::int32_t RandomNode::choose_share(const PlacementRequest& request,
                                      NodeId node,
                                      const NodeFree& free) const {
  const std::int32_t share = request.demand.share.thousandths;
  std::uint64_t parts = 0;
  if (free.parts != nullptr)
    for (const std::int16_t left : *free.parts) parts += left >= share ? 1 : 0;
  const std::uint64_t fitting = parts + static_cast<std::uint64_t>(free.devices);
  // Further replicas on the node meet less that is free, and draw anew.
  Random random(mixed_bits(draw_seed(request) + node.value) +
                static_cast<std::uint64_t>(free.thousandths()));
  const std::uint64_t drawn = random.below(fitting);
  return drawn < parts ? *(free.parts->end() - 1 - static_cast<std::ptrdiff_t>(drawn)) : 1000;
}

}  // namespace orrery
