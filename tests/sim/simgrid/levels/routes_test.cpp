// A described network has the same routes in SimGrid and by our own reckoning: as long, over links
// of the same bandwidth, and two routes share a link in one where they share it in the other.
#include <gtest/gtest.h>

#include <map>

#include "sim/fabric/topology.hpp"
#include "sim/simgrid/platform.hpp"

namespace orrery::sim {
namespace {

using scenarios::NetworkSpec;
using scenarios::NetworkTopology;

// Links are numbered differently; the same pairs must always meet.
class LinkPairs {
 public:
  bool meet(std::uint32_t ours, std::uint32_t theirs) {
    return ours_.emplace(ours, theirs).first->second == theirs &&
           theirs_.emplace(theirs, ours).first->second == ours;
  }

 private:
  std::map<std::uint32_t, std::uint32_t> ours_;
  std::map<std::uint32_t, std::uint32_t> theirs_;
};

void compare(const NetworkSpec& spec, std::int32_t nodes) {
  SimGridEngine engine;
  Result<Platform> platform = Platform::make(engine, spec, nodes);
  ASSERT_TRUE(platform.has_value());
  const Topology topology(spec, nodes);
  LinkPairs pairs;
  std::vector<NodeId> ends;
  for (std::int32_t node = 0; node < nodes; ++node)
    ends.emplace_back(static_cast<std::uint32_t>(node));
  ends.push_back(NodeId::none());
  for (const NodeId from : ends) {
    for (const NodeId to : ends) {
      if (from == to) continue;
      const std::string where = std::to_string(from.value) + " to " + std::to_string(to.value);
      Platform::Route theirs;
      platform->find_route(from, to, theirs);
      std::vector<std::uint32_t> ours;
      topology.route(from, to, ours);
      ASSERT_EQ(ours.size(), theirs.links.size()) << where;
      for (std::size_t hop = 0; hop < ours.size(); ++hop) {
        EXPECT_TRUE(pairs.meet(ours[hop], theirs.links[hop])) << where << " hop " << hop;
        EXPECT_EQ(topology.bandwidth(ours[hop]),
                  platform->links()[theirs.links[hop]]->get_bandwidth())
            << where << " at " << topology.link_name(ours[hop]);
      }
    }
  }
}

NetworkSpec network(NetworkTopology topology) {
  NetworkSpec spec;
  spec.topology = topology;
  spec.nic_bandwidth = 10e9;
  spec.link_bandwidth = 30e9;
  spec.storage_bandwidth = 70e9;
  return spec;
}

TEST(RoutesOfSimGrid, Star) { compare(network(NetworkTopology::Star), 9); }

TEST(RoutesOfSimGrid, FatTree) {
  NetworkSpec spec = network(NetworkTopology::FatTree);
  spec.nodes_per_leaf = 8;
  spec.oversubscription = 3;
  compare(spec, 32);
}

TEST(RoutesOfSimGrid, FatTreeWithAShortLeaf) {
  NetworkSpec spec = network(NetworkTopology::FatTree);
  spec.nodes_per_leaf = 6;
  compare(spec, 15);
}

TEST(RoutesOfSimGrid, FatTreeWithAStorageThatIsNoBottleneck) {
  NetworkSpec spec = network(NetworkTopology::FatTree);
  spec.nodes_per_leaf = 4;
  spec.storage_bandwidth = 0;
  compare(spec, 12);
}

TEST(RoutesOfSimGrid, DragonflyWithAStorageThatIsNoBottleneck) {
  NetworkSpec spec = network(NetworkTopology::Dragonfly);
  spec.dragonfly = {2, 2, 3, 2};
  spec.storage_bandwidth = 0;
  compare(spec, 24);
}

TEST(RoutesOfSimGrid, Torus) {
  NetworkSpec spec = network(NetworkTopology::Torus);
  spec.torus = {4, 3, 5};
  compare(spec, 60);
}

TEST(RoutesOfSimGrid, TorusWithShortAxes) {
  NetworkSpec spec = network(NetworkTopology::Torus);
  spec.torus = {2, 1, 6};
  compare(spec, 12);
}

TEST(RoutesOfSimGrid, Dragonfly) {
  NetworkSpec spec = network(NetworkTopology::Dragonfly);
  spec.dragonfly = {3, 3, 4, 2};
  compare(spec, 72);
}

}  // namespace
}  // namespace orrery::sim
