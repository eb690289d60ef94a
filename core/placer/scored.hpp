// Placers that give each node a score: the search for the best one that they share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/cluster/free_index.hpp"
#include "core/placer/placer.hpp"
#include "core/placer/tie_order.hpp"

namespace orrery {

/// What the fullest device of a node has left on which so many thousandths fit; 1000: none that is
/// partly taken.
std::int32_t fullest_with(const NodeFree& free, std::int32_t thousandths);

/// Replica by replica, each on the node of the highest score at that moment. Costs a score for each
/// node with room, and for each further replica one score and a look at the others.
class ScoredPlacer : public Placer {
 public:
  bool place(const PlacementRequest& request,
             CapacityTrial& trial,
             std::vector<NodeCount>& nodes) const override;

  void take(const PlacementRequest& request,
            CapacityTrial& trial,
            const NodeCount& nodes) const override;

  /// Whole devices as `pack_devices` chooses them, a part of one as `choose_share` says.
  DeviceSet choose_devices(const PlacementRequest& request,
                           const DeviceOffer& offer) const override;

 protected:
  /// From which device of a node a replica that asks for a part of one takes it, by what the device
  /// has left: a part that is in `free`, or 1000 for one that is wholly free. The default is the
  /// fullest that has so much left.
  virtual std::int32_t choose_share(const PlacementRequest& request,
                                    NodeId node,
                                    const NodeFree& free) const;

  /// What is left of the node after one replica of the request, which fits there.
  NodeFree after(const PlacementRequest& request, NodeId node, const NodeFree& free) const;

  /// Placer::find. A scorer has `std::int64_t score(NodeId, const NodeFree&, std::int32_t here)`
  /// for one more replica on a node that has room for it and `here` replicas of this request
  /// already, and `std::int64_t final(std::int64_t score, std::int64_t least, std::int64_t most)`,
  /// the score beside the least and the most of all nodes with room. The highest wins, of equal
  /// ones the least key of `order`. `kByFreeAlone`: the score of a node without replicas of this
  /// request does not depend on which node it is.
  template <class Scorer>
  Found find_by(const Scorer& scorer,
                const TieOrder& order,
                const PlacementRequest& request,
                const FreeIndex& index,
                std::vector<NodeCount>& nodes) const;
};

/// The score counts as it is, and nodes with the same free have the same.
struct PlainScore {
  static constexpr bool kByFreeAlone = true;

  static constexpr std::int64_t final(std::int64_t score, std::int64_t, std::int64_t) {
    return score;
  }
};

template <class Scorer>
Placer::Found ScoredPlacer::find_by(const Scorer& scorer,
                                    const TieOrder& order,
                                    const PlacementRequest& request,
                                    const FreeIndex& index,
                                    std::vector<NodeCount>& nodes) const {
  struct Candidate {
    NodeId node;
    std::int32_t here;
    std::int64_t score;
    const NodeFree* free;
  };

  if (index.replicas_by_devices(request.demand) < request.replicas) return Found::None;
  std::vector<Candidate> candidates;
  candidates.reserve(index.size());
  for (std::uint32_t n = 0; n < index.size(); ++n) {
    const NodeId node{n};
    const NodeFree& free = index.at(node);
    if (node == request.avoid || !has_room(free, request.demand)) continue;
    const bool alike =
        Scorer::kByFreeAlone && !candidates.empty() && free == *candidates.back().free;
    candidates.push_back(
        {node, 0, alike ? candidates.back().score : scorer.score(node, free, 0), &free});
  }
  std::deque<NodeFree> changed;  // What candidates point to stays where it is.
  const std::size_t begin = nodes.size();
  for (std::int32_t left = request.replicas; left > 0; --left) {
    if (candidates.empty()) {
      nodes.resize(begin);
      return Found::None;
    }
    const auto [least, most] = std::minmax_element(
        candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
          return a.score < b.score;
        });
    const std::pair range(least->score, most->score);
    Candidate* best = nullptr;
    std::int64_t best_score = 0;
    for (Candidate& each : candidates) {
      const std::int64_t score = scorer.final(each.score, range.first, range.second);
      if (best != nullptr && (score < best_score || (score == best_score &&
                                                     order.key(best->node) < order.key(each.node))))
        continue;
      best = &each;
      best_score = score;
    }
    if (best->here == 0) {
      nodes.push_back({best->node, 1});
    } else {
      ++std::find_if(nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                     nodes.end(),
                     [&](const NodeCount& n) { return n.node == best->node; })
            ->replicas;
    }
    if (left == 1) break;
    best->free = &changed.emplace_back(after(request, best->node, *best->free));
    ++best->here;
    if (has_room(*best->free, request.demand)) {
      best->score = scorer.score(best->node, *best->free, best->here);
    } else {
      *best = candidates.back();
      candidates.pop_back();
    }
  }
  return Found::Place;
}

}  // namespace orrery
