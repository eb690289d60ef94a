// So many replicas on one node: what plans, placements and views speak of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.hpp"

namespace orrery {

/// So many replicas on one node.
struct NodeCount {
  NodeId node;
  std::int32_t replicas = 0;  ///< At least 1.

  friend bool operator==(const NodeCount&, const NodeCount&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
    v.field("replicas", self.replicas);
  }
};

/// Makes it one entry per node, ascending; replicas of repeated nodes added up.
void merge(std::vector<NodeCount>& nodes);

/// The same as a copy.
std::vector<NodeCount> merged(std::span<const NodeCount> nodes);

}  // namespace orrery
