// Regular clusters: every pair has a way, ways are as long as the shape says, links as fast.
#include "sim/simgrid/platform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/fabric/topology.hpp"

namespace orrery::sim {
namespace platform_tests {

using scenarios::NetworkSpec;
using Topology = scenarios::NetworkTopology;
using testing::ElementsAre;
using testing::HasSubstr;

NetworkSpec spec(Topology topology) {
  NetworkSpec network;
  network.topology = topology;
  network.nic_bandwidth = 50e9;
  network.link_bandwidth = 40e9;
  network.storage_bandwidth = 20e9;
  return network;
}

NodeId node(std::uint32_t n) { return NodeId(n); }

class PlatformTest : public testing::Test {
 protected:
  Platform make(const NetworkSpec& network, std::int64_t nodes) {
    Result<Platform> made = Platform::make(engine_, network, nodes);
    if (!made) ADD_FAILURE() << made.errors()[0].text();
    return std::move(made).value();
  }

  Platform::Route route(const Platform& platform, NodeId from, NodeId to) {
    Platform::Route out;
    platform.find_route(from, to, out);
    return out;
  }

  std::vector<double> bandwidths(const Platform& platform, NodeId from, NodeId to) {
    std::vector<double> out;
    for (const std::uint32_t link : route(platform, from, to).links)
      out.push_back(platform.links()[link]->get_bandwidth() / 1e9);
    return out;
  }

  // Every ordered pair, and the storage, has a way of `least` to `most` links.
  void expect_all_pairs(const Platform& platform, std::size_t least, std::size_t most) {
    const auto nodes = static_cast<std::uint32_t>(platform.node_count());
    for (std::uint32_t a = 0; a < nodes; ++a)
      for (std::uint32_t b = 0; b < nodes; ++b) {
        if (a == b) continue;
        const std::size_t links = route(platform, node(a), node(b)).links.size();
        EXPECT_TRUE(least <= links && links <= most) << a << " to " << b << ": " << links;
      }
  }

