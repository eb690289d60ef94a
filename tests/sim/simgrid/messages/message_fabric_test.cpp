// Level L3 against closed forms: how long collectives take when each of their messages is sent.
#include "sim/simgrid/message_fabric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace orrery::sim {
namespace message_fabric_tests {

using scenarios::NetworkSpec;
using scenarios::NetworkTopology;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr double kBandwidth = 1e9;

Instant at(double seconds) { return Instant::zero() + Duration::from_seconds(seconds); }

NetworkSpec star() {
  NetworkSpec network;
  network.nic_bandwidth = kBandwidth;
  network.latency = Duration{5'000};
  network.storage_bandwidth = kBandwidth;
  return network;
}

NetworkSpec fat_tree(double oversubscription) {
  NetworkSpec network = star();
  network.topology = NetworkTopology::FatTree;
  network.nodes_per_leaf = 4;
  network.oversubscription = oversubscription;
  network.link_bandwidth = kBandwidth;
  return network;
}

Exchange exchange_of(Pattern pattern, std::vector<std::uint32_t> members, double bytes) {
  Exchange exchange;
  exchange.pattern = pattern;
  for (const std::uint32_t n : members) exchange.members.push_back(NodeId{n});
  exchange.bytes = bytes;
  return exchange;
}

std::vector<std::uint32_t> first(std::uint32_t n) {
  std::vector<std::uint32_t> members(n);
  for (std::uint32_t i = 0; i < n; ++i) members[i] = i;
  return members;
}

Stage stage_of(Exchange exchange, double steps = 1) {
  Stage stage;
  stage.exchanges = {std::move(exchange)};
  stage.steps = steps;
  return stage;
}

class MessageFabricTest : public testing::Test {
 protected:
  void make(const NetworkSpec& network, std::int64_t nodes, std::uint32_t pieces = 1) {
    Result<Platform> made = Platform::make(engine_, network, nodes);
    ASSERT_TRUE(made) << made.errors()[0].text();
    platform_ = std::make_unique<Platform>(std::move(made).value());
    fabric_ = std::make_unique<MessageFabric>(
        clock_, *platform_, MessageFabric::Settings{.pieces = pieces});
  }

  double latency(std::uint32_t from, std::uint32_t to) {
    Platform::Route route;
    platform_->find_route(NodeId{from}, NodeId{to}, route);
    return route.latency;
  }

  /// The next completions; empty where nothing is complete until `limit`.
  std::vector<std::uint32_t> wait(Instant limit = Instant::never()) {
    std::vector<StageId> complete;
    now_ = fabric_->next(limit);
    fabric_->pass_to(now_, complete);
    std::vector<std::uint32_t> numbers;
    for (const StageId id : complete) numbers.push_back(id.value);
    return numbers;
  }

  /// Seconds that the stage takes from now on, alone.
  double time_of(const Stage& stage) {
    const Instant begun = now_;
    const StageId id = fabric_->begin(stage, now_);
    EXPECT_THAT(wait(), ElementsAre(id.value));
    const double took = (now_ - begun).in_seconds();
    EXPECT_NEAR(fabric_->step_alone_s(stage) * stage.steps, took, 0.01 * took)
        << "alone, a step takes as long as announced";
    return took;
  }

  SimGridEngine engine_;
  MessageClock clock_{engine_};
  std::unique_ptr<Platform> platform_;
  std::unique_ptr<MessageFabric> fabric_;
  Instant now_;
};

TEST_F(MessageFabricTest, ARingOnAStarTakesItsClosedForm) {
  make(star(), 16);
  for (const std::uint32_t n : {2u, 3u, 8u, 16u}) {
    const double bytes = 16e6;
    const double closed = 2 * (n - 1) * (bytes / n / kBandwidth + latency(0, 1));
    EXPECT_NEAR(
        time_of(stage_of(exchange_of(Pattern::Ring, first(n), bytes))), closed, 0.001 * closed)
        << n;
  }
}

TEST_F(MessageFabricTest, ARingOfSmallMessagesIsMadeOfLatency) {
  make(star(), 8);
  const double closed = 14 * (10 / kBandwidth + latency(0, 1));
  EXPECT_NEAR(time_of(stage_of(exchange_of(Pattern::Ring, first(8), 80))), closed, 0.01 * closed);
}

TEST_F(MessageFabricTest, ARingOnAFatTreeTakesItsClosedForm) {
  make(fat_tree(1), 16);
  // Rank by rank from leaf to leaf: one message crosses each uplink in a round.
  const double bytes = 16e6;
  const double closed = 30 * (bytes / 16 / kBandwidth + latency(3, 4));
  EXPECT_NEAR(
      time_of(stage_of(exchange_of(Pattern::Ring, first(16), bytes))), closed, 0.01 * closed);
}

TEST_F(MessageFabricTest, AScatteredRingOnAnOversubscribedFatTreeSharesUplinks) {
  make(fat_tree(4), 16);
  // One spine: all four nodes of a leaf send through one uplink.
  std::vector<std::uint32_t> scattered;
  for (std::uint32_t i = 0; i < 16; ++i) scattered.push_back(i % 4 * 4 + i / 4);
  const double bytes = 16e6;
  const double closed = 30 * (4 * bytes / 16 / kBandwidth + latency(0, 4));
  EXPECT_NEAR(
      time_of(stage_of(exchange_of(Pattern::Ring, scattered, bytes))), closed, 0.01 * closed);
}

TEST_F(MessageFabricTest, ATreeSentAsAWholeTakesItsLevels) {
  make(star(), 15);
  // Three levels of edges; a parent's link carries the messages of both its children.
  const double bytes = 10e6;
  const double closed = 2 * 3 * (2 * bytes / kBandwidth + latency(0, 1));
  EXPECT_NEAR(
      time_of(stage_of(exchange_of(Pattern::Tree, first(15), bytes))), closed, 0.01 * closed);
}

TEST_F(MessageFabricTest, ABroadcastSentAsAWholeTakesItsLevels) {
  make(star(), 15);
  const double bytes = 10e6;
  const double closed = 3 * (2 * bytes / kBandwidth + latency(0, 1));
  EXPECT_NEAR(
      time_of(stage_of(exchange_of(Pattern::Broadcast, first(15), bytes))), closed, 0.01 * closed);
}

TEST_F(MessageFabricTest, ABroadcastInPiecesFillsItsTree) {
  make(star(), 15, 16);
  // The root sends each piece twice; the last one has two more levels to go.
  const double bytes = 16e6;
  const double closed = (16 + 2) * (2 * bytes / 16 / kBandwidth + latency(0, 1));
  EXPECT_NEAR(
      time_of(stage_of(exchange_of(Pattern::Broadcast, first(15), bytes))), closed, 0.01 * closed);
}

TEST_F(MessageFabricTest, ALargeTreeInItsBestPiecesComesNearTheBandwidthOfItsLinks) {
  make(star(), 15, 0);
  const double bytes = 160e6;
  const double took = time_of(stage_of(exchange_of(Pattern::Tree, first(15), bytes)));
  // Three times the bytes through the link of an inner member, and the tree to fill: 5 of 32.
  EXPECT_GT(took, 3 * bytes / kBandwidth);
  EXPECT_LT(took, 3 * bytes / kBandwidth * (1 + 6.0 / 32));
}

TEST_F(MessageFabricTest, AllToAllAndChainTakeTheirRounds) {
  make(star(), 8);
  const double bytes = 5e6;
  const double one = bytes / kBandwidth + latency(0, 1);
  EXPECT_NEAR(
      time_of(stage_of(exchange_of(Pattern::AllToAll, first(8), bytes))), 7 * one, 0.01 * 7 * one);
  EXPECT_NEAR(
      time_of(stage_of(exchange_of(Pattern::Chain, first(8), bytes))), 14 * one, 0.01 * 14 * one);
}

TEST_F(MessageFabricTest, TransfersToTheStorageShareItsLink) {
  make(star(), 4);
  Exchange save;
  for (std::uint32_t n = 0; n < 4; ++n) save.transfers.push_back({NodeId{n}, NodeId::none(), 10e6});
  EXPECT_NEAR(time_of(stage_of(save)), 4 * 10e6 / kBandwidth, 0.01 * 0.04);
}

TEST_F(MessageFabricTest, WithoutABandwidthTheStorageSlowsNobody) {
  NetworkSpec network = star();
  network.storage_bandwidth = 0;
  make(network, 4);
  Exchange save;
  for (std::uint32_t n = 0; n < 4; ++n) save.transfers.push_back({NodeId{n}, NodeId::none(), 10e6});
  EXPECT_NEAR(time_of(stage_of(save)), 10e6 / kBandwidth, 0.01 * 0.01);
}

TEST_F(MessageFabricTest, WhatMayHideHidesBehindCompute) {
  make(star(), 4);
  const double exchange = 6 * (4e6 / 4 / kBandwidth + latency(0, 1));
  for (const double overlap : {0.0, 0.25, 0.5, 1.0}) {
    for (const double compute : {0.0, 1e-3, 4e-3, 20e-3}) {
      Stage stage = stage_of(exchange_of(Pattern::Ring, first(4), 4e6));
      stage.compute_s = compute;
      stage.overlap = overlap;
      const double closed = step_seconds(compute, exchange, overlap);
      EXPECT_NEAR(time_of(stage), closed, 0.01 * closed) << compute << " s, " << overlap;
    }
  }
}

TEST_F(MessageFabricTest, TheExchangeInsideNodesComesBeforeThatBetweenThem) {
  make(star(), 4);
  Stage stage = stage_of(exchange_of(Pattern::Ring, first(4), 4e6));
  stage.compute_s = 2e-3;
  stage.local_exchange_s = 5e-3;
  stage.overlap = 0.5;
  const double exchange = 5e-3 + 6 * (1e6 / kBandwidth + latency(0, 1));
  const double closed = step_seconds(2e-3, exchange, 0.5);
  EXPECT_NEAR(time_of(stage), closed, 0.01 * closed);
}

TEST_F(MessageFabricTest, StepsAreDoneOneByOneAndAPartOfOneToo) {
  make(star(), 2);
  Stage stage = stage_of(exchange_of(Pattern::Ring, first(2), 2e6), 3.5);
  stage.compute_s = 8e-3;
  const double step = 8e-3 + 2 * (1e6 / kBandwidth + latency(0, 1));
  const StageId id = fabric_->begin(stage, now_);
  double before = 0;
  for (int i = 1; i < 35; ++i) {
    EXPECT_THAT(wait(at(step * i / 10)), IsEmpty());
    const double done = fabric_->steps_done(id, now_);
    EXPECT_NEAR(done, i / 10.0, 0.06);
    EXPECT_GE(done, before);
    before = done;
  }
  EXPECT_NEAR(fabric_->pace(id), 1 / step, 0.01 / step);
  EXPECT_THAT(wait(), ElementsAre(id.value));
  EXPECT_NEAR(now_.in_seconds(), 3.5 * step, 0.01 * step);
}

TEST_F(MessageFabricTest, ANeighbourSlowsYouWhereYouShareALinkAndNowhereElse) {
  make(fat_tree(4), 16);
  const Stage stage = stage_of(exchange_of(Pattern::Ring, {0, 4}, 10e6), 10);
  const double alone = time_of(stage);
  const Instant begun = now_;
  const StageId mine = fabric_->begin(stage, now_);
  const StageId elsewhere =
      fabric_->begin(stage_of(exchange_of(Pattern::Ring, {8, 12}, 10e6), 10), now_);
  const StageId beside =
      fabric_->begin(stage_of(exchange_of(Pattern::Ring, {1, 5}, 10e6), 10), now_);
  EXPECT_THAT(wait(), ElementsAre(elsewhere.value));
  EXPECT_NEAR((now_ - begun).in_seconds(), alone, 0.001 * alone);
  EXPECT_THAT(wait(), UnorderedElementsAre(mine.value, beside.value));
  EXPECT_NEAR((now_ - begun).in_seconds(), 2 * alone, 0.01 * alone);
}

TEST_F(MessageFabricTest, AnEndedStageLeavesTheNetworkToOthers) {
  make(star(), 4);
  // Both send into node 1, each with half of its link until the one is gone.
  Exchange into;
  into.transfers = {{NodeId{0}, NodeId{1}, 10e6}};
  Exchange other;
  other.transfers = {{NodeId{2}, NodeId{1}, 10e6}};
  const StageId stays = fabric_->begin(stage_of(into), now_);
  const StageId goes = fabric_->begin(stage_of(other), now_);
  EXPECT_THAT(wait(at(10e-3)), IsEmpty());
  fabric_->end(goes, now_);
  // The number is used again, and the old one's messages are dropped.
  const StageId next = fabric_->begin(stage_of(exchange_of(Pattern::Ring, {2, 3}, 2e6), 100), now_);
  EXPECT_EQ(next, goes);
  EXPECT_THAT(wait(), ElementsAre(stays.value));
  EXPECT_NEAR(now_.in_seconds(), 15e-3, 0.1e-3);
  EXPECT_THAT(wait(), ElementsAre(next.value));
  EXPECT_NEAR(now_.in_seconds(), 10e-3 + 100 * 2 * (1e-3 + latency(2, 3)), 2e-3);
}

TEST_F(MessageFabricTest, ADegradedLinkSlowsWhoUsesIt) {
  make(star(), 4);
  const Stage stage = stage_of(exchange_of(Pattern::Ring, first(2), 20e6));
  const double whole = time_of(stage);
  fabric_->set_link_share(NodeId{0}, 0.25, now_);
  const StageId slow = fabric_->begin(stage, now_);
  const Instant begun = now_;
  EXPECT_THAT(wait(), ElementsAre(slow.value));
  EXPECT_NEAR((now_ - begun).in_seconds(), 4 * whole, 0.01 * whole);
  EXPECT_NEAR(time_of(stage_of(exchange_of(Pattern::Ring, {2, 3}, 20e6))), whole, 0.01 * whole);
  fabric_->set_link_share(NodeId{0}, 1, now_);
  EXPECT_NEAR(time_of(stage), whole, 0.01 * whole);
}

TEST_F(MessageFabricTest, WhatIsNotPacedIsSentAtOnceBesideTheCompute) {
  make(star(), 2);
  Exchange save;
  save.transfers = {{NodeId{0}, NodeId::none(), 30e6}};
  Stage stage = stage_of(save);
  stage.paced = false;
  stage.compute_s = 10e-3;
  for (const double overlap : {0.0, 0.5, 1.0}) {
    stage.overlap = overlap;
    const double closed = step_seconds(10e-3, 30e6 / kBandwidth + 2 * 5e-6, overlap);
    EXPECT_NEAR(time_of(stage), closed, 0.01 * closed);
  }
}

TEST_F(MessageFabricTest, AStageWithoutAnExchangeIsOneStretchOfTime) {
  make(star(), 2);
  Stage stage;
  stage.compute_s = 0.5;
  stage.local_exchange_s = 0.2;
  stage.overlap = 1;
  stage.steps = 1'000'000;
  const StageId id = fabric_->begin(stage, now_);
  EXPECT_THAT(wait(at(1'000)), IsEmpty());
  EXPECT_NEAR(fabric_->steps_done(id, now_), 2'000, 1e-6);
  EXPECT_THAT(wait(), ElementsAre(id.value));
  EXPECT_EQ(now_, at(500'000));
  EXPECT_EQ(fabric_->messages_sent(), 0u);
}

TEST_F(MessageFabricTest, LinksTellHowMuchOfThemIsInUse) {
  make(star(), 2);
  Exchange one_way;
  one_way.transfers = {{NodeId{0}, NodeId{1}, 10e6}};
  const StageId id = fabric_->begin(stage_of(one_way), now_);
  EXPECT_THAT(wait(at(5e-3)), IsEmpty());
  std::vector<double> shares;
  fabric_->link_use(shares);
  ASSERT_EQ(shares.size(), fabric_->link_names().size());
  EXPECT_EQ(std::count_if(shares.begin(), shares.end(), [](double s) { return s > 0.99; }), 2);
  fabric_->end(id, now_);
}

}  // namespace message_fabric_tests
}  // namespace orrery::sim
