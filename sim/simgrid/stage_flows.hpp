// A stage of work as flows: which rank sends how much to which over which links, and how long a
// step takes when no other job uses the network.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/fabric/stage.hpp"
#include "sim/simgrid/flow_links.hpp"
#include "sim/simgrid/route_cache.hpp"

namespace orrery::sim {

/// Works stages out, with memory that it uses again.
class StageFlows {
 public:
  /// All bytes of a step from one node to another.
  struct Pair {
    NodeId from;
    NodeId to;
    double bytes = 0;               ///< Above 0.
    std::uint32_t links_begin = 0;  ///< In `links()`.
    std::uint32_t links_end = 0;
    double rate_max = 0;  ///< Of this flow alone, whatever the links allow; 0: none.
  };

  /// All of them outlive this.
  StageFlows(const Platform& platform, const FlowLinks& links, RouteCache& routes);

  /// Works out the stage; what the other functions give is of it until the next call. Transfers
  /// from and to a storage that a platform file does not have take no time and are left out.
  void of(const Stage& stage);

  const std::vector<Pair>& pairs() const { return pairs_; }

  std::span<const std::uint32_t> links(const Pair& pair) const {
    return std::span(route_links_).subspan(pair.links_begin, pair.links_end - pair.links_begin);
  }

  /// The latencies that one step pays, in seconds: the longest way, once for each time that a byte
  /// waits for another one, of the slowest exchange.
  double latency_s() const { return latency_s_; }

  /// Seconds of one step when no other job uses the network.
  double step_s() const { return step_s_; }

 private:
  void add(const Exchange& exchange);
  void merge();

  const Platform& platform_;
  const FlowLinks& links_;
  RouteCache& routes_;
  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> route_links_;
  std::vector<double> load_;  ///< By link: bytes of a step; 0 between calls.
  double latency_s_ = 0;
  double step_s_ = 0;
};

}  // namespace orrery::sim
