// The network of a modelled cluster, as plain data: how nodes are joined, how fast their links are,
// and the storage that checkpoints go to. docs/scenario_format.md gives units and defaults.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/units.hpp"

namespace orrery::scenarios {

/// How nodes are joined.
enum class NetworkTopology : std::uint8_t {
  Star,       ///< Every node by its own link to one switch that is never the bottleneck.
  FatTree,    ///< Leaf switches of `nodes_per_leaf` nodes under spines; see `oversubscription`.
  Dragonfly,  ///< Groups of chassis of routers, all to all between groups.
  Torus,      ///< A grid that closes on itself, a node at each point.
  Platform,   ///< As the SimGrid platform file says.
};

/// Which node is at which place of the topology.
enum class Wiring : std::uint8_t {
  InOrder,   ///< By number: neighbours are under one leaf.
  Shuffled,  ///< Drawn from the scenario's seed: numbers say nothing about the network.
};

/// Shape of a dragonfly. Nodes = groups x chassis x routers x nodes_per_router; groups is at most
/// routers, since SimGrid 3.32 cannot route otherwise.
struct DragonflyShape {
  std::int32_t groups = 1;
  std::int32_t chassis = 1;  ///< Of one group.
  std::int32_t routers = 1;  ///< Of one chassis.
  std::int32_t nodes_per_router = 1;
};

/// Bandwidths are of one direction of one link, in bytes per second, above 0.
struct NetworkSpec {
  NetworkTopology topology = NetworkTopology::Star;
  Wiring wiring = Wiring::InOrder;
  double nic_bandwidth = 50e9;      ///< Of a node's link: 50 GB/s is 400 Gb/s.
  Duration latency{1'000};          ///< Of one link.
  std::int32_t nodes_per_leaf = 0;  ///< FatTree, at least 1.
  /// FatTree: links down to nodes over links up to spines, at least 1. There are
  /// max(1, floor(nodes_per_leaf / oversubscription)) spines, one link of `link_bandwidth` to each
  /// from each leaf.
  double oversubscription = 1;
  double link_bandwidth = 50e9;     ///< Between switches.
  std::vector<std::int32_t> torus;  ///< Torus: nodes along each axis, 1 to 4 axes.
  DragonflyShape dragonfly;         ///< Dragonfly.
  double device_bandwidth = 450e9;  ///< Of one device inside its node (NVLink, PCIe).
  double storage_bandwidth = 0;     ///< Of the shared storage, each way; 0: never a bottleneck.
  Duration stage = Duration::seconds(60);  ///< L2: after so long the flows of a job start anew.
  std::string platform;   ///< Platform: the XML file, as a path that can be opened.
  bool declared = false;  ///< The scenario says something about its network.
};

}  // namespace orrery::scenarios

namespace orrery {

template <>
struct EnumNames<scenarios::Wiring> {
  static constexpr std::array kNames{"in_order", "shuffled"};
};

template <>
struct EnumNames<scenarios::NetworkTopology> {
  static constexpr std::array kNames{"star", "fat-tree", "dragonfly", "torus", "platform"};
};

}  // namespace orrery