  SimGridEngine engine_;
};

TEST_F(PlatformTest, Star) {
  const Platform platform = make(spec(Topology::Star), 5);
  EXPECT_EQ(platform.node_count(), 5u);
  expect_all_pairs(platform, 2, 2);
  EXPECT_THAT(bandwidths(platform, node(0), node(4)), ElementsAre(50, 50));
  EXPECT_THAT(bandwidths(platform, node(3), NodeId::none()), ElementsAre(50, 20));
  EXPECT_NEAR(route(platform, node(0), node(1)).latency, 2e-6, 1e-15);
  EXPECT_EQ(platform.links_at(node(2)).size(), 2u);
  EXPECT_EQ(platform.node_flops(node(0)), 0) << "only platform files tell";
}

TEST_F(PlatformTest, BothWaysOfALinkAreApart) {
  const Platform platform = make(spec(Topology::Star), 2);
  const auto there = route(platform, node(0), node(1)).links;
  const auto back = route(platform, node(1), node(0)).links;
  for (const std::uint32_t link : there) EXPECT_THAT(back, testing::Not(testing::Contains(link)));
}

TEST_F(PlatformTest, FatTreeTwoToOne) {
  NetworkSpec network = spec(Topology::FatTree);
  network.nodes_per_leaf = 4;
  network.oversubscription = 2;
  const Platform platform = make(network, 16);
  expect_all_pairs(platform, 2, 4);
  EXPECT_THAT(bandwidths(platform, node(0), node(3)), ElementsAre(50, 50));
  EXPECT_THAT(bandwidths(platform, node(0), node(4)), ElementsAre(50, 40, 40, 50));
  EXPECT_THAT(bandwidths(platform, node(0), NodeId::none()), ElementsAre(50, 40, 20, 20));
  EXPECT_THAT(bandwidths(platform, NodeId::none(), node(0)), ElementsAre(20, 20, 40, 50));
  // Two spines: the four nodes of a leaf leave by two links, whatever their destination.
  std::vector<std::uint32_t> ways_up;
  for (std::uint32_t a = 0; a < 4; ++a)
    for (std::uint32_t b = 4; b < 16; ++b)
      ways_up.push_back(route(platform, node(a), node(b)).links[1]);
  std::sort(ways_up.begin(), ways_up.end());
  ways_up.erase(std::unique(ways_up.begin(), ways_up.end()), ways_up.end());
  EXPECT_EQ(ways_up.size(), 2u);
}

TEST_F(PlatformTest, FatTreeWithALeafThatIsNotFull) {
  NetworkSpec network = spec(Topology::FatTree);
  network.nodes_per_leaf = 4;
  network.storage_bandwidth = 0;
  const Platform platform = make(network, 6);
  EXPECT_EQ(platform.node_count(), 6u);
  EXPECT_TRUE(platform.has_storage()) << "which nothing makes a bottleneck";
  expect_all_pairs(platform, 2, 4);
}

TEST_F(PlatformTest, Torus) {
  NetworkSpec network = spec(Topology::Torus);
  network.torus = {3, 4};
  const Platform platform = make(network, 12);
  expect_all_pairs(platform, 1, 3);
  EXPECT_EQ(route(platform, node(0), node(1)).links.size(), 1u);
  EXPECT_EQ(route(platform, node(0), node(2)).links.size(), 1u) << "the axis closes on itself";
  EXPECT_EQ(route(platform, node(0), node(6)).links.size(), 2u) << "two steps along the second";
  EXPECT_EQ(platform.links_at(node(5)).size(), 8u) << "four neighbours, both ways";
  EXPECT_THAT(bandwidths(platform, node(0), NodeId::none()), ElementsAre(20));
  EXPECT_EQ(platform.storage_rate_max(), 40e9);
}

TEST_F(PlatformTest, TorusWithAxesOfOneNode) {
  NetworkSpec network = spec(Topology::Torus);
  network.torus = {1, 8, 1, 1};
  const Platform platform = make(network, 8);
  EXPECT_EQ(route(platform, node(0), node(4)).links.size(), 4u);
  EXPECT_EQ(route(platform, node(0), node(7)).links.size(), 1u) << "the axis closes on itself";
}

TEST_F(PlatformTest, TorusOfOneNode) {
  NetworkSpec network = spec(Topology::Torus);
  network.torus = {1, 1};
  EXPECT_EQ(make(network, 1).node_count(), 1u);
}

TEST_F(PlatformTest, DragonflyWithAsManyGroupsAsRouters) {
  NetworkSpec network = spec(Topology::Dragonfly);
  network.dragonfly = {3, 2, 3, 2};
  const Platform platform = make(network, 36);
  expect_all_pairs(platform, 2, 7);
  EXPECT_THAT(bandwidths(platform, node(0), node(1)), ElementsAre(50, 50));
  EXPECT_THAT(bandwidths(platform, node(0), NodeId::none()), ElementsAre(20));
  EXPECT_EQ(platform.storage_rate_max(), 50e9);
}

// SimGrid builds such a shape and then reads beyond its arrays while routing.
TEST_F(PlatformTest, DragonflyWithMoreGroupsThanRoutersIsRefused) {
  NetworkSpec network = spec(Topology::Dragonfly);
  network.dragonfly = {4, 2, 3, 2};
  const Result<Platform> made = Platform::make(engine_, network, 48);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.errors()[0].text(), HasSubstr("at most as many groups as routers"));
}

TEST_F(PlatformTest, EverythingWrongIsToldAtOnce) {
  NetworkSpec network = spec(Topology::Torus);
  network.torus = {3, 4};
  network.nic_bandwidth = 0;
  network.latency = Duration{-1};
  const Errors errors = check_network(network, 13);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_THAT(errors[2].text(), HasSubstr("holds 12 nodes, the cluster has 13"));
}

// L1 works links and routes out by itself; it must be the same network.
TEST_F(PlatformTest, RoutesAreThoseOfTheOtherLevels) {
  NetworkSpec network = spec(Topology::FatTree);
  network.nodes_per_leaf = 4;
  network.oversubscription = 2;
  const Platform platform = make(network, 22);
  const sim::Topology other(network, 22);
  const std::vector<std::string> names = platform.link_names();
  for (std::uint32_t a = 0; a < 22; ++a)
    for (std::uint32_t b = 0; b < 22; ++b) {
      if (a == b) continue;
      std::vector<std::uint32_t> links;
      other.route(node(a), node(b), links);
      std::vector<std::string> expected;
      for (const std::uint32_t link : links) expected.push_back(other.link_name(link));
      std::vector<std::string> found;
      for (const std::uint32_t link : route(platform, node(a), node(b)).links)
        found.push_back(names[link]);
      ASSERT_EQ(found, expected) << a << " to " << b;
    }
}

TEST_F(PlatformTest, OneNodeIsACluster) {
  const Platform platform = make(spec(Topology::Star), 1);
  EXPECT_EQ(platform.links_at(node(0)).size(), 2u);
}

}  // namespace platform_tests
}  // namespace orrery::sim
