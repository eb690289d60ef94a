#include "core/cluster/node_count.hpp"

#include <algorithm>

namespace orrery {

void merge(std::vector<NodeCount>& nodes) {
  std::sort(nodes.begin(), nodes.end(), [](const NodeCount& a, const NodeCount& b) {
    return a.node < b.node;
  });
  std::size_t kept = 0;
  for (const NodeCount& n : nodes) {
    if (kept > 0 && nodes[kept - 1].node == n.node) {
      nodes[kept - 1].replicas += n.replicas;
    } else {
      nodes[kept++] = n;
    }
  }
  nodes.resize(kept);
}

std::vector<NodeCount> merged(std::span<const NodeCount> nodes) {
  std::vector<NodeCount> out(nodes.begin(), nodes.end());
  merge(out);
  return out;
}

}  // namespace orrery
