// Links and routes of a described network against closed forms.
#include "sim/fabric/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tests/sim/fabric/networks.hpp"

namespace orrery::sim {
namespace {

using test::fat_tree_of;
using test::star_of;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> route_names(const Topology& topology, NodeId from, NodeId to) {
  std::vector<std::uint32_t> links;
  topology.route(from, to, links);
  std::vector<std::string> names;
  for (const std::uint32_t link : links) names.push_back(topology.link_name(link));
  return names;
}

std::vector<std::string> route_names(const Topology& topology,
                                     std::uint32_t from,
                                     std::uint32_t to) {
  return route_names(topology, NodeId(from), NodeId(to));
}

scenarios::NetworkSpec torus_of(std::vector<std::int32_t> axes) {
  scenarios::NetworkSpec spec = star_of(100);
  spec.topology = scenarios::NetworkTopology::Torus;
  spec.torus = std::move(axes);
  spec.link_bandwidth = 300;
  return spec;
}

scenarios::NetworkSpec dragonfly_of(scenarios::DragonflyShape shape) {
  scenarios::NetworkSpec spec = star_of(100);
  spec.topology = scenarios::NetworkTopology::Dragonfly;
  spec.dragonfly = shape;
  spec.link_bandwidth = 300;
  return spec;
}

// Links of the storage, in and out.
constexpr std::size_t kOfStorage = 2;

TEST(Star, GoesUpAndDown) {
  const Topology topology(star_of(100), 4);
  EXPECT_EQ(topology.link_count(), 8U + kOfStorage);
  EXPECT_THAT(route_names(topology, 1, 3), ElementsAre("node 1 up", "node 3 down"));
  EXPECT_THAT(route_names(topology, 3, 1), ElementsAre("node 3 up", "node 1 down"));
  EXPECT_THAT(route_names(topology, 2, 2), IsEmpty());
}

TEST(Star, StorageIsBehindTheNodesLink) {
  scenarios::NetworkSpec spec = star_of(100);
  spec.storage_bandwidth = 70;
  const Topology topology(spec, 2);
  EXPECT_EQ(topology.link_count(), 6U);
  EXPECT_THAT(route_names(topology, NodeId(1), NodeId::none()),
              ElementsAre("node 1 up", "storage in"));
  EXPECT_THAT(route_names(topology, NodeId::none(), NodeId(0)),
              ElementsAre("storage out", "node 0 down"));
  EXPECT_EQ(topology.bandwidth(4), 70);
}

TEST(Star, StorageWithoutBandwidthIsNeverTheBottleneck) {
  const Topology topology(star_of(1e12), 16'384);
  EXPECT_THAT(route_names(topology, NodeId(1), NodeId::none()),
              ElementsAre("node 1 up", "storage in"));
  EXPECT_GT(topology.bandwidth(2 * 16'384), 16'384 * 1e12);
}

TEST(FatTree, SpineIsTheDestinationModuloSpines) {
  // 4 nodes a leaf at 2:1 give 2 spines; the fourth leaf is the storage's.
  const Topology topology(fat_tree_of(4, 2), 12);
  EXPECT_EQ(topology.link_count(), 2U * 12 + 2U * 4 * 2 + kOfStorage);
  EXPECT_THAT(route_names(topology, 0, 3), ElementsAre("node 0 up", "node 3 down"));
  EXPECT_THAT(route_names(topology, 0, 5),
              ElementsAre("node 0 up", "leaf 0 to spine 1", "spine 1 to leaf 1", "node 5 down"));
  EXPECT_THAT(route_names(topology, 5, 0),
              ElementsAre("node 5 up", "leaf 1 to spine 0", "spine 0 to leaf 0", "node 0 down"));
}

TEST(FatTree, SpinesAreAtLeastOneAndRoundedDown) {
  const auto links_between_switches = [](std::int32_t per_leaf, double oversubscription) {
    return Topology(fat_tree_of(per_leaf, oversubscription), 2 * per_leaf).link_count() -
           static_cast<std::size_t>(4 * per_leaf) - kOfStorage;
  };
  // Two leaves of nodes, and the storage's.
  EXPECT_EQ(links_between_switches(8, 1), 2U * 3 * 8);
  EXPECT_EQ(links_between_switches(8, 3), 2U * 3 * 2);
  EXPECT_EQ(links_between_switches(8, 100), 2U * 3 * 1);
}

TEST(FatTree, LastLeafMayBeShort) {
  const Topology topology(fat_tree_of(4, 4), 6);
  EXPECT_EQ(topology.link_count(), 2U * 6 + 2U * 3 * 1 + kOfStorage);
  EXPECT_THAT(route_names(topology, 5, 1),
              ElementsAre("node 5 up", "leaf 1 to spine 0", "spine 0 to leaf 0", "node 1 down"));
}

TEST(FatTree, StorageHasALeafOfItsOwn) {
  scenarios::NetworkSpec spec = fat_tree_of(4, 2);
  spec.storage_bandwidth = 700;
  const Topology topology(spec, 6);
  // Place 8 of the two leaves' is the storage's: spine 0.
  EXPECT_THAT(route_names(topology, NodeId(5), NodeId::none()),
              ElementsAre("node 5 up", "leaf 1 to spine 0", "spine 0 to leaf 2", "storage in"));
  EXPECT_THAT(route_names(topology, NodeId::none(), NodeId(5)),
              ElementsAre("storage out", "leaf 2 to spine 1", "spine 1 to leaf 1", "node 5 down"));
  std::vector<std::uint32_t> links;
  topology.route(NodeId(5), NodeId::none(), links);
  EXPECT_EQ(topology.bandwidth(links[1]), 100);
  EXPECT_EQ(topology.bandwidth(links[2]), 700);
}

TEST(Torus, StorageStandsBeside) {
  scenarios::NetworkSpec spec = torus_of({4, 3});
  spec.storage_bandwidth = 700;
  const Topology topology(spec, 12);
  EXPECT_THAT(route_names(topology, NodeId(5), NodeId::none()), ElementsAre("storage in"));
  EXPECT_EQ(topology.storage_rate_max(), spec.link_bandwidth);
}

TEST(Torus, GoesOneAxisAfterTheOtherTheShorterWayRound) {
  const Topology topology(torus_of({4, 3}), 12);
  EXPECT_EQ(topology.link_count(), 12U * 2 * 2 + kOfStorage);
  // From (0, 0) to (3, 1): one back round the first axis, one ahead along the second.
  EXPECT_THAT(route_names(topology, 0, 7),
              ElementsAre("node 3 axis 0 back", "node 3 axis 1 ahead"));
  // From (3, 2) to (0, 0): ahead round both.
  EXPECT_THAT(route_names(topology, 11, 0),
              ElementsAre("node 11 axis 0 ahead", "node 8 axis 1 ahead"));
}

TEST(Torus, RoutesAreAtMostHalfRoundEachAxisAndArrive) {
  const std::vector<std::int32_t> axes{5, 4, 3};
  const Topology topology(torus_of(axes), 60);
  for (std::uint32_t from = 0; from < 60; ++from) {
    for (std::uint32_t to = 0; to < 60; ++to) {
      std::vector<std::uint32_t> links;
      topology.route(NodeId(from), NodeId(to), links);
      std::size_t least = 0;
      std::size_t stride = 1;
      for (const std::int32_t length : axes) {
        const int apart = std::abs(static_cast<int>(from / stride) % length -
                                   static_cast<int>(to / stride) % length);
        least += static_cast<std::size_t>(std::min(apart, length - apart));
        stride *= static_cast<std::size_t>(length);
      }
      // SimGrid's rule is one longer than it need be on some pairs of an odd axis.
      EXPECT_GE(links.size(), least) << from << " to " << to;
      EXPECT_LE(links.size(), least + 2) << from << " to " << to;
      EXPECT_EQ(std::set<std::uint32_t>(links.begin(), links.end()).size(), links.size());
    }
  }
}

TEST(Torus, LinksOfANodeAreThoseToItsNeighbours) {
  const Topology topology(torus_of({4, 3}), 12);
  const auto links = topology.links_of(NodeId(0));
  EXPECT_EQ(std::set<std::uint32_t>(links.begin(), links.end()).size(), 8U);
}

TEST(Dragonfly, HasAllItsLinks) {
  // 3 groups of 2 chassis of 4 routers of 2 nodes.
  const Topology topology(dragonfly_of({3, 2, 4, 2}), 48);
  const std::size_t locals = 2 * 48;
  const std::size_t chassis = 2 * 3 * 2 * (4 * 3 / 2);
  const std::size_t groups = 2 * 3 * 4 * (2 * 1 / 2);
  const std::size_t globals = 2 * (3 * 2 / 2);
  EXPECT_EQ(topology.link_count(), locals + chassis + groups + globals + kOfStorage);
  EXPECT_EQ(topology.bandwidth(0), 100);
  EXPECT_EQ(topology.bandwidth(static_cast<std::uint32_t>(locals)), 300);
}

TEST(Dragonfly, GoesByTheRouterThatIsJoinedToTheOtherGroup) {
  const Topology topology(dragonfly_of({3, 2, 4, 2}), 48);
  EXPECT_THAT(route_names(topology, 0, 1), ElementsAre("node 0 up", "node 1 down"));
  EXPECT_THAT(route_names(topology, 0, 3),
              ElementsAre("node 0 up", "group 0 chassis 0 router 0 to 1", "node 3 down"));
  // From group 0, chassis 1, router 0 to group 2, chassis 1, router 3.
  EXPECT_THAT(route_names(topology, 8, 47),
              ElementsAre("node 8 up",
                          "group 0 chassis 1 router 0 to 2",
                          "group 0 router 2 chassis 1 to 0",
                          "group 0 to 2",
                          "group 2 chassis 0 router 0 to 3",
                          "group 2 router 3 chassis 0 to 1",
                          "node 47 down"));
}

TEST(Dragonfly, EachLinkHasANameOfItsOwn) {
  const Topology topology(dragonfly_of({3, 2, 4, 2}), 48);
  std::set<std::string> names;
  for (std::uint32_t link = 0; link < topology.link_count(); ++link)
    names.insert(topology.link_name(link));
  EXPECT_EQ(names.size(), topology.link_count());
}

}  // namespace
}  // namespace orrery::sim
