// Networks and stages of tests.
#pragma once

#include <initializer_list>
#include <vector>

#include "scenarios/language/spec/network_spec.hpp"
#include "sim/fabric/stage.hpp"

namespace orrery::sim::test {

inline scenarios::NetworkSpec star_of(double nic) {
  scenarios::NetworkSpec spec;
  spec.nic_bandwidth = nic;
  spec.latency = Duration::zero();
  return spec;
}

inline scenarios::NetworkSpec fat_tree_of(std::int32_t per_leaf, double oversubscription) {
  scenarios::NetworkSpec spec = star_of(100);
  spec.topology = scenarios::NetworkTopology::FatTree;
  spec.nodes_per_leaf = per_leaf;
  spec.oversubscription = oversubscription;
  spec.link_bandwidth = 100;
  return spec;
}

inline std::vector<NodeId> nodes_of(std::initializer_list<std::uint32_t> numbers) {
  std::vector<NodeId> nodes;
  for (const std::uint32_t number : numbers) nodes.emplace_back(number);
  return nodes;
}

inline Exchange exchange_of(Pattern pattern,
                            std::initializer_list<std::uint32_t> members,
                            double bytes) {
  Exchange exchange;
  exchange.pattern = pattern;
  exchange.members = nodes_of(members);
  exchange.bytes = bytes;
  return exchange;
}

inline Exchange transfer_of(NodeId from, NodeId to, double bytes) {
  Exchange exchange;
  exchange.transfers = {{from, to, bytes}};
  return exchange;
}

/// Steps that compute for `compute_s`, and then exchange; evenly flowing.
inline Stage stage_of(double steps, double compute_s, Exchange exchange) {
  Stage stage;
  stage.steps = steps;
  stage.compute_s = compute_s;
  stage.exchanges = {std::move(exchange)};
  return stage;
}

/// Bytes at once from one node to another, as fast as they can.
inline Stage copy_of(NodeId from, NodeId to, double bytes) {
  Stage stage = stage_of(1, 0, transfer_of(from, to, bytes));
  stage.paced = false;
  return stage;
}

}  // namespace orrery::sim::test
