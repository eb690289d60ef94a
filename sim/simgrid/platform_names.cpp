// Names of links that say where they lie, the same as at L0 and L1.
#include <algorithm>

#include "sim/fabric/topology.hpp"
#include "sim/simgrid/platform.hpp"

namespace orrery::sim {
namespace {

using Shape = scenarios::NetworkTopology;
using Ends = std::pair<NodeId, NodeId>;

NodeId node(std::size_t n) { return NodeId(static_cast<std::uint32_t>(n)); }

// Ways that together pass each link of a fat-tree between its switches.
void add_fat_tree_ways(const scenarios::NetworkSpec& network,
                       std::size_t nodes,
                       std::vector<Ends>& ways) {
  const auto per_leaf = static_cast<std::size_t>(network.nodes_per_leaf);
  // The number of the node at the far end decides on the spine.
  for (std::size_t leaf = 0; leaf * per_leaf < nodes; ++leaf)
    for (std::size_t far = 0; far < std::min(nodes, 3 * per_leaf); ++far) {
      if (far / per_leaf == leaf) continue;
      ways.emplace_back(node(leaf * per_leaf), node(far));
      if (nodes > leaf * per_leaf + far % per_leaf)
        ways.emplace_back(node(far), node(leaf * per_leaf + far % per_leaf));
    }
}

}  // namespace

std::vector<std::string> Platform::link_names() const {
  std::vector<std::string> names;
  names.reserve(links_.size());
  for (const simgrid::s4u::Link* link : links_) names.push_back(link->get_name());
  if (network_.topology == Shape::Platform) return names;

  const std::size_t nodes = hosts_.size();
  std::vector<Ends> ways;
  for (std::size_t i = 0; i < nodes && nodes > 1; ++i) {
    ways.emplace_back(node(i), node((i + 1) % nodes));
    std::size_t stride = 1;
    if (network_.topology != Shape::Torus) continue;
    for (const std::int32_t axis : network_.torus) {
      const std::size_t place = i / stride % static_cast<std::size_t>(axis);
      const std::size_t ahead =
          place + 1 == static_cast<std::size_t>(axis) ? i - place * stride : i + stride;
      if (ahead != i) {
        ways.emplace_back(node(i), node(ahead));
        ways.emplace_back(node(ahead), node(i));
      }
      stride *= static_cast<std::size_t>(axis);
    }
  }
  if (network_.topology == Shape::FatTree) add_fat_tree_ways(network_, nodes, ways);
  if (has_storage()) {
    ways.emplace_back(node(0), NodeId::none());
    ways.emplace_back(NodeId::none(), node(0));
  }

  const Topology topology(network_, static_cast<std::int32_t>(nodes));
  Route route;
  std::vector<std::uint32_t> other;
  for (const Ends& ends : ways) {
    find_route(ends.first, ends.second, route);
    other.clear();
    topology.route(ends.first, ends.second, other);
    // Links with no name of their own there, such as those of the storage's leaf, keep SimGrid's.
    for (std::size_t i = 0; i < std::min(other.size(), route.links.size()); ++i)
      names[route.links[i]] = topology.link_name(other[i]);
  }
  return names;
}

}  // namespace orrery::sim
