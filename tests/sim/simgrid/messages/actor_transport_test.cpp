// Control messages between SimGrid's actors: when they arrive, in which order, beside what.
#include "sim/simgrid/actor_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "sim/simgrid/message_fabric.hpp"

namespace orrery::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr double kBandwidth = 1e9;
constexpr double kLatency = 5e-6;  // Of a link.

Instant at(double seconds) { return Instant::zero() + Duration::from_seconds(seconds); }

class ActorTransportTest : public testing::Test {
 protected:
  void make(std::int64_t nodes, double storage_bandwidth = 10 * kBandwidth, bool torus = false) {
    scenarios::NetworkSpec network;
    if (torus) {
      network.topology = scenarios::NetworkTopology::Torus;
      network.torus = {static_cast<std::int32_t>(nodes)};
    }
    network.nic_bandwidth = kBandwidth;
    network.latency = Duration::from_seconds(kLatency);
    network.storage_bandwidth = storage_bandwidth;
    Result<Platform> made = Platform::make(engine_, network, nodes);
    ASSERT_TRUE(made) << made.errors()[0].text();
    platform_ = std::make_unique<Platform>(std::move(made).value());
    transport_ = std::make_unique<ActorTransport>(clock_, *platform_);
    Platform::Route route;
    platform_->find_route(NodeId{1}, NodeId::none(), route);
    way_s_ = route.latency;
  }

