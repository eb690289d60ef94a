#include "sim/agents/network.hpp"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

using scenarios::Fault;
using scenarios::FaultKind;
using scenarios::LinkDirection;

constexpr NodeId kNode{1};
constexpr Duration kLatency = NetworkSettings{}.latency;
constexpr Duration kJitter = NetworkSettings{}.jitter;

Instant at(double seconds) { return Instant::zero() + Duration::from_seconds(seconds); }

Fault fault_of(FaultKind kind) {
  Fault fault;
  fault.kind = kind;
  fault.nodes = {kNode};
  return fault;
}

class NetworkTest : public ::testing::Test {
 protected:
  MessageFate send(NodeId node = kNode, Way way = Way::ToNode, std::size_t bytes = 100) {
    return network_.send(node, way, bytes, at(1), stream_);
  }

  Network network_{7, 3, NetworkSettings{}};
  MessageStream stream_;
};

TEST_F(NetworkTest, AMessageTakesTheLatencyAndItsJitter) {
  for (int i = 0; i < 100; ++i) {
    stream_ = {};
    const MessageFate fate = send();
    EXPECT_GE(fate.arrives, at(1) + kLatency);
    EXPECT_LE(fate.arrives, at(1) + kLatency + kJitter + Duration::milliseconds(1));
    EXPECT_TRUE(fate.arrives_again.is_never());
  }
}

TEST_F(NetworkTest, MessagesOfOneStreamKeepTheirOrder) {
  Instant last;
  for (int i = 0; i < 100; ++i) {
    const MessageFate fate = send();
    EXPECT_GE(fate.arrives, last);
    last = fate.arrives;
  }
}

TEST_F(NetworkTest, ReorderingLetsThemOvertake) {
  Fault fault = fault_of(FaultKind::Reordering);
  fault.window = Duration::seconds(1);
  (void)network_.begin(fault);
  bool overtaken = false;
  Instant last;
  for (int i = 0; i < 100; ++i) {
    const MessageFate fate = send();
    overtaken = overtaken || fate.arrives < last;
    last = fate.arrives;
  }
  EXPECT_TRUE(overtaken);
}

TEST_F(NetworkTest, ACutHasADirectionAndAnEnd) {
  Fault fault = fault_of(FaultKind::LinkCut);
  fault.direction = LinkDirection::ToNode;
  const std::size_t cut = network_.begin(fault);
  EXPECT_TRUE(send().arrives.is_never());
  EXPECT_FALSE(send(kNode, Way::FromNode).arrives.is_never());
  EXPECT_FALSE(send(NodeId{0}).arrives.is_never()) << "only the named node is cut off";
  fault.nodes.clear();
  const std::size_t all = network_.begin(fault);
  network_.end(cut);
  EXPECT_TRUE(send().arrives.is_never()) << "another cut goes on";
  EXPECT_TRUE(send(NodeId{0}).arrives.is_never()) << "no names: every node";
  network_.end(all);
  EXPECT_FALSE(send().arrives.is_never());
  EXPECT_EQ(network_.lost(), 3U);
}

TEST_F(NetworkTest, LossAndDuplicationFollowTheirRates) {
  Fault loss = fault_of(FaultKind::Loss);
  loss.rate = 0.5;
  Fault twice = fault_of(FaultKind::Duplication);
  twice.rate = 0.5;
  (void)network_.begin(loss);
  (void)network_.begin(twice);
  int arrived = 0;
  int again = 0;
  for (int i = 0; i < 1000; ++i) {
    const MessageFate fate = send();
    arrived += fate.arrives.is_never() ? 0 : 1;
    again += fate.arrives_again.is_never() ? 0 : 1;
  }
  EXPECT_NEAR(arrived, 500, 80);
  EXPECT_NEAR(again, 250, 60);
}

TEST_F(NetworkTest, BandwidthStretchesLongMessagesAndLatencyAll) {
  Fault slow = fault_of(FaultKind::Bandwidth);
  slow.factor = 0.001;
  Fault far = fault_of(FaultKind::Latency);
  far.added = Duration::seconds(2);
  (void)network_.begin(slow);
  (void)network_.begin(far);
  const MessageFate fate = send(kNode, Way::ToNode, 125'000);
  EXPECT_GE(fate.arrives, at(4)) << "2 s of latency, and 1 s for 125 kB at 125 kB/s";
}

TEST(Network, EqualSeedsGiveEqualTimes) {
  Network a(3, 1, NetworkSettings{});
  Network b(3, 1, NetworkSettings{});
  MessageStream of_a;
  MessageStream of_b;
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(a.send(NodeId{0}, Way::ToNode, 10, at(i), of_a).arrives,
              b.send(NodeId{0}, Way::ToNode, 10, at(i), of_b).arrives);
}

}  // namespace
}  // namespace orrery::sim
