// What every placer of the registry must keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "core/placer/registry.hpp"
#include "tests/core/vcluster/layout_checker.hpp"
#include "tests/core/vcluster/random_requests.hpp"

namespace orrery {
namespace {

FreeIndex random_nodes(Random& random) {
  FreeIndex index;
  const auto count = static_cast<int>(random.between(1, 12));
  for (int i = 0; i < count; ++i) {
    const auto devices = static_cast<std::int32_t>(random.between(0, 8));
    NodeFree node{MilliCpu{random.between(0, 64) * 1000},
                  Bytes{random.between(0, 64) << 30},
                  devices,
                  0,
                  devices == 0 ? DeviceModelId::none()
                               : DeviceModelId{static_cast<std::uint16_t>(random.below(2))},
                  random.chance(0.9)};
    if (devices > 0 && random.chance(0.3))
      set_parts(node, {static_cast<std::int16_t>(random.between(1, 999))});
    index.add(node);
  }
  return index;
}

Demand random_demand(Random& random) {
  Demand demand;
  demand.cpu = MilliCpu{random.between(0, 16) * 1000};
  demand.memory = Bytes{random.between(0, 16) << 30};
  demand.devices = static_cast<std::int32_t>(random.between(0, 4));
  if (demand.devices == 1 && random.chance(0.5))
    demand.share = Share{static_cast<std::int32_t>(random.between(1, 999))};
  if (random.chance(0.3)) demand.model = DeviceModelId{static_cast<std::uint16_t>(random.below(2))};
  return demand;
}

std::int64_t replicas_that_fit_in_all(const FreeIndex& index, const Demand& demand, NodeId avoid) {
  std::int64_t sum = 0;
  for (std::uint32_t n = 0; n < index.size(); ++n)
    if (NodeId{n} != avoid) sum += replicas_that_fit(index.at(NodeId{n}), demand);
  return sum;
}

void expect_same(const FreeIndex& a, const FreeIndex& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::uint32_t n = 0; n < a.size(); ++n) ASSERT_EQ(a.at(NodeId{n}), b.at(NodeId{n}));
}

class PlacerContract : public ::testing::TestWithParam<std::string> {
 protected:
  const Placer& placer() { return *placers::find(GetParam()); }
};

// All or nothing; where there is room, and nowhere else; the same answer to the same question.
TEST_P(PlacerContract, PlacesWholeGangsWhereThereIsRoom) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "placer contract");
    FreeIndex base = random_nodes(random);
    CapacityTrial trial;
    CapacityTrial again;
    DemandMix mix;
    for (int i = 0; i < 4; ++i) mix.add(random_demand(random));
    for (int step = 0; step < 12; ++step) {
      PlacementRequest request;
      request.demand = random_demand(random);
      request.replicas = static_cast<std::int32_t>(random.between(1, 10));
      request.seed = seed;
      request.job = JobId{static_cast<std::uint32_t>(step)};
      request.mix = &mix;
      if (random.chance(0.2))
        request.avoid = NodeId{static_cast<std::uint32_t>(random.below(base.size()))};
      trial.sync(base);
      again.sync(base);
      std::vector<NodeCount> nodes{{NodeId{0}, 7}};
      std::vector<NodeCount> twice{{NodeId{0}, 7}};
      const bool placed = placer().place(request, trial, nodes);
      ASSERT_EQ(placed,
                replicas_that_fit_in_all(base, request.demand, request.avoid) >= request.replicas);
      ASSERT_EQ(placer().place(request, again, twice), placed);
      ASSERT_EQ(nodes, twice);
      std::vector<NodeCount> found{{NodeId{0}, 7}};
      if (const Placer::Found answer = placer().find(request, base, found);
          answer != Placer::Found::NeedsTrial) {
        ASSERT_EQ(answer == Placer::Found::Place, placed);
        ASSERT_EQ(nodes, found) << "what it finds is what it takes";
      }
      ASSERT_EQ(nodes.front(), (NodeCount{NodeId{0}, 7})) << "what was there is left alone";
      expect_same(trial.index(), again.index());
      std::int32_t sum = 0;
      CapacityTrial taken;
      taken.sync(base);
      for (std::size_t i = 1; i < nodes.size(); ++i) {
        const NodeCount& at = nodes[i];
        ASSERT_NE(at.node, request.avoid);
        ASSERT_GE(at.replicas, 1);
        ASSERT_GE(replicas_that_fit(base.at(at.node), request.demand), at.replicas);
        for (std::size_t k = 1; k < i; ++k) ASSERT_NE(nodes[k].node, at.node);
        placer().take(request, taken, at);
        const NodeFree plainly = less(base.at(at.node), request.demand, at.replicas);
        const NodeFree& left = taken.index().at(at.node);
        ASSERT_EQ(left.cpu, plainly.cpu);
        ASSERT_EQ(left.memory, plainly.memory);
        ASSERT_EQ(left.thousandths(), plainly.thousandths());
        base.set(at.node, left);
        sum += at.replicas;
      }
      ASSERT_EQ(sum, placed ? request.replicas : 0);
      expect_same(trial.index(), base);
    }
  }
}

