// How long exchanges take alone, against closed forms.
#include "sim/fabric/exchange_load.hpp"

#include <gtest/gtest.h>

#include "tests/sim/fabric/networks.hpp"

namespace orrery::sim {
namespace {

using test::exchange_of;
using test::fat_tree_of;
using test::stage_of;
using test::star_of;
using test::transfer_of;

double alone_s(const scenarios::NetworkSpec& spec, std::int32_t nodes, Exchange exchange) {
  return exchange_alone_s(Topology(spec, nodes), stage_of(1, 0, std::move(exchange)));
}

TEST(ExchangeAlone, RingSendsItsShareOnEachLink) {
  const double s = alone_s(star_of(100), 4, exchange_of(Pattern::Ring, {0, 1, 2, 3}, 1000));
  EXPECT_DOUBLE_EQ(s, 2 * 3.0 / 4 * 1000 / 100);
}

TEST(ExchangeAlone, RingWaitsForEachOfItsRounds) {
  scenarios::NetworkSpec spec = star_of(100);
  spec.latency = Duration::milliseconds(10);
  const double s = alone_s(spec, 4, exchange_of(Pattern::Ring, {0, 1, 2, 3}, 1000));
  EXPECT_DOUBLE_EQ(s, 2 * 3.0 / 4 * 1000 / 100 + 2 * 3 * 2 * 0.010);
}

TEST(ExchangeAlone, TreeIsAsSlowAsAParentOfTwo) {
  const double s =
      alone_s(star_of(100), 7, exchange_of(Pattern::Tree, {0, 1, 2, 3, 4, 5, 6}, 1000));
  // A node within has two children and a parent: three times the bytes, both ways.
  EXPECT_DOUBLE_EQ(s, 30);
}

TEST(ExchangeAlone, BroadcastSendsTwiceFromAParent) {
  EXPECT_DOUBLE_EQ(alone_s(star_of(100), 3, exchange_of(Pattern::Broadcast, {0, 1, 2}, 1000)), 20);
}

TEST(ExchangeAlone, ChainAndAllToAll) {
  EXPECT_DOUBLE_EQ(alone_s(star_of(100), 3, exchange_of(Pattern::Chain, {0, 1, 2}, 1000)), 20);
  EXPECT_DOUBLE_EQ(alone_s(star_of(100), 3, exchange_of(Pattern::AllToAll, {0, 1, 2}, 1000)), 20);
}

TEST(ExchangeAlone, FewerThanTwoMembersExchangeNothing) {
  EXPECT_EQ(alone_s(star_of(100), 3, exchange_of(Pattern::Ring, {1}, 1000)), 0);
}

TEST(ExchangeAlone, RingAcrossLeavesOfAFatTree) {
  // One spine; both edges that leave leaf 0 go up its one link.
  const double across =
      alone_s(fat_tree_of(4, 4), 8, exchange_of(Pattern::Ring, {0, 4, 1, 5}, 1000));
  EXPECT_DOUBLE_EQ(across, 2 * 1500.0 / 100);
  const double along =
      alone_s(fat_tree_of(4, 4), 8, exchange_of(Pattern::Ring, {0, 1, 4, 5}, 1000));
  EXPECT_DOUBLE_EQ(along, 1500.0 / 100);
}

TEST(ExchangeAlone, ExchangesOfOneStepShareTheirLinks) {
  Stage stage = stage_of(1, 0, transfer_of(NodeId(0), NodeId(1), 1000));
  stage.exchanges.push_back(transfer_of(NodeId(0), NodeId(2), 500));
  EXPECT_DOUBLE_EQ(exchange_alone_s(Topology(star_of(100), 3), stage), 15);
}

TEST(ExchangeAlone, StorageIsSharedByAllWriters) {
  scenarios::NetworkSpec spec = star_of(100);
  spec.storage_bandwidth = 50;
  Exchange exchange = transfer_of(NodeId(0), NodeId::none(), 1000);
  exchange.transfers.push_back({NodeId(1), NodeId::none(), 1000});
  EXPECT_DOUBLE_EQ(alone_s(spec, 2, exchange), 40);
}

TEST(ExchangeAlone, WithoutABandwidthTheStorageLeavesTheRestOfTheWay) {
  Exchange exchange = transfer_of(NodeId(0), NodeId::none(), 1000);
  exchange.transfers.push_back({NodeId(1), NodeId::none(), 3000});
  EXPECT_DOUBLE_EQ(alone_s(star_of(100), 2, exchange), 30);
  // Both leaves send by the one spine that leads to the storage.
  Exchange far = transfer_of(NodeId(0), NodeId::none(), 1000);
  far.transfers.push_back({NodeId(2), NodeId::none(), 3000});
  EXPECT_DOUBLE_EQ(alone_s(test::fat_tree_of(2, 1), 4, far), 30);
  scenarios::NetworkSpec torus = star_of(100);
  torus.topology = scenarios::NetworkTopology::Torus;
  torus.torus = {2};
  torus.link_bandwidth = 50;
  EXPECT_DOUBLE_EQ(alone_s(torus, 2, exchange), 60);
}

TEST(ExchangeAlone, StorageBesideATorusLimitsEachTransfer) {
  scenarios::NetworkSpec spec = star_of(100);
  spec.topology = scenarios::NetworkTopology::Torus;
  spec.torus = {2};
  spec.link_bandwidth = 50;
  spec.storage_bandwidth = 1000;
  EXPECT_DOUBLE_EQ(alone_s(spec, 2, transfer_of(NodeId(0), NodeId::none(), 1000)), 20);
}

TEST(ExchangeLoads, CountsFlowsAndForgetsTheLastStage) {
  const Topology topology(star_of(100), 3);
  ExchangeLoads loads(topology);
  loads.of(stage_of(1, 0, exchange_of(Pattern::AllToAll, {0, 1, 2}, 10)));
  const auto& again = loads.of(stage_of(1, 0, transfer_of(NodeId(2), NodeId(1), 7)));
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(topology.link_name(again[0].link), "node 2 up");
  EXPECT_EQ(again[0].flows, 1U);
  EXPECT_EQ(again[0].bytes, 7);
}

TEST(StepWithExchange, HidesWhatOverlaps) {
  Stage stage = stage_of(1, 3, {});
  stage.local_exchange_s = 1;
  stage.overlap = 0.5;
  EXPECT_DOUBLE_EQ(step_with_exchange_s(stage, 3), 3 + 4 - 2.0);
  EXPECT_DOUBLE_EQ(step_with_exchange_s(stage, 9), 10.0);
}

}  // namespace
}  // namespace orrery::sim
