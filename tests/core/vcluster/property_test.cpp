// Random small clusters against a search through everything.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/random.hpp"
#include "core/job/check_placement.hpp"
#include "tests/core/vcluster/builders.hpp"
#include "tests/core/vcluster/layout_checker.hpp"
#include "tests/core/vcluster/random_requests.hpp"

namespace orrery::vcluster {
namespace {

constexpr std::uint64_t kSeeds = 20000;

TEST(VirtualClusterProperty, SpecificationsDrawnAreSound) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Draw drawn(seed);
    for (const VirtualClusterSpec& spec : drawn.specs)
      for (const Error& error : check_virtual_cluster(spec, "drawn"))
        ADD_FAILURE() << "seed " << seed << ": " << error.text();
  }
}

TEST(VirtualClusterProperty, FormsExactlyWhereALayoutExists) {
  std::map<Outcome, int> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Draw drawn(seed);
    const Forming got = form(drawn.offers, drawn.requests);
    ++seen[got.outcome];
    const bool now = can_be_placed(drawn.offers, drawn.requests, false);
    const bool ever = now || can_be_placed(drawn.offers, drawn.requests, true);
    const Outcome wanted = now ? Outcome::Formed : ever ? Outcome::Waiting : Outcome::Infeasible;
    EXPECT_EQ(to_string(got.outcome), to_string(wanted)) << "seed " << seed << " " << got.reason;
    EXPECT_EQ(got.reason.empty(), now) << "seed " << seed;
    EXPECT_EQ(try_form(drawn.offers, drawn.requests).outcome == Outcome::Formed, now)
        << "seed " << seed;
  }
  for (const Outcome outcome : {Outcome::Formed, Outcome::Waiting, Outcome::Infeasible})
    EXPECT_GT(seen[outcome], static_cast<int>(kSeeds) / 20) << "the draw says little";
}

TEST(VirtualClusterProperty, WhatIsFormedKeepsEveryRule) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Draw drawn(seed);
    const Forming got = form(drawn.offers, drawn.requests);
    if (got.outcome != Outcome::Formed) continue;
    for (const std::string& fault : faults_of(drawn.offers, drawn.requests, got.clusters))
      ADD_FAILURE() << "seed " << seed << ": " << fault;
  }
}

bool all_alike(const VirtualClusterSpec& spec) {
  std::set<std::int32_t> sizes(spec.bundles_per_node.begin(), spec.bundles_per_node.end());
  sizes.erase(0);
  return sizes.size() == 1;
}

TEST(VirtualClusterProperty, PackTakesTheFewestNodesAndSpreadTheMost) {
  int judged = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Draw drawn(seed, 1);
    drawn.requests.resize(1);
    const VirtualClusterSpec& spec = drawn.specs.front();
    const bool one_model = spec.devices_per_bundle == 0 || !drawn.requests[0].model.is_none();
    const bool pack = spec.strategy == BundleStrategy::Pack && spec.segment_size == 0;
    if (!one_model || !all_alike(spec) || !(pack || spec.strategy == BundleStrategy::Spread))
      continue;
    const Forming got = form(drawn.offers, drawn.requests);
    if (got.outcome != Outcome::Formed) continue;
    ++judged;
    const NodeRange range = nodes_possible(drawn.offers, drawn.requests.front());
    EXPECT_EQ(static_cast<int>(counts_of(got.clusters.front()).size()),
              pack ? range.fewest : range.most)
        << "seed " << seed;
  }
  EXPECT_GT(judged, 100);
}

TEST(VirtualClusterProperty, SpreadKeepsNodesEven) {
  int judged = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Random random = Random::stream(seed, "even");
    std::vector<NodeOffer> offers = nodes(draw(random, 1, 6), 8);
    for (NodeOffer& offer : offers) leave_free(offer, draw(random, 0, 8));
    const VirtualClusterSpec spec = unified(draw(random, 1, 24), BundleStrategy::Spread);
    const Forming got = form_one(offers, spec);
    if (got.outcome != Outcome::Formed) continue;
    ++judged;
    std::map<std::uint32_t, int> on;
    for (const auto& [node, count] : counts_of(got.clusters.front())) on[node] = count;
    for (const NodeOffer& high : offers)
      for (const NodeOffer& low : offers)
        EXPECT_TRUE(on[high.node.value] <= on[low.node.value] + 1 ||
                    on[low.node.value] == std::popcount(low.free_devices))
            << "seed " << seed << ": node " << low.node.value << " could have one more";
  }
  EXPECT_GT(judged, 500);
}

// What does not concern a request does not change its answer.
TEST(VirtualClusterProperty, OtherNodesAndSpentNodesChangeNothing) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Draw drawn(seed);
    const Forming before = try_form(drawn.offers, drawn.requests);
    for (NodeOffer& offer : drawn.offers)
      if (!offer.usable) offer.free_devices = 0, offer.cpu_free = MilliCpu{0}, offer.rack = 5;
    NodeOffer spent;
    spent.node = NodeId{static_cast<std::uint32_t>(drawn.offers.size())};
    spent.all_devices = spent.free_devices = mask_of(8);
    spent.usable = false;
    drawn.offers.push_back(spent);
    const Forming after = try_form(drawn.offers, drawn.requests);
    EXPECT_EQ(before.outcome, after.outcome) << "seed " << seed;
    EXPECT_EQ(before.clusters, after.clusters) << "seed " << seed;
  }
}

// The numbers of zones are names: renumbering them in the same order changes nothing.
TEST(VirtualClusterProperty, ZoneNumbersAreNames) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Draw drawn(seed);
    const Forming before = try_form(drawn.offers, drawn.requests);
    for (NodeOffer& offer : drawn.offers) {
      if (offer.rack >= 0) offer.rack = offer.rack * 7 + 3;
      if (offer.nvlink_domain >= 0) offer.nvlink_domain = offer.nvlink_domain * 5 + 1;
    }
    EXPECT_EQ(before.clusters, try_form(drawn.offers, drawn.requests).clusters) << "seed " << seed;
  }
}