TEST_P(PlacerContract, ChoosesDevicesThatAreFree) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "placer devices");
    NodeDevices devices;
    const auto count = static_cast<int>(random.between(1, 64));
    const auto part = static_cast<std::int32_t>(random.between(1, 999));
    for (int d = 0; d < count; ++d) {
      if (random.chance(0.5)) {
        devices.whole |= DeviceSet{1} << d;
        if (random.chance(0.5)) devices.unused |= DeviceSet{1} << d;
      } else {
        devices.left[static_cast<std::size_t>(d)] =
            static_cast<std::int16_t>(random.between(0, 999));
      }
    }
    PlacementRequest request;
    request.seed = seed;
    Demand& demand = request.demand;
    const NodeFree free{
        MilliCpu{64'000}, Bytes{1 << 20}, std::popcount(devices.whole), 0, DeviceModelId{0}, true};
    const DeviceOffer offer{NodeId{3}, free, devices};
    EXPECT_EQ(placer().choose_devices(request, offer), DeviceSet{0});
    if (std::popcount(devices.whole) == 0) continue;
    demand.devices = static_cast<std::int32_t>(random.between(1, std::popcount(devices.whole)));
    const DeviceSet whole = placer().choose_devices(request, offer);
    EXPECT_EQ(std::popcount(whole), demand.devices);
    EXPECT_EQ(whole & ~devices.whole, DeviceSet{0});
    demand.devices = 1;
    demand.share = Share{part};
    const DeviceSet one = placer().choose_devices(request, offer);
    ASSERT_EQ(std::popcount(one), 1);
    const auto device = static_cast<std::size_t>(std::countr_zero(one));
    EXPECT_TRUE((one & devices.whole) != 0 || devices.left[device] >= part);
    EXPECT_EQ(placer().choose_devices(request, offer), one);
  }
}

// What is tried and what is claimed are the same, device by device: plans hold.
TEST_P(PlacerContract, ClaimsWhatItTriedOn) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "placer claims");
    Ledger ledger;
    const auto groups = static_cast<int>(random.between(1, 6));
    for (int i = 0; i < groups; ++i) {
      NodeGroup group;
      group.cpu = MilliCpu{64'000};
      group.memory = Bytes{std::int64_t{64} << 30};
      group.devices = static_cast<std::int32_t>(random.between(0, 8));
      ledger.add_node(group,
                      group.devices == 0
                          ? DeviceModelId::none()
                          : DeviceModelId{static_cast<std::uint16_t>(random.below(2))});
    }
    CapacityTrial trial;
    DemandMix mix;
    for (int step = 0; step < 20; ++step) {
      PlacementRequest request;
      request.demand = random_demand(random);
      if (request.demand.devices > 0 && random.chance(0.5)) {
        request.demand.devices = 1;
        request.demand.share = Share{static_cast<std::int32_t>(random.between(1, 999))};
      }
      request.replicas = static_cast<std::int32_t>(random.between(1, 4));
      request.seed = seed;
      request.job = JobId{static_cast<std::uint32_t>(step)};
      request.mix = &mix;
      request.ledger = &ledger;
      mix.add(request.demand);
      trial.sync(ledger.free());
      std::vector<NodeCount> nodes;
      if (!placer().place(request, trial, nodes)) continue;
      for (const NodeCount& at : nodes)
        for (std::int32_t i = 0; i < at.replicas; ++i)
          ledger.claim(request.job,
                       at.node,
                       request.demand,
                       placer().choose_devices(request,
                                               {at.node,
                                                ledger.free().at(at.node),
                                                ledger.devices_of(at.node, request.demand)}));
      ledger.check();
      expect_same(trial.index(), ledger.free());
    }
  }
}

// Virtual clusters are formed where that is possible, by the rules that the user chose.
TEST_P(PlacerContract, FormsVirtualClustersByTheirRules) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const vcluster::Draw drawn(seed);
    const vcluster::Forming got = placer().form(drawn.offers, drawn.requests);
    const bool possible = vcluster::can_be_placed(drawn.offers, drawn.requests, false);
    ASSERT_EQ(got.outcome, possible ? vcluster::Outcome::Formed : vcluster::Outcome::Waiting);
    ASSERT_EQ(placer().form(drawn.offers, drawn.requests).clusters, got.clusters);
    if (!possible) continue;
    for (const std::string& fault : vcluster::faults_of(drawn.offers, drawn.requests, got.clusters))
      ADD_FAILURE() << fault;
  }
}

TEST_P(PlacerContract, HasANameWithAVersion) {
  const std::string name(placer().name());
  EXPECT_EQ(name.substr(0, name.find('/')), GetParam());
  EXPECT_NE(name.find('/'), std::string::npos);
  EXPECT_EQ(placers::find(name), &placer());
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const placers::PlacerRow& row : placers::rows()) out.emplace_back(row.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Registry,
                         PlacerContract,
                         ::testing::ValuesIn(names()),
                         [](const auto& each) { return each.param; });

TEST(Placers, AnUnknownNameIsNone) { EXPECT_EQ(placers::find("best"), nullptr); }

TEST(Placers, TheStreamOfARequestIsItsOwn) {
  PlacementRequest request;
  request.seed = 7;
  request.job = JobId{3};
  PlacementRequest other = request;
  EXPECT_EQ(request.stream().bits(), other.stream().bits());
  other.generation = Generation{1};
  EXPECT_NE(request.stream().bits(), other.stream().bits());
  other = request;
  other.seed = 8;
  EXPECT_NE(request.stream().bits(), other.stream().bits());
}

TEST(Placers, TheMixIsTheSameWhateverTheOrder) {
  Demand one;
  one.devices = 1;
  Demand two;
  two.devices = 2;
  DemandMix mix;
  for (const Demand& demand : {two, one, two, one, one}) mix.add(demand);
  mix.remove(two);
  mix.remove(two);
  ASSERT_EQ(mix.entries().size(), 1u);
  EXPECT_EQ(mix.entries().front().jobs, 3);
  mix.add(two);
  EXPECT_EQ(mix.entries().back().demand.devices, 2);
}

}  // namespace
}  // namespace orrery
