#include <gtest/gtest.h>

#include "tests/core/vcluster/builders.hpp"

namespace orrery::vcluster {
namespace strategies_tests {

using Counts = std::vector<std::pair<std::uint32_t, int>>;

Counts formed(const std::vector<NodeOffer>& offers, const VirtualClusterSpec& spec) {
  const Forming got = form_one(offers, spec);
  EXPECT_EQ(got.outcome, Outcome::Formed) << got.reason;
  return got.outcome == Outcome::Formed ? counts_of(got.clusters.front()) : Counts{};
}

TEST(PerNode, PackSharesNodes) {
  EXPECT_EQ(formed(nodes(4, 8), cluster({4, 4, 4, 4})), (Counts{{0, 8}, {1, 8}}));
}

TEST(PerNode, PackEndsOnTheTightestNode) {
  std::vector<NodeOffer> offers = nodes(4, 8);
  leave_free(offers[2], 5);
  leave_free(offers[3], 4);
  EXPECT_EQ(formed(offers, cluster({4})), (Counts{{3, 4}})) << "node 3 has nothing to spare";
  EXPECT_EQ(formed(offers, cluster({4, 4, 4})), (Counts{{0, 8}, {3, 4}}));
}

TEST(PerNode, ALogicalNodeNeverStraddles) {
  std::vector<NodeOffer> offers = nodes(3, 8);
  for (NodeOffer& offer : offers) leave_free(offer, 6);
  const Forming got = form_one(offers, cluster({8, 8}));
  EXPECT_EQ(got.outcome, Outcome::Waiting) << "18 devices are free, 8 nowhere together";
}

TEST(PerNode, StrictPackTakesOneNode) {
  std::vector<NodeOffer> offers = nodes(3, 8);
  leave_free(offers[0], 6);
  EXPECT_EQ(formed(offers, cluster({4, 3}, BundleStrategy::StrictPack)), (Counts{{1, 7}}));
  EXPECT_EQ(form_one(nodes(9, 4), cluster({4, 3}, BundleStrategy::StrictPack)).outcome,
            Outcome::Infeasible);
}

TEST(PerNode, SpreadTakesANodeEach) {
  EXPECT_EQ(formed(nodes(4, 8), cluster({2, 2, 2}, BundleStrategy::Spread)),
            (Counts{{0, 2}, {1, 2}, {2, 2}}));
}

TEST(PerNode, SpreadSharesWhereNodesAreShort) {
  EXPECT_EQ(formed(nodes(2, 8), cluster({2, 2, 2}, BundleStrategy::Spread)),
            (Counts{{0, 4}, {1, 2}}));
}

TEST(PerNode, StrictSpreadNeverShares) {
  EXPECT_EQ(formed(nodes(3, 8), cluster({2, 2, 2}, BundleStrategy::StrictSpread)),
            (Counts{{0, 2}, {1, 2}, {2, 2}}));
  EXPECT_EQ(form_one(nodes(2, 8), cluster({2, 2, 2}, BundleStrategy::StrictSpread)).outcome,
            Outcome::Infeasible);
}

TEST(PerNode, SizesThatDifferKeepTheirLogicalNode) {
  std::vector<NodeOffer> offers = nodes(3, 8);
  leave_free(offers[0], 2);
  const Forming got = form_one(offers, cluster({8, 2, 8}, BundleStrategy::StrictSpread));
  ASSERT_EQ(got.outcome, Outcome::Formed) << got.reason;
  EXPECT_EQ(counts_of(got.clusters[0]), (Counts{{1, 8}, {0, 2}, {2, 8}}))
      << "ranks follow logical nodes, whatever nodes they are on";
}

TEST(PerNode, SizesThatDifferFindTheOnlyLayout) {
  // The largest first into the tightest would block: 5 + 3, 4 + 4 is the only way for 3, 4, 5, 4.
  EXPECT_EQ(formed(nodes(2, 8), cluster({3, 4, 5, 4})), (Counts{{0, 8}, {1, 8}}));
}

TEST(PerNode, ASharedNodeKeepsItsRanksTogether) {
  const Forming got = form_one(nodes(2, 8), cluster({5, 4, 3, 4}));
  ASSERT_EQ(got.outcome, Outcome::Formed);
  std::vector<std::int32_t> logical;
  for (const BundlePlace& place : got.clusters[0]) {
    if (logical.empty() || logical.back() != place.logical_node)
      logical.push_back(place.logical_node);
  }
  EXPECT_EQ(logical, (std::vector<std::int32_t>{0, 2, 1, 3}));
  EXPECT_EQ(counts_of(got.clusters[0]).size(), 2U);
}

TEST(PerNode, EntriesOfZeroAreNoLogicalNodes) {
  const Forming got = form_one(nodes(2, 8), cluster({0, 8, 0, 8}));
  ASSERT_EQ(got.outcome, Outcome::Formed);
  EXPECT_EQ(got.clusters[0].front().logical_node, 0);
  EXPECT_EQ(got.clusters[0].back().logical_node, 1);
}

TEST(Unified, PackFillsNodes) {
  std::vector<NodeOffer> offers = nodes(4, 8);
  leave_free(offers[0], 3);
  EXPECT_EQ(formed(offers, unified(18)), (Counts{{0, 2}, {1, 8}, {2, 8}}))
      << "three nodes are the fewest, and the rest goes where least is left over";
}

TEST(Unified, StrictPackTakesOneNode) {
  EXPECT_EQ(formed(nodes(2, 8), unified(7, BundleStrategy::StrictPack)), (Counts{{0, 7}}));
}

TEST(Unified, SpreadIsEven) {
  EXPECT_EQ(formed(nodes(3, 8), unified(8, BundleStrategy::Spread)),
            (Counts{{0, 3}, {1, 3}, {2, 2}}));
  std::vector<NodeOffer> offers = nodes(3, 8);
  leave_free(offers[1], 1);
  EXPECT_EQ(formed(offers, unified(8, BundleStrategy::Spread)), (Counts{{0, 4}, {1, 1}, {2, 3}}));
}

TEST(Unified, StrictSpreadPutsEachBundleOnANodeOfItsOwn) {
  EXPECT_EQ(formed(nodes(3, 8), unified(3, BundleStrategy::StrictSpread)),
            (Counts{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(form_one(nodes(3, 8), unified(4, BundleStrategy::StrictSpread)).outcome,
            Outcome::Infeasible);
}

TEST(Unified, NumbersNodesAndTheirBundles) {
  const Forming got = form_one(nodes(2, 2), unified(4));
  ASSERT_EQ(got.outcome, Outcome::Formed);
  const std::vector<BundlePlace> wanted{{NodeId{0}, 0b01, 0, 0},
                                        {NodeId{0}, 0b10, 0, 1},
                                        {NodeId{1}, 0b01, 1, 0},
                                        {NodeId{1}, 0b10, 1, 1}};
  EXPECT_EQ(got.clusters[0], wanted);
}

TEST(Unified, TheListTellsOnlyTheSum) {
  VirtualClusterSpec one = unified(6);
  VirtualClusterSpec several = unified(0);
  several.bundles_per_node = {1, 0, 2, 3};
  EXPECT_EQ(form_one(nodes(2, 4), one).clusters, form_one(nodes(2, 4), several).clusters);
}

TEST(Devices, AreTheLowestInOneRun) {
  std::vector<NodeOffer> offers = nodes(1, 8);
  offers[0].free_devices = 0b11110101;
  VirtualClusterSpec spec = cluster({2});
  spec.devices_per_bundle = 2;
  const Forming got = form_one(offers, spec);
  ASSERT_EQ(got.outcome, Outcome::Formed);
  EXPECT_EQ(got.clusters[0][0].devices, 0b00110000U);
  EXPECT_EQ(got.clusters[0][1].devices, 0b11000000U);
}

TEST(Devices, AreTheLowestWhereThereIsNoRun) {
  std::vector<NodeOffer> offers = nodes(1, 8);
  offers[0].free_devices = 0b10010101;
  VirtualClusterSpec spec = cluster({2});
  spec.devices_per_bundle = 2;
  const Forming got = form_one(offers, spec);
  ASSERT_EQ(got.outcome, Outcome::Formed);
  EXPECT_EQ(got.clusters[0][0].devices, 0b00000101U);
  EXPECT_EQ(got.clusters[0][1].devices, 0b10010000U);
}

TEST(Devices, AllSixtyFourOfANode) {
  VirtualClusterSpec spec = cluster({1});
  spec.devices_per_bundle = 64;
  const Forming got = form_one(nodes(1, 64), spec);
  ASSERT_EQ(got.outcome, Outcome::Formed);
  EXPECT_EQ(got.clusters[0][0].devices, ~std::uint64_t{0});
}

TEST(Devices, NoneForCpuBundles) {
  std::vector<NodeOffer> offers = nodes(1, 0);
  add_nodes(offers, 1, 8);
  VirtualClusterSpec spec = unified(100);
  spec.devices_per_bundle = 0;
  spec.cpu_per_bundle = MilliCpu{1000};
  const Forming got = form_one(offers, spec);
  ASSERT_EQ(got.outcome, Outcome::Formed) << got.reason;
  EXPECT_EQ(counts_of(got.clusters[0]), (Counts{{0, 64}, {1, 36}}));
  EXPECT_EQ(got.clusters[0][0].devices, 0U);
}

TEST(Cpu, EachWorkerGroupOfABundleCounts) {
  VirtualClusterSpec spec = cluster({8});
  spec.cpu_per_bundle = MilliCpu{4000};
  spec.max_worker_groups = 2;
  EXPECT_EQ(form_one(nodes(1, 8), spec).outcome, Outcome::Formed) << "8 x 2 x 4 cores are there";
  spec.max_worker_groups = 3;
  EXPECT_EQ(form_one(nodes(1, 8), spec).outcome, Outcome::Infeasible);
}

TEST(Cpu, NothingOverflows) {
  VirtualClusterSpec spec = cluster({1000});
  spec.devices_per_bundle = 0;
  spec.cpu_per_bundle = MilliCpu{INT64_MAX};
  spec.memory_per_bundle = Bytes{INT64_MAX};
  spec.max_worker_groups = 1000;
  EXPECT_EQ(form_one(nodes(1, 8), spec).outcome, Outcome::Infeasible);
}

TEST(Models, TheOneThatIsNamed) {
  std::vector<NodeOffer> offers = nodes(2, 8);
  add_nodes(offers, 2, 8, 0, 1);
  EXPECT_EQ(counts_of(form_one(offers, cluster({8}), DeviceModelId{1}).clusters[0]),
            (Counts{{2, 8}}));
  EXPECT_EQ(form_one(offers, cluster({8}), DeviceModelId{7}).outcome, Outcome::Infeasible);
}

TEST(Models, OneForAllBundles) {
  std::vector<NodeOffer> offers = nodes(2, 8);
  add_nodes(offers, 2, 8, 0, 1);
  EXPECT_EQ(form_one(offers, cluster({8, 8, 8})).outcome, Outcome::Infeasible)
      << "four nodes are free, two of each model";
}

TEST(Models, TheScarcestThatSuffices) {
  std::vector<NodeOffer> offers = nodes(3, 8);
  add_nodes(offers, 2, 8, 0, 1);
  EXPECT_EQ(formed(offers, cluster({8, 8})), (Counts{{3, 8}, {4, 8}}));
  EXPECT_EQ(formed(offers, cluster({8, 8, 8})), (Counts{{0, 8}, {1, 8}, {2, 8}}));
}

TEST(Several, TrainAndGenerationAreDisjoint) {
  const std::vector<NodeOffer> offers = nodes(2, 8);
  const VirtualClusterSpec train = cluster({4}, BundleStrategy::StrictPack);
  VirtualClusterSpec gen = cluster({12});
  gen.unified = true;
  const std::vector<BundleRequest> requests{{&gen, {}}, {&train, {}}};
  const Forming got = form(offers, requests);
  ASSERT_EQ(got.outcome, Outcome::Formed) << got.reason;
  std::vector<std::uint64_t> taken(2, 0);
  for (const auto& places : got.clusters)
    for (const BundlePlace& place : places) {
      EXPECT_EQ(taken[place.node.index()] & place.devices, 0U);
      taken[place.node.index()] |= place.devices;
    }
  EXPECT_EQ(taken, (std::vector<std::uint64_t>{0xff, 0xff}));
}

TEST(Several, AllOrNothing) {
  const std::vector<NodeOffer> offers = nodes(3, 8);
  const VirtualClusterSpec train = cluster({8, 8});
  const VirtualClusterSpec gen = cluster({8, 8});
  const std::vector<BundleRequest> requests{{&train, {}}, {&gen, {}}};
  const Forming got = form(offers, requests);
  EXPECT_EQ(got.outcome, Outcome::Infeasible);
  EXPECT_TRUE(got.clusters.empty());
}

TEST(Several, TheHarderOneGoesFirst) {
  // Placed first, the bundles that fit anywhere would take the only whole node.
  std::vector<NodeOffer> offers = nodes(2, 8);
  leave_free(offers[1], 7);
  const VirtualClusterSpec gen = unified(7);
  const VirtualClusterSpec train = cluster({8});
  const std::vector<BundleRequest> requests{{&gen, {}}, {&train, {}}};
  const Forming got = form(offers, requests);
  ASSERT_EQ(got.outcome, Outcome::Formed) << got.reason;
  EXPECT_EQ(counts_of(got.clusters[0]), (Counts{{1, 7}}));
  EXPECT_EQ(counts_of(got.clusters[1]), (Counts{{0, 8}}));
}

// 24 nodes of 7, no two alike, and pieces of 4 and 2: 6 of each node can be used, 144 of all, and
// 146 are wanted. No count tells, and there are more layouts than can be tried.
TEST(Search, WhatCannotBeDecidedWaits) {
  std::vector<NodeOffer> offers = nodes(24, 7);
  for (NodeOffer& offer : offers) {
    offer.cpu_free.count -= offer.node.value;
    offer.cpu_total = offer.cpu_free;
  }
  VirtualClusterSpec spec = cluster(std::vector<std::int32_t>(24, 4));
  spec.bundles_per_node.insert(spec.bundles_per_node.end(), 25, 2);
  const Forming got = form_one(offers, spec);
  EXPECT_EQ(got.outcome, Outcome::Waiting);
  EXPECT_NE(got.reason.find("find no place together"), std::string::npos) << got.reason;
  spec.bundles_per_node.pop_back();
  EXPECT_EQ(form_one(offers, spec).outcome, Outcome::Formed);
}

}  // namespace strategies_tests
}  // namespace orrery::vcluster
