#include "core/placer/together.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

namespace orrery {
namespace {

// A node with room for at least one replica, and where it stands.
struct Site {
  std::int32_t rack = 0;
  std::int32_t domain = 0;
  std::uint64_t tie = 0;
  NodeId node;
  std::int64_t fits = 0;
};

// What holds a part of a gang together, the widest first.
enum class Level : std::uint8_t { Rack, Domain, Node };

std::vector<Site> sites_with_room(const PlacementRequest& request, const FreeIndex& index) {
  const TieOrder order(request.seed);
  std::vector<Site> sites;
  for (std::uint32_t n = 0; n < index.size(); ++n) {
    const NodeId node{n};
    if (node == request.avoid) continue;
    const std::int32_t fits = replicas_that_fit(index.at(node), request.demand);
    if (fits < 1) continue;
    Site site{-1, static_cast<std::int32_t>(n), order.key(node), node, fits};
    if (request.ledger != nullptr) {
      site.rack = request.ledger->node(node).rack;
      site.domain = request.ledger->node(node).nvlink_domain;
    }
    sites.push_back(site);
  }
  return sites;
}

std::int64_t room_of(std::span<const Site> sites) {
  std::int64_t sum = 0;
  for (const Site& site : sites) sum += site.fits;
  return sum;
}

// Sites that stand together, in the order of the least key among them where room is equal.
struct Part {
  std::span<Site> sites;
  std::int64_t room = 0;
  std::uint64_t tie = 0;
};

std::vector<Part> parts_of(std::span<Site> sites, Level level) {
  const auto key = [level](const Site& site) {
    return std::tuple(level == Level::Rack     ? site.rack
                      : level == Level::Domain ? site.domain
                                               : 0,
                      level == Level::Node ? site.node : NodeId{0});
  };
  std::sort(sites.begin(), sites.end(), [&](const Site& a, const Site& b) {
    return std::tuple(key(a), a.node) < std::tuple(key(b), b.node);
  });
  std::vector<Part> parts;
  for (std::size_t begin = 0; begin < sites.size();) {
    std::size_t end = begin;
    std::uint64_t tie = sites[begin].tie;
    for (; end < sites.size() && key(sites[end]) == key(sites[begin]); ++end)
      tie = std::min(tie, sites[end].tie);
    const std::span<Site> together = sites.subspan(begin, end - begin);
    parts.push_back({together, room_of(together), tie});
    begin = end;
  }
  return parts;
}

// Places `replicas`, for which the sites have room, below as few parts of this level as possible,
// and inside each part likewise by the narrower levels.
void fill(std::span<Site> sites,
          Level level,
          std::int64_t replicas,
          std::vector<NodeCount>& nodes) {
  std::vector<Part> parts = parts_of(sites, level);
  // Most room first, so that the last one large enough for what is left is the tightest.
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::tuple(-a.room, a.tie) < std::tuple(-b.room, b.tie);
  });
  std::size_t next = 0;
  while (replicas > 0) {
    std::size_t chosen = next;
    if (parts[next].room >= replicas) {
      while (chosen + 1 < parts.size() && parts[chosen + 1].room >= replicas) ++chosen;
      // Of equally tight ones the first in the order of ties.
      while (chosen > next && parts[chosen - 1].room == parts[chosen].room) --chosen;
    }
    const Part& part = parts[chosen];
    const std::int64_t here = std::min(replicas, part.room);
    if (level == Level::Node) {
      nodes.push_back({part.sites.front().node, static_cast<std::int32_t>(here)});
    } else {
      fill(part.sites, level == Level::Rack ? Level::Domain : Level::Node, here, nodes);
    }
    replicas -= here;  // A part beyond the next one is large enough for all that is left.
    ++next;
  }
}

}  // namespace

Placer::Found Consolidate::find(const PlacementRequest& request,
                                const FreeIndex& index,
                                std::vector<NodeCount>& nodes) const {
  std::vector<Site> sites = sites_with_room(request, index);
  if (room_of(sites) < request.replicas) return Found::None;
  fill(sites, Level::Node, request.replicas, nodes);
  return Found::Place;
}

Placer::Found Topology::find(const PlacementRequest& request,
                             const FreeIndex& index,
                             std::vector<NodeCount>& nodes) const {
  std::vector<Site> sites = sites_with_room(request, index);
  if (room_of(sites) < request.replicas) return Found::None;
  // A domain that is large enough may stand in a rack that is not the tightest one.
  const std::vector<Part> domains = parts_of(sites, Level::Domain);
  const bool in_one = std::any_of(domains.begin(), domains.end(), [&](const Part& domain) {
    return domain.room >= request.replicas;
  });
  fill(sites, in_one ? Level::Domain : Level::Rack, request.replicas, nodes);
  return Found::Place;
}

}  // namespace orrery
