#include "core/cluster/node_count.hpp"

#include <algorithm>

namespace orrery {

std::vector<NodeCount> merged(std::span<const NodeCount> nodes) {
  std::vector<NodeCount> out(nodes.begin(), nodes.end());
  std::sort(out.begin(), out.end(), [](const NodeCount& a, const NodeCount& b) {
    return a.node < b.node;
  });
  std::size_t kept = 0;
  for (const NodeCount& n : out) {
    if (kept > 0 && out[kept - 1].node == n.node) {
      out[kept - 1].replicas += n.replicas;
    } else {
      out[kept++] = n;
    }
  }
  out.resize(kept);
  return out;
}

}  // namespace orrery
