// What sets the placers apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "core/placer/fragmentation.hpp"
#include "core/placer/registry.hpp"
#include "core/placer/tie_order.hpp"

namespace orrery {
namespace {

using Nodes = std::vector<NodeCount>;

FreeIndex with_devices(std::initializer_list<std::int32_t> devices) {
  FreeIndex index;
  for (const std::int32_t n : devices)
    index.add({MilliCpu{64'000}, Bytes{1 << 20}, n, 0, DeviceModelId{0}, true});
  return index;
}

Nodes placed(std::string_view placer, const FreeIndex& index, const PlacementRequest& request) {
  CapacityTrial trial;
  trial.sync(index);
  Nodes nodes;
  EXPECT_TRUE(placers::find(placer)->place(request, trial, nodes));
  return nodes;
}

PlacementRequest one_device_each(std::int32_t replicas) {
  PlacementRequest request;
  request.demand.devices = 1;
  request.replicas = replicas;
  return request;
}

TEST(Placers, BestFitTakesTheTightestNodeAndMostFreeTheEmptiest) {
  const FreeIndex index = with_devices({8, 2, 4});
  EXPECT_EQ(placed("best_fit", index, one_device_each(2)), (Nodes{{NodeId{1}, 2}}));
  EXPECT_EQ(placed("most_free", index, one_device_each(2)), (Nodes{{NodeId{0}, 2}}));
}

TEST(Placers, MostFreeGoesOnWithTheNextEmptiestAndTheLowerIdOfEqualOnes) {
  const FreeIndex index = with_devices({3, 4, 4});
  EXPECT_EQ(placed("most_free", index, one_device_each(9)),
            (Nodes{{NodeId{1}, 4}, {NodeId{2}, 4}, {NodeId{0}, 1}}));
}

TEST(Placers, ANodeToAvoidGetsNone) {
  const FreeIndex index = with_devices({8, 2, 4});
  PlacementRequest request = one_device_each(2);
  request.avoid = NodeId{1};
  EXPECT_EQ(placed("best_fit", index, request), (Nodes{{NodeId{2}, 2}}));
  request.avoid = NodeId{0};
  EXPECT_EQ(placed("most_free", index, request), (Nodes{{NodeId{2}, 2}}));
}

NodeFree node_with(std::int64_t cpu, std::int32_t whole, DeviceParts parts, DeviceModelId model) {
  NodeFree free{MilliCpu{cpu}, Bytes{1 << 30}, whole, 0, model, true};
  set_parts(free, std::move(parts));
  return free;
}

Demand share_of(std::int32_t thousandths, std::int64_t cpu = 0) {
  Demand demand;
  demand.cpu = MilliCpu{cpu};
  demand.devices = 1;
  demand.share = Share{thousandths};
  return demand;
}

Demand whole_of(std::int32_t devices, std::int64_t cpu = 0) {
  Demand demand;
  demand.cpu = MilliCpu{cpu};
  demand.devices = devices;
  return demand;
}

constexpr DeviceModelId kModel{0};

// A ledger of nodes alike, and a request that knows it.
class Known {
 public:
  Known(std::int32_t nodes, std::int32_t devices, std::int32_t rack, std::int32_t domain) {
    NodeGroup group;
    group.cpu = MilliCpu{64'000};
    group.memory = Bytes{1 << 30};
    group.devices = devices;
    for (std::int32_t n = 0; n < nodes; ++n)
      ledger_.set_site(ledger_.add_node(group, kModel), n / rack, n / domain);
  }

  void hold(std::uint32_t node, const Demand& demand, DeviceSet devices) {
    ledger_.claim(JobId{0}, NodeId{node}, demand, devices);
  }

  Nodes place(std::string_view placer,
              const Demand& demand,
              std::int32_t replicas = 1,
              std::uint64_t seed = 0) const {
    PlacementRequest request;
    request.demand = demand;
    request.replicas = replicas;
    request.seed = seed;
    request.mix = &mix;
    request.ledger = &ledger_;
    return placed(placer, ledger_.free(), request);
  }

  std::uint32_t node_for(std::string_view placer, const Demand& demand) const {
    return place(placer, demand).front().node.value;
  }

  DeviceSet devices_for(std::string_view placer, std::uint32_t node, const Demand& demand) const {
    PlacementRequest request;
    request.demand = demand;
    request.mix = &mix;
    request.ledger = &ledger_;
    const NodeId at{node};
    return placers::find(placer)->choose_devices(
        request, {at, ledger_.free().at(at), ledger_.devices_of(at, demand)});
  }

  DemandMix mix;

 private:
  Ledger ledger_;
};

TEST(Placers, FgdKeepsWholeDevicesForThoseWhoNeedThem) {
  Known cluster(2, 4, 1, 1);
  cluster.hold(1, share_of(600), 1);
  for (int i = 0; i < 9; ++i) cluster.mix.add(whole_of(4));
  cluster.mix.add(share_of(300));
  EXPECT_EQ(cluster.node_for("fgd", share_of(300)), 1u) << "node 0 is a whole one";
  EXPECT_EQ(cluster.node_for("fgd", whole_of(1)), 1u);
  EXPECT_EQ(cluster.node_for("fgd", whole_of(4)), 0u);
  EXPECT_EQ(cluster.devices_for("fgd", 1, share_of(300)), 1u);
}

TEST(Placers, FgdTakesTheDeviceThatTheMixLosesLeastBy) {
  Known cluster(1, 3, 1, 1);
  cluster.hold(0, share_of(500), 1);
  cluster.hold(0, share_of(300), 2);
  for (int i = 0; i < 20; ++i) cluster.mix.add(share_of(500));
  // The fullest with room has 500 left, which the mix wants whole; of 700, 500 are left to it.
  EXPECT_EQ(cluster.devices_for("fgd", 0, share_of(200)), 2u);
  EXPECT_EQ(cluster.devices_for("best_fit_score", 0, share_of(200)), 1u);
}

TEST(Placers, ScorersGoByTheirFormulas) {
  Known cluster(3, 4, 1, 1);
  cluster.hold(1, whole_of(1, 60'000), 1);
  cluster.hold(2, whole_of(3, 4'000), 7);
  // Left of a whole node of 64 cores and 4 devices: 1, 4/64 and 3/4, 60/64 and 1/4.
  EXPECT_EQ(cluster.node_for("best_fit_score", whole_of(1)), 1u);
  EXPECT_EQ(cluster.node_for("best_fit_score", whole_of(1, 30'000)), 2u);
  EXPECT_EQ(cluster.node_for("dot_product", whole_of(1)), 2u);
  EXPECT_EQ(cluster.node_for("dot_product", whole_of(0, 2'000)), 1u);
}

TEST(Placers, GpuPackingFillsDevicesThenNodes) {
  Known cluster(3, 4, 1, 1);
  cluster.hold(1, whole_of(2), 3);
  cluster.hold(2, share_of(500), 1);
  EXPECT_EQ(cluster.node_for("gpu_packing", share_of(400)), 2u) << "a device in use";
  EXPECT_NE(cluster.node_for("gpu_packing", share_of(600)), 0u) << "no empty node";
  EXPECT_EQ(cluster.node_for("gpu_packing", whole_of(4)), 0u);
}

TEST(Placers, GpuClusteringPutsLikeToLike) {
  Known cluster(4, 8, 1, 1);
  cluster.hold(1, whole_of(2), 3);
  cluster.hold(2, share_of(500), 1);
  cluster.hold(3, share_of(500), 1);
  cluster.hold(3, whole_of(1), 2);
  EXPECT_EQ(cluster.node_for("gpu_clustering", share_of(400)), 2u) << "the same kind alone";
  EXPECT_EQ(cluster.node_for("gpu_clustering", whole_of(2)), 1u);
  EXPECT_EQ(cluster.node_for("gpu_clustering", whole_of(1)), 3u) << "with others beside it";
  EXPECT_EQ(cluster.node_for("gpu_clustering", whole_of(4)), 0u) << "an empty one, not others'";
}

TEST(Placers, RandomDrawsAnewForEachJobAndDeviceAndTheSameForTheSame) {
  const FreeIndex index = with_devices({8, 8, 8, 8});
  PlacementRequest request = one_device_each(1);
  std::map<std::uint32_t, int> drawn;
  for (std::uint32_t job = 0; job < 400; ++job) {
    request.job = JobId{job};
    const Nodes nodes = placed("random", index, request);
    EXPECT_EQ(nodes, placed("random", index, request));
    ++drawn[nodes.front().node.value];
  }
  ASSERT_EQ(drawn.size(), 4u);
  for (const auto& [node, times] : drawn) {
    EXPECT_GT(times, 60) << node;
    EXPECT_LT(times, 140) << node;
  }
  // Two parts and two whole devices have room, the third part has not.
  NodeDevices devices;
  devices.whole = devices.unused = 3;
  devices.left = {0, 0, 500, 700, 100};
  const NodeFree free = node_with(1000, 2, {100, 500, 700}, kModel);
  std::map<std::int32_t, int> parts;
  request.demand = share_of(400);
  for (std::uint32_t job = 0; job < 400; ++job) {
    request.job = JobId{job};
    const DeviceSet one =
        placers::find("random")->choose_devices(request, {NodeId{0}, free, devices});
    ++parts[one == 4 ? 500 : one == 8 ? 700 : one <= 2 ? 1000 : 0];
  }
  EXPECT_EQ(parts.count(0), 0u);
  EXPECT_GT(parts[500], 60);
  EXPECT_GT(parts[700], 60);
  EXPECT_GT(parts[1000], 140) << "one of two";
}

TEST(Placers, TiesFollowOnePermutationOfTheRun) {
  Known cluster(16, 1, 1, 1);
  std::vector<std::uint32_t> nodes(16);
  for (std::uint32_t n = 0; n < 16; ++n) nodes[n] = n;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const TieOrder order(seed);
    std::sort(nodes.begin(), nodes.end(), [&](std::uint32_t a, std::uint32_t b) {
      return order.key(NodeId{a}) < order.key(NodeId{b});
    });
    const Nodes taken = cluster.place("best_fit_score", whole_of(1), 16, seed);
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(taken[i].node.value, nodes[i]) << seed;
  }
  EXPECT_NE(TieOrder(1).key(NodeId{0}), TieOrder(2).key(NodeId{0}));
}

TEST(Placers, SpreadTakesManyNodesAndConsolidateFew) {
  Known cluster(4, 4, 1, 1);
  cluster.hold(2, whole_of(2), 3);
  Nodes spread = cluster.place("spread", whole_of(1), 6);
  ASSERT_EQ(spread.size(), 4u);
  for (const NodeCount& n : spread) EXPECT_LE(n.replicas, 2);
  EXPECT_EQ(spread.back().node, NodeId{2}) << "the emptiest first";
  const Nodes few = cluster.place("consolidate", whole_of(1), 6);
  ASSERT_EQ(few.size(), 2u);
  EXPECT_EQ(few[0].replicas, 4);
  EXPECT_EQ(few[1], (NodeCount{NodeId{2}, 2})) << "the tightest for the rest";
}

TEST(Placers, ConsolidateCountsCpu) {
  Known cluster(2, 8, 1, 1);
  cluster.hold(0, whole_of(0, 48'000), 0);
  const Nodes nodes = cluster.place("consolidate", whole_of(1, 8'000), 4);
  EXPECT_EQ(nodes, (Nodes{{NodeId{1}, 4}})) << "node 0 has devices for four, and cores for two";
}

TEST(Placers, TopologyStaysInADomainThenInARack) {
  Known cluster(16, 4, 8, 2);  // Racks of 8 nodes, domains of 2.
  const auto whole_nodes = [&](std::initializer_list<std::uint32_t> nodes) {
    for (const std::uint32_t n : nodes) cluster.hold(n, whole_of(4), 15);
  };
  whole_nodes({0, 2, 4, 8, 10});  // Of rack 0 three domains lack a node, of rack 1 two.
  for (const std::int32_t replicas : {5, 8}) {
    Nodes nodes = cluster.place("topology", whole_of(1), replicas);
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[0].node.value / 2, nodes[1].node.value / 2) << replicas;
  }
  Nodes nodes = cluster.place("topology", whole_of(4), 5);
  for (const NodeCount& n : nodes) EXPECT_LT(n.node.value, 8u) << "rack 0 has 5, rack 1 has 6";
  nodes = cluster.place("topology", whole_of(4), 6);
  for (const NodeCount& n : nodes) EXPECT_GE(n.node.value, 8u);
  nodes = cluster.place("topology", whole_of(4), 7);
  const auto in_rack_0 = std::count_if(
      nodes.begin(), nodes.end(), [](const NodeCount& n) { return n.node.value < 8; });
  EXPECT_EQ(in_rack_0, 1) << "as much as there is in one rack, the rest in the other";
  EXPECT_EQ(cluster.place("topology", whole_of(1), 3).size(), 1u);
  whole_nodes({6});  // No domain of rack 0 is whole any more, though the rack is the tighter one.
  for (const NodeCount& n : cluster.place("topology", whole_of(1), 8)) EXPECT_GE(n.node.value, 12u);
}

// The definition, class by class.
double fragment_by_definition(std::span<const DemandMix::Entry> mix, const NodeFree& free) {
  DeviceParts left = free.parts ? *free.parts : DeviceParts{};
  left.insert(left.end(), static_cast<std::size_t>(free.devices), std::int16_t{1000});
  double sum = 0;
  double jobs = 0;
  for (const DemandMix::Entry& entry : mix) {
    const Demand& d = entry.demand;
    const auto enough = [&](std::int16_t r) { return r >= d.share.thousandths; };
    const bool fits = d.devices > 0 && (d.model.is_none() || d.model == free.model) &&
                      free.cpu >= d.cpu &&
                      std::count_if(left.begin(), left.end(), enough) >= d.devices;
    double fragment = 0;
    for (const std::int16_t r : left) fragment += fits && enough(r) ? 0 : r;
    sum += fragment * static_cast<double>(entry.jobs);
    jobs += static_cast<double>(entry.jobs);
  }
  return sum / jobs;
}

TEST(Fragmentation, IsThatOfItsDefinition) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "fragmentation");
    DemandMix mix;
    for (int i = 0; i < 6; ++i) {
      Demand demand = random.chance(0.5)
                          ? share_of(static_cast<std::int32_t>(random.between(1, 999)))
                          : whole_of(static_cast<std::int32_t>(random.between(0, 8)));
      demand.cpu = MilliCpu{random.between(0, 8) * 1000};
      if (random.chance(0.3))
        demand.model = DeviceModelId{static_cast<std::uint16_t>(random.below(3))};
      if (demand.devices == 0) demand.model = DeviceModelId::none();
      // Each is more than 5 % of all, so that none is left out.
      for (std::int64_t n = random.between(10, 20); n > 0; --n) mix.add(demand);
    }
    const Fragmentation fragmentation(mix.entries());
    std::int64_t jobs = 0;
    for (const DemandMix::Entry& entry : mix.entries()) jobs += entry.jobs;
    ASSERT_EQ(fragmentation.weight(), jobs);
    for (int n = 0; n < 20; ++n) {
      DeviceParts parts;
      for (std::int64_t i = random.between(0, 4); i > 0; --i)
        parts.push_back(static_cast<std::int16_t>(random.between(1, 999)));
      const NodeFree free = node_with(random.between(0, 9000),
                                      static_cast<std::int32_t>(random.between(0, 8)),
                                      parts,
                                      DeviceModelId{static_cast<std::uint16_t>(random.below(4))});
      EXPECT_NEAR(static_cast<double>(fragmentation.weighted(free)) /
                      static_cast<double>(fragmentation.weight()),
                  fragment_by_definition(mix.entries(), free),
                  1e-6);
    }
  }
}

TEST(Fragmentation, RareDemandsAndMemoryDoNotCount) {
  DemandMix mix;
  for (int i = 0; i < 95; ++i) {
    Demand demand = whole_of(1);
    demand.memory = Bytes{i};
    mix.add(demand);
  }
  for (int i = 0; i < 5; ++i) mix.add(whole_of(8));
  const Fragmentation fragmentation(mix.entries());
  EXPECT_EQ(fragmentation.kinds(), 1u);
  EXPECT_EQ(fragmentation.weight(), 95);
  EXPECT_EQ(fragmentation.weighted(node_with(0, 3, {400}, kModel)), 95 * 400);
  EXPECT_EQ(Fragmentation({}).weighted(node_with(0, 3, {400}, kModel)), 0);
}

TEST(Placers, SettingsNameThemWithOrWithoutAVersionOrNotAtAll) {
  EXPECT_EQ(placers::named("").name(), placers::initial().name());
  for (const placers::PlacerRow& row : placers::rows()) {
    EXPECT_EQ(&placers::named(row.name), &row.placer);
    EXPECT_EQ(&placers::named(row.placer.name()), &row.placer);
    EXPECT_NE(placers::names_text().find(row.placer.name()), std::string::npos);
  }
  EXPECT_FALSE(placers::is_known("worst_fit"));
}

}  // namespace
}  // namespace orrery
