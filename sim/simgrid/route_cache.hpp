// Ways through a platform, looked up once: SimGrid takes up to microseconds to find one.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/ids.hpp"
#include "sim/simgrid/platform.hpp"

namespace orrery::sim {

/// Forgets everything when it has grown large, so that it takes a few tens of megabytes at most.
class RouteCache {
 public:
  struct Way {
    std::span<const std::uint32_t> links;  ///< Valid until the next call.
    double latency_s = 0;                  ///< Beyond that of the links.
  };

  /// `platform` outlives the cache.
  explicit RouteCache(const Platform& platform) : platform_(platform) {}

  Way find(NodeId from, NodeId to) {
    const std::uint64_t key = std::uint64_t{from.value} << 32U | to.value;
    const auto known = ways_.find(key);
    if (known != ways_.end()) return way(known->second);
    if (links_.size() > kLinksMax) {
      links_.clear();
      ways_.clear();
    }
    platform_.find_route(from, to, route_);
    const Place place{static_cast<std::uint32_t>(links_.size()),
                      static_cast<std::uint32_t>(route_.links.size()),
                      route_.latency};
    links_.insert(links_.end(), route_.links.begin(), route_.links.end());
    ways_.emplace(key, place);
    return way(place);
  }

 private:
  struct Place {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
    double latency_s = 0;
  };

  static constexpr std::size_t kLinksMax = 1U << 20U;

  Way way(const Place& place) const {
    return {std::span(links_).subspan(place.begin, place.count), place.latency_s};
  }

  const Platform& platform_;
  Platform::Route route_;
  std::unordered_map<std::uint64_t, Place> ways_;
  std::vector<std::uint32_t> links_;
};

}  // namespace orrery::sim