// A layout is drawn first and nothing is left free beside it, so that only a real search finds one.
struct Planted {
  std::vector<NodeOffer> offers;
  std::vector<VirtualClusterSpec> specs;
  std::vector<BundleRequest> requests;

  explicit Planted(std::uint64_t seed) {
    Random random = Random::stream(seed, "planted");
    offers = nodes(draw(random, 2, 6), 0, 2);
    for (NodeOffer& offer : offers) offer.model = DeviceModelId{0};
    const std::int32_t count = draw(random, 1, 3);
    for (std::int32_t i = 0; i < count; ++i) add(random, i);
    for (const VirtualClusterSpec& spec : specs) requests.push_back({&spec, {}});
  }

  void add(Random& random, std::int32_t i) {
    VirtualClusterSpec spec = cluster({});
    spec.name = "vc" + std::to_string(i);
    const bool single = random.chance(0.4);
    spec.strategy = single ? BundleStrategy::StrictSpread : BundleStrategy::Pack;
    spec.cpu_per_bundle = MilliCpu{random.chance(0.5) ? 0 : 1000};
    std::vector<std::size_t> order(offers.size());
    for (std::size_t n = 0; n < order.size(); ++n) order[n] = n;
    random.shuffle(order);
    const std::int32_t pieces = draw(random, 1, single ? static_cast<int>(order.size()) : 5);
    for (std::int32_t k = 0; k < pieces; ++k) {
      const std::int32_t size = draw(random, 1, 4);
      NodeOffer& offer =
          offers[single ? order[static_cast<std::size_t>(k)] : random.below(offers.size())];
      const std::int32_t devices = std::popcount(offer.all_devices) + size;
      offer.all_devices = offer.free_devices = mask_of(devices);
      spec.bundles_per_node.push_back(size);
    }
    random.shuffle(spec.bundles_per_node);
    specs.push_back(spec);
  }
};

TEST(VirtualClusterProperty, FindsTheLayoutThatLeavesNothingOver) {
  int unknown = 0;
  for (std::uint64_t seed = 0; seed < kSeeds / 4; ++seed) {
    const Planted planted(seed);
    const Forming got = form(planted.offers, planted.requests);
    EXPECT_NE(got.outcome, Outcome::Infeasible) << "seed " << seed << ": " << got.reason;
    if (got.outcome != Outcome::Formed)
      ++unknown;
    else
      for (const std::string& fault : faults_of(planted.offers, planted.requests, got.clusters))
        ADD_FAILURE() << "seed " << seed << ": " << fault;
  }
  EXPECT_EQ(unknown, 0) << "a search gave up on a handful of nodes";
}

// The checker itself: each planted fault must be told.
TEST(LayoutChecker, TellsPlantedFaults) {
  const std::vector<NodeOffer> offers = nodes(4, 4, 2);
  VirtualClusterSpec spec = cluster({2, 2, 2, 2}, BundleStrategy::StrictSpread);
  spec.segment_by = SegmentBy::NvlinkDomain;
  spec.segment_size = 2;
  spec.cpu_per_bundle = MilliCpu{1000};
  const std::vector<BundleRequest> requests{{&spec, DeviceModelId{0}}};
  const Forming sound = form(offers, requests);
  ASSERT_EQ(sound.outcome, Outcome::Formed);
  ASSERT_TRUE(faults_of(offers, requests, sound.clusters).empty());
  const auto told = [&](const std::string& fault, auto&& plant) {
    auto clusters = sound.clusters;
    auto nodes = offers;
    plant(clusters[0], nodes);
    const auto faults = faults_of(nodes, requests, clusters);
    EXPECT_TRUE(std::find(faults.begin(), faults.end(), fault) != faults.end()) << fault;
  };
  using Bundles = std::vector<BundlePlace>;
  using Nodes = std::vector<NodeOffer>;
  told("a device is given twice", [](Bundles& b, Nodes&) { b[1].devices = b[0].devices; });
  told("a device is not free", [](Bundles&, Nodes& n) { n[0].free_devices = 2; });
  told("a node is not usable", [](Bundles&, Nodes& n) { n[3].usable = false; });
  told("cpu is given twice", [](Bundles&, Nodes& n) { n[3].cpu_free = MilliCpu{1999}; });
  told("a bundle has the wrong number of devices", [](Bundles& b, Nodes&) { b[0].devices = 0; });
  told("a logical node straddles nodes", [](Bundles& b, Nodes&) { b[1].node = NodeId{1}; });
  told("strict_spread shares a node",
       [](Bundles& b, Nodes&) { b[2].node = b[3].node = b[0].node; });
  told("a segment lies in two zones", [](Bundles& b, Nodes&) {
    std::swap(b[2], b[4]);
    b[2].logical_node = 1;
  });
  told("a segment lies where no zone is declared",
       [](Bundles&, Nodes& n) { n[1].nvlink_domain = -1; });
  told("ranks of two nodes interleave", [](Bundles& b, Nodes&) { std::swap(b[1], b[2]); });
  told("devices descend on a node", [](Bundles& b, Nodes&) { std::swap(b[0], b[1]); });
  told("a bundle stands twice", [](Bundles& b, Nodes&) { b[1].bundle = 0; });
  told("bundles are missing", [](Bundles& b, Nodes&) { b.pop_back(); });
  told("two models in one virtual cluster",
       [](Bundles&, Nodes& n) { n[1].model = DeviceModelId{1}; });
}

}  // namespace
}  // namespace orrery::vcluster
