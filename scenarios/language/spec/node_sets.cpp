#include "scenarios/language/spec/node_sets.hpp"

#include <algorithm>

namespace orrery::scenarios {

std::vector<NodeRun> node_sets(const Scenario& scenario, NodeSet kind) {
  std::vector<NodeRun> sets;
  std::uint32_t first = 0;
  for (std::size_t g = 0; g < scenario.groups.size(); ++g) {
    const NodeGroup& group = scenario.groups[g];
    const std::int32_t size =
        kind == NodeSet::Rack ? group.nodes_per_rack : scenario.nodes_per_switch[g];
    for (std::int32_t n = 0; size > 0 && n < group.count; n += size)
      sets.push_back(
          {NodeId{first + static_cast<std::uint32_t>(n)}, std::min(size, group.count - n)});
    first += static_cast<std::uint32_t>(group.count);
  }
  return sets;
}

const NodeRun* set_of(const std::vector<NodeRun>& sets, NodeId node) {
  const auto after =
      std::upper_bound(sets.begin(), sets.end(), node, [](NodeId wanted, const NodeRun& set) {
        return wanted < set.first;
      });
  return after != sets.begin() && (after - 1)->has(node) ? &*(after - 1) : nullptr;
}

}  // namespace orrery::scenarios