  std::vector<std::uint32_t> wait(Instant limit = at(1'000)) {
    const Instant next = transport_->next(limit);
    now_ = std::min(next, limit);
    std::vector<std::uint32_t> numbers;
    transport_->take_arrived(now_, numbers);
    return numbers;
  }

  SimGridEngine engine_{{"contexts/stack-size:64"}};
  MessageClock clock_{engine_};
  std::unique_ptr<Platform> platform_;
  std::unique_ptr<ActorTransport> transport_;
  double way_s_ = 0;
  Instant now_;
};

TEST_F(ActorTransportTest, AMessageTakesTheLatencyOfItsWayAndItsBytes) {
  make(3);
  EXPECT_TRUE(transport_->next(Instant::never()).is_never());
  transport_->send(7, NodeId{1}, Way::FromNode, 1'000'000, at(10));
  EXPECT_THAT(wait(at(10.0005)), IsEmpty());
  EXPECT_THAT(wait(), ElementsAre(7));
  EXPECT_NEAR((now_ - at(10)).in_seconds(), way_s_ + 1e-3, 1e-8);
  EXPECT_TRUE(transport_->next(Instant::never()).is_never());
  transport_->send(0, NodeId{2}, Way::ToNode, 64, now_);
  const Instant sent = now_;
  EXPECT_THAT(wait(), ElementsAre(0));
  EXPECT_NEAR((now_ - sent).in_seconds(), way_s_ + 64e-9, 1e-8);
}

TEST_F(ActorTransportTest, MessagesOfOneWayArriveInTheOrderInWhichTheyWereSent) {
  make(2);
  // The long one is still under way when the short ones are there.
  transport_->send(1, NodeId{1}, Way::FromNode, 1'000'000, at(1));
  transport_->send(2, NodeId{1}, Way::FromNode, 64, at(1));
  transport_->send(3, NodeId{1}, Way::FromNode, 64, at(1.0001));
  std::vector<std::uint32_t> order;
  while (order.size() < 3)
    for (const std::uint32_t number : wait()) order.push_back(number);
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_NEAR((now_ - at(1)).in_seconds(), 1e-3, 0.1e-3);
}

TEST_F(ActorTransportTest, WhatTakesNoTimeAfterItsLatencyIsNotLate) {
  // The way from the controllers into a torus is their link alone.
  make(4, 1e15, true);
  transport_->send(1, NodeId{1}, Way::FromNode, 64, at(1));
  EXPECT_THAT(wait(at(100)), ElementsAre(1));
  EXPECT_NEAR((now_ - at(1)).in_seconds(), way_s_, 1e-8);
}

TEST_F(ActorTransportTest, HeartbeatsOfAllNodesTravelAtOnce) {
  make(100);
  for (std::uint32_t n = 0; n < 100; ++n) transport_->send(n, NodeId{n}, Way::FromNode, 96, at(5));
  std::vector<std::uint32_t> order;
  while (order.size() < 100)
    for (const std::uint32_t number : wait()) order.push_back(number);
  for (std::uint32_t n = 0; n < 100; ++n) EXPECT_EQ(order[n], n);
  EXPECT_LT((now_ - at(5)).in_seconds(), way_s_ + 2 * 100 * 96 / kBandwidth);
  EXPECT_TRUE(transport_->next(Instant::never()).is_never());
}

TEST_F(ActorTransportTest, TheLargestClusterHasItsActors) {
#if defined(__SANITIZE_THREAD__)
  // Each actor's stack has a guard page, and the sanitizer memory beside it: more mappings in all
  // than the system allows a process.
  GTEST_SKIP() << "the thread sanitizer leaves too few mappings for so many stacks";
#endif
  make(ActorTransport::kNodesMax);
  for (const std::uint32_t n : {0u, 8'191u}) transport_->send(n, NodeId{n}, Way::ToNode, 64, at(1));
  EXPECT_THAT(wait(), UnorderedElementsAre(0, 8'191));
}

TEST_F(ActorTransportTest, ATransportTakesItsActorsWithIt) {
  make(3);
  transport_->send(1, NodeId{1}, Way::FromNode, 64, at(1));
  transport_.reset();
  EXPECT_EQ(engine_.simgrid().get_actor_count(), 0u);
  transport_ = std::make_unique<ActorTransport>(clock_, *platform_);
  transport_->send(2, NodeId{2}, Way::FromNode, 64, at(2));
  EXPECT_THAT(wait(), ElementsAre(2));
}

TEST_F(ActorTransportTest, TheWorldIsToldAtTheDateOfTheArrivalAndNotOfTheNextEvent) {
  make(4);
  MessageFabric fabric(clock_, *platform_, {});
  // A flow between other nodes ends a moment after the message arrives.
  Stage stage;
  stage.exchanges.emplace_back();
  stage.exchanges[0].transfers = {{NodeId{2}, NodeId{3}, 10'000}};
  const StageId flow = fabric.begin(stage, at(1));
  transport_->send(5, NodeId{1}, Way::FromNode, 5'000, at(1));
  // Whichever is asked first, none is passed by.
  const Instant arrives = fabric.next(at(100));
  EXPECT_NEAR((arrives - at(1)).in_seconds(), way_s_ + 5e-6, 1e-8);
  std::vector<StageId> complete;
  fabric.pass_to(arrives, complete);
  EXPECT_THAT(complete, IsEmpty());
  EXPECT_EQ(transport_->next(at(100)), arrives);
  std::vector<std::uint32_t> numbers;
  transport_->take_arrived(arrives, numbers);
  EXPECT_THAT(numbers, ElementsAre(5));
  const Instant ends = fabric.next(at(100));
  EXPECT_NEAR((ends - at(1)).in_seconds(), 2 * kLatency + 10e-6, 1e-8);
  fabric.pass_to(ends, complete);
  EXPECT_THAT(complete, ElementsAre(flow));
}

TEST_F(ActorTransportTest, AfterMonthsTimeStillPasses) {
  make(3);
  MessageFabric fabric(clock_, *platform_, {});
  // Doubles near so many seconds are 1.9e-9 apart: further than a nanosecond.
  const double late_s = 1e7 + 0.123456789;
  transport_->send(1, NodeId{1}, Way::FromNode, 64, at(late_s));
  EXPECT_THAT(wait(at(2 * late_s)), ElementsAre(1));
  EXPECT_NEAR((now_ - at(late_s)).in_seconds(), way_s_ + 64 / kBandwidth, 1e-8);
  Stage stage;
  stage.compute_s = 0.1;
  stage.steps = 50;
  stage.exchanges.emplace_back();
  stage.exchanges[0].transfers = {{NodeId{1}, NodeId{2}, 1e6}};
  const StageId id = fabric.begin(stage, now_);
  const Instant ends = fabric.next(at(2 * late_s));
  EXPECT_NEAR((ends - now_).in_seconds(), 50 * (0.1 + 1e-3 + 2 * kLatency), 1e-6);
  std::vector<StageId> complete;
  fabric.pass_to(ends, complete);
  EXPECT_THAT(complete, ElementsAre(id));
}

TEST_F(ActorTransportTest, MessagesShareLinksWithTheFlowsOfJobs) {
  make(3);
  MessageFabric fabric(clock_, *platform_, {});
  Stage stage;
  stage.exchanges.emplace_back();
  stage.exchanges[0].transfers = {{NodeId{1}, NodeId{2}, 1e9}};
  (void)fabric.begin(stage, at(0));
  transport_->send(5, NodeId{1}, Way::FromNode, 1'000'000, at(0.5));
  EXPECT_THAT(wait(), ElementsAre(5));
  EXPECT_NEAR((now_ - at(0.5)).in_seconds(), way_s_ + 2e-3, 1e-6) << "half of the link is left";
}

TEST_F(ActorTransportTest, AMessageSentWhileTheFlowRunsOnIsNotLate) {
  make(3);
  MessageFabric fabric(clock_, *platform_, {});
  Stage stage;
  stage.exchanges.emplace_back();
  stage.exchanges[0].transfers = {{NodeId{1}, NodeId{2}, 1e9}};
  const StageId flow = fabric.begin(stage, at(0));
  EXPECT_EQ(fabric.next(at(0.25)), at(0.25));
  EXPECT_TRUE(transport_->next(at(0.25)).is_never());
  transport_->send(1, NodeId{0}, Way::ToNode, 64, at(0.25));
  EXPECT_THAT(wait(), ElementsAre(1));
  EXPECT_NEAR((now_ - at(0.25)).in_seconds(), way_s_, 1e-6);
  fabric.end(flow, now_);
  EXPECT_TRUE(fabric.next(Instant::never()).is_never());
}

}  // namespace
}  // namespace orrery::sim
