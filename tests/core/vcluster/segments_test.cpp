#include <gtest/gtest.h>

#include "tests/core/vcluster/builders.hpp"

namespace orrery::vcluster {
namespace {

using Nodes = std::vector<std::uint32_t>;

VirtualClusterSpec segmented(std::int32_t logical_nodes,
                             std::int32_t size,
                             BundleStrategy strategy = BundleStrategy::StrictSpread) {
  VirtualClusterSpec spec =
      cluster(std::vector<std::int32_t>(static_cast<std::size_t>(logical_nodes), 1), strategy);
  spec.devices_per_bundle = 8;
  spec.segment_by = SegmentBy::NvlinkDomain;
  spec.segment_size = size;
  return spec;
}

Nodes formed(const std::vector<NodeOffer>& offers, const VirtualClusterSpec& spec) {
  const Forming got = form_one(offers, spec);
  EXPECT_EQ(got.outcome, Outcome::Formed) << got.reason;
  return got.outcome == Outcome::Formed ? nodes_of(got.clusters.front()) : Nodes{};
}

TEST(Segments, StayInOneDomain) {
  std::vector<NodeOffer> offers = nodes(8, 8, 4);
  offers[1].usable = false;
  EXPECT_EQ(formed(offers, segmented(4, 0)), (Nodes{4, 5, 6, 7}));
}

TEST(Segments, TakeTheDomainThatLeavesLeast) {
  std::vector<NodeOffer> offers = nodes(12, 8, 4);
  offers[5].usable = false;
  offers[8].usable = offers[9].usable = false;
  EXPECT_EQ(formed(offers, segmented(2, 0)), (Nodes{10, 11})) << "domain 2 has just two left";
  EXPECT_EQ(formed(offers, segmented(3, 0)), (Nodes{4, 6, 7})) << "domain 1 has just three left";
}

TEST(Segments, SeveralMayShareADomain) {
  EXPECT_EQ(formed(nodes(8, 8, 4), segmented(4, 2)), (Nodes{0, 1, 2, 3}));
}

TEST(Segments, RunThroughDomainsInOrder) {
  // Domains have 3, 2 and 3 nodes left: one segment of two in each.
  std::vector<NodeOffer> offers = nodes(12, 8, 4);
  for (const std::size_t gone : {0, 4, 5, 11}) offers[gone].usable = false;
  EXPECT_EQ(formed(offers, segmented(6, 2)), (Nodes{1, 2, 6, 7, 8, 9}));
  EXPECT_EQ(form_one(offers, segmented(8, 2)).outcome, Outcome::Waiting)
      << "eight nodes are free, but no fourth pair in one domain";
}

TEST(Segments, NodesWithoutADomainAreNeverChosen) {
  std::vector<NodeOffer> offers = nodes(2, 8);
  add_nodes(offers, 2, 8, 2);
  EXPECT_EQ(formed(offers, segmented(2, 0)), (Nodes{2, 3}));
  EXPECT_EQ(form_one(offers, segmented(3, 1)).outcome, Outcome::Infeasible);
}

TEST(Segments, ANodeCanBeADomainOfItsOwn) {
  EXPECT_EQ(formed(nodes(3, 8, 1), segmented(3, 1)), (Nodes{0, 1, 2}));
  EXPECT_EQ(form_one(nodes(3, 8, 1), segmented(2, 2)).outcome, Outcome::Infeasible);
}

TEST(Segments, ByRack) {
  std::vector<NodeOffer> offers = nodes(8, 8, 2);
  for (NodeOffer& offer : offers) offer.rack = static_cast<std::int32_t>(offer.node.value % 2);
  VirtualClusterSpec spec = segmented(4, 0);
  spec.segment_by = SegmentBy::Rack;
  EXPECT_EQ(formed(offers, spec), (Nodes{0, 2, 4, 6}));
  spec = segmented(8, 4);
  spec.segment_by = SegmentBy::Rack;
  EXPECT_EQ(formed(offers, spec), (Nodes{0, 2, 4, 6, 1, 3, 5, 7}))
      << "ranks stand by segment, though racks lie across domains";
}

TEST(Segments, PackSharesNodesInsideADomain) {
  VirtualClusterSpec spec = segmented(4, 0, BundleStrategy::Pack);
  spec.devices_per_bundle = 4;
  std::vector<NodeOffer> offers = nodes(8, 8, 4);
  for (std::size_t i = 0; i < 4; ++i) leave_free(offers[i], 4);
  EXPECT_EQ(formed(offers, spec), (Nodes{4, 4, 5, 5})) << "two nodes are fewer than four";
}

TEST(Segments, SpreadLooksForTheDomainWithMostNodes) {
  VirtualClusterSpec spec = segmented(4, 0, BundleStrategy::Spread);
  spec.devices_per_bundle = 2;
  std::vector<NodeOffer> offers = nodes(8, 8, 4);
  for (const std::size_t gone : {0, 1, 2, 7}) offers[gone].usable = false;
  EXPECT_EQ(formed(offers, spec), (Nodes{4, 4, 5, 6})) << "domain 1 has three nodes";
}

TEST(Segments, OfAUnifiedVirtualCluster) {
  VirtualClusterSpec spec = cluster({12, 12});
  spec.unified = true;
  spec.segment_by = SegmentBy::NvlinkDomain;
  spec.segment_size = 1;
  const Forming got = form_one(nodes(8, 8, 2), spec);
  ASSERT_EQ(got.outcome, Outcome::Formed) << got.reason;
  const std::vector<std::pair<std::uint32_t, int>> wanted{{0, 8}, {1, 4}, {2, 8}, {3, 4}};
  EXPECT_EQ(counts_of(got.clusters[0]), wanted);
}

TEST(Segments, OfTwoVirtualClustersTakeDomainsThatSuitBoth) {
  // train takes the larger domain although gen alone would fit there as well.
  std::vector<NodeOffer> offers = nodes(7, 8, 4);
  const VirtualClusterSpec gen = segmented(3, 0);
  const VirtualClusterSpec train = segmented(4, 0);
  const std::vector<BundleRequest> requests{{&gen, {}}, {&train, {}}};
  const Forming got = form(offers, requests);
  ASSERT_EQ(got.outcome, Outcome::Formed) << got.reason;
  EXPECT_EQ(nodes_of(got.clusters[0]), (Nodes{4, 5, 6}));
  EXPECT_EQ(nodes_of(got.clusters[1]), (Nodes{0, 1, 2, 3}));
}

TEST(Segments, OfSizesThatDiffer) {
  // Segments {8, 4} and {4, 4}: the first fits only into domain 1.
  std::vector<NodeOffer> offers = nodes(4, 8, 2);
  leave_free(offers[0], 4);
  leave_free(offers[1], 4);
  VirtualClusterSpec spec = cluster({8, 4, 4, 4});
  spec.segment_by = SegmentBy::NvlinkDomain;
  spec.segment_size = 2;
  const Forming got = form_one(offers, spec);
  ASSERT_EQ(got.outcome, Outcome::Formed) << got.reason;
  const std::vector<std::pair<std::uint32_t, int>> wanted{{2, 8}, {3, 4}, {0, 4}, {1, 4}};
  EXPECT_EQ(counts_of(got.clusters[0]), wanted);
}

}  // namespace
}  // namespace orrery::vcluster
