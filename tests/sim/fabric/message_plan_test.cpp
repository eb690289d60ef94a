// What the messages of a step are, and in which order they may go.
#include "sim/fabric/message_plan.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace orrery::sim {
namespace {

/// Every exchange in as many pieces.
MessagePlan planned(const std::vector<Exchange>& exchanges, std::uint32_t pieces) {
  return plan_messages(exchanges, std::vector<std::uint32_t>(exchanges.size(), pieces));
}

using Edge = std::pair<std::uint32_t, std::uint32_t>;

Exchange exchange_of(Pattern pattern, std::uint32_t members, double bytes) {
  Exchange exchange;
  exchange.pattern = pattern;
  for (std::uint32_t n = 0; n < members; ++n) exchange.members.push_back(NodeId{10 + n});
  exchange.bytes = bytes;
  return exchange;
}

std::map<Edge, double> bytes_by_edge(const MessagePlan& plan) {
  std::map<Edge, double> bytes;
  for (const PlannedMessage& message : plan.messages)
    bytes[{message.from.value, message.to.value}] += message.bytes;
  return bytes;
}

std::map<Edge, double> bytes_by_edge(const std::vector<Transfer>& transfers) {
  std::map<Edge, double> bytes;
  for (const Transfer& transfer : transfers)
    bytes[{transfer.from.value, transfer.to.value}] += transfer.bytes;
  return bytes;
}

/// Sends everything in rounds of one time each, and tells how many it takes.
std::uint32_t play(const MessagePlan& plan) {
  std::vector<std::uint32_t> waits;
  std::vector<std::uint32_t> ready;
  for (const PlannedMessage& message : plan.messages) {
    if (message.waits_for == 0) ready.push_back(static_cast<std::uint32_t>(waits.size()));
    waits.push_back(message.waits_for);
  }
  std::size_t arrived = 0;
  std::uint32_t rounds = 0;
  while (!ready.empty()) {
    std::vector<std::uint32_t> next;
    std::set<Edge> busy;
    for (const std::uint32_t m : ready) {
      const PlannedMessage& message = plan.messages[m];
      EXPECT_EQ(message.round, rounds);
      EXPECT_TRUE(busy.insert({message.from.value, message.to.value}).second)
          << "two messages on one edge at once";
      ++arrived;
      for (std::uint32_t t = message.then; t < message.then_end; ++t)
        if (--waits[plan.then[t]] == 0) next.push_back(plan.then[t]);
    }
    ready = std::move(next);
    ++rounds;
  }
  EXPECT_EQ(arrived, plan.messages.size()) << "some message waits for ever";
  EXPECT_EQ(rounds, plan.rounds());
  return rounds;
}

TEST(MessagePlan, EveryPatternCarriesTheBytesThatItsTransfersSay) {
  for (const Pattern pattern :
       {Pattern::Ring, Pattern::Tree, Pattern::Broadcast, Pattern::Chain, Pattern::AllToAll}) {
    for (const std::uint32_t members : {1u, 2u, 3u, 4u, 7u, 8u, 17u}) {
      for (const std::uint32_t pieces : {1u, 5u}) {
        SCOPED_TRACE(std::string(to_string(pattern)) + " of " + std::to_string(members));
        const Exchange exchange = exchange_of(pattern, members, 840);
        const MessagePlan plan = planned({exchange}, pieces);
        const auto sent = bytes_by_edge(plan);
        const auto meant = bytes_by_edge(transfers_of(exchange));
        ASSERT_EQ(sent.size(), meant.size());
        for (const auto& [edge, bytes] : meant) EXPECT_NEAR(sent.at(edge), bytes, 1e-9);
        play(plan);
      }
    }
  }
}

TEST(MessagePlan, RoundsAreThoseOfTheClosedForms) {
  EXPECT_EQ(play(planned({exchange_of(Pattern::Ring, 8, 1)}, 4)), 14u);
  EXPECT_EQ(play(planned({exchange_of(Pattern::AllToAll, 8, 1)}, 4)), 7u);
  // Seven members stand in three levels: two edges up, and two down.
  EXPECT_EQ(play(planned({exchange_of(Pattern::Tree, 7, 1)}, 1)), 4u);
  EXPECT_EQ(play(planned({exchange_of(Pattern::Tree, 7, 1)}, 6)), 9u);
  EXPECT_EQ(play(planned({exchange_of(Pattern::Broadcast, 7, 1)}, 1)), 2u);
  EXPECT_EQ(play(planned({exchange_of(Pattern::Broadcast, 7, 1)}, 6)), 7u);
  EXPECT_EQ(play(planned({exchange_of(Pattern::Chain, 4, 1)}, 1)), 6u);
}

TEST(MessagePlan, ARingMemberPassesOnWhatItWasSent) {
  const MessagePlan plan = planned({exchange_of(Pattern::Ring, 3, 30)}, 1);
  ASSERT_EQ(plan.messages.size(), 12u);
  for (const PlannedMessage& message : plan.messages) {
    EXPECT_EQ(message.bytes, 10);
    EXPECT_EQ(message.waits_for, message.round == 0 ? 0u : 2u);
  }
}

TEST(MessagePlan, TransfersGoAtOnceAndThoseOfNothingAreLeftOut) {
  Exchange exchange;
  exchange.transfers = {{NodeId{1}, NodeId::none(), 5},
                        {NodeId{1}, NodeId{1}, 5},
                        {NodeId{2}, NodeId{1}, 0},
                        {NodeId::none(), NodeId{2}, 7}};
  const MessagePlan plan = planned({exchange}, 3);
  ASSERT_EQ(plan.messages.size(), 2u);
  EXPECT_EQ(plan.rounds(), 1u);
  EXPECT_EQ(plan.messages[1].to, NodeId{2});
}

TEST(MessagePlan, PiecesWeighTheirLatencyAgainstTheTimeToFillTheTree) {
  const auto rounds_s = [](const Exchange& exchange, double edge_s, double latency_s, double p) {
    const double whole = planned({exchange}, 1).rounds();
    return (whole + p - 1) * (edge_s / p + latency_s);
  };
  for (const std::uint32_t members : {3u, 8u, 31u}) {
    for (const double latency_s : {1e-6, 1e-4, 1e-2}) {
      const Exchange exchange = exchange_of(Pattern::Broadcast, members, 1e9);
      const std::uint32_t best = best_pieces(exchange, 100e9, latency_s, 4'000);
      const double edge_s = 2 * 1e9 / 100e9;
      for (const double other : {std::max(1.0, best / 2.0), best * 2.0})
        EXPECT_LE(rounds_s(exchange, edge_s, latency_s, best),
                  rounds_s(exchange, edge_s, latency_s, other));
    }
  }
  EXPECT_EQ(best_pieces(exchange_of(Pattern::Tree, 8, 1e9), 1e9, 0, 32), 32u);
  EXPECT_EQ(best_pieces(exchange_of(Pattern::Tree, 8, 10), 1e9, 1, 32), 1u);
  EXPECT_EQ(best_pieces(exchange_of(Pattern::Tree, 2, 1e9), 1e9, 1e-6, 32), 32u);
  EXPECT_EQ(best_pieces(exchange_of(Pattern::Broadcast, 2, 1e9), 1e9, 1e-6, 32), 1u);
  EXPECT_EQ(best_pieces(exchange_of(Pattern::Ring, 8, 1e9), 1e9, 1e-6, 32), 1u);
}

TEST(MessagePlan, ExchangesOfOneStepDoNotWaitForEachOther) {
  const MessagePlan plan =
      planned({exchange_of(Pattern::Ring, 4, 4), exchange_of(Pattern::Broadcast, 3, 4)}, 1);
  EXPECT_EQ(plan.messages.size(), 24u + 2u);
  EXPECT_EQ(plan.rounds(), 6u);
}

}  // namespace
}  // namespace orrery::sim
