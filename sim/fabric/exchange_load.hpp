// What one step of a stage puts on the links of a network, and how long its exchange takes when
// no other job uses them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/fabric/stage.hpp"
#include "sim/fabric/topology.hpp"

namespace orrery::sim {

/// A stage's part of one link.
struct LinkLoad {
  std::uint32_t link = 0;
  std::uint32_t flows = 0;  ///< Ordered pairs of nodes whose bytes pass here; at least 1.
  double bytes = 0;         ///< Of one step, above 0.
};

/// Works out loads, with memory of the network's size that it uses again.
class ExchangeLoads {
 public:
  /// `topology` outlives this.
  explicit ExchangeLoads(const Topology& topology);

  /// The links that the stage's exchanges use, in the order of their first byte. Valid until the
  /// next call.
  const std::vector<LinkLoad>& of(const Stage& stage);

  /// Seconds of the exchange of one step between nodes, of the stage that `of` saw last: the
  /// longest that any link takes for its bytes, plus the latencies of the longest exchange.
  double alone_s() const { return transfer_s_ + latency_s_; }

  /// Of that, the latencies.
  double latency_s() const { return latency_s_; }

  /// The longest that a transfer takes whatever the links carry; 0 where nothing limits it.
  double limit_s() const { return limit_s_; }

 private:
  void add(const Exchange& exchange);

  const Topology* topology_;
  std::vector<LinkLoad> loads_;
  std::vector<std::uint32_t> place_;  // By link: 1 + place in `loads_`, 0: none.
  std::vector<std::uint32_t> route_;
  double transfer_s_ = 0;
  double latency_s_ = 0;
  double limit_s_ = 0;
};

/// How often a byte waits for one that was sent before it: 2 (N - 1) in a ring, 2 log2 N up and
/// down a tree, log2 N in a broadcast, else 1; 0 with fewer than two members.
std::uint32_t rounds_of(const Exchange& exchange);

/// Seconds that the exchange of one step between nodes takes when no other job uses the network:
/// the longest that any link takes for its bytes, plus the latencies of the longest exchange, one
/// longest route for each round. Exchanges within nodes are not in it.
double exchange_alone_s(const Topology& topology, const Stage& stage);

/// Seconds of one step of the stage, whose exchange between nodes takes `exchange_s`.
double step_with_exchange_s(const Stage& stage, double exchange_s);

}  // namespace orrery::sim
