// The messages of one step's exchanges, and which of them waits for which: what level L3 executes
// one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.hpp"
#include "sim/fabric/stage.hpp"

namespace orrery::sim {

/// One message. It is sent when `waits_for` others have arrived.
struct PlannedMessage {
  NodeId from;  ///< `NodeId::none()` is the cluster's storage.
  NodeId to;
  double bytes = 0;             ///< Above 0.
  std::uint32_t waits_for = 0;  ///< How many.
  std::uint32_t round = 0;      ///< One more than the latest of those, from 0.
  std::uint32_t then = 0;       ///< Begin of those that wait for it, in `MessagePlan::then`.
  std::uint32_t then_end = 0;
};

/// Each message stands after all that it waits for.
struct MessagePlan {
  std::vector<PlannedMessage> messages;
  std::vector<std::uint32_t> then;

  std::uint32_t rounds() const;
};

/// The messages of exchanges that go on at the same time.
///
/// Ring: an all-reduce in 2 (N - 1) rounds of `bytes` / N from each member to the next; a member
/// sends when what it passes on has come and its last message has arrived (Patarasuk and Yuan,
/// "Bandwidth optimal all-reduce algorithms", 2009). Tree: up a binary tree and down again, a
/// member when all below it, or the one above it, have sent. Broadcast: down only. Chain: forth,
/// and back when the last member has it. Exchange i of those three goes in `pieces[i]` pieces of
/// equal size, at least 1, the next on an edge when the one before has arrived. AllToAll: N - 1
/// rounds, in round r from member i to i + r. Transfers: all at once.
MessagePlan plan_messages(const std::vector<Exchange>& exchanges,
                          const std::vector<std::uint32_t>& pieces);

/// In how many pieces the exchange is through the soonest, 1 to `most`. Of r rounds as a whole it
/// takes r + p - 1 in p pieces, each one latency and a p-th of the time that the whole takes on an
/// edge: least where p is the root of (r - 1) x that time / latency. 1 for what goes in no pieces.
std::uint32_t best_pieces(const Exchange& exchange,
                          double bandwidth,
                          double latency_s,
                          std::uint32_t most);

}  // namespace orrery::sim
