// Racks and switches: runs of neighbouring nodes that are lost together.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::scenarios {

/// Nodes `first` to `first + count - 1`.
struct NodeRun {
  NodeId first;
  std::int32_t count = 0;

  bool has(NodeId node) const {
    return node >= first && node.value - first.value < static_cast<std::uint32_t>(count);
  }
};

/// Every rack or switch of the cluster, in the order of the nodes: its number is its index. They
/// are numbered through all groups; groups without such have none, and the last of a group may be
/// smaller.
std::vector<NodeRun> node_sets(const Scenario& scenario, NodeSet kind);

/// The set among `sets` that has `node`; nullptr where none has.
const NodeRun* set_of(const std::vector<NodeRun>& sets, NodeId node);

}  // namespace orrery::scenarios
