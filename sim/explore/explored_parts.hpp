// The parts of an explored world beside its leaders: nodes, connections, and everything else.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/base/bytes.hpp"
#include "sim/agents/messages.hpp"
#include "sim/agents/node_host.hpp"
#include "sim/explore/bounds.hpp"
#include "sim/explore/choice.hpp"

namespace orrery::sim {

/// A process whose end its agent has not heard of.
struct UnseenEnd {
  WorkerName worker;
  std::int32_t exit_code = 0;
};

/// One node: agent, fence and processes, and what is on its way inside it.
struct ExploredNode {
  NodeHost host;
  std::deque<UnseenEnd> unseen;  ///< For the agent, in their order.
  std::set<WorkerName> asked;    ///< Processes that were asked to end.
  LeaderNumber following;        ///< Whose connection its agent has; 0: it has none.
  bool late = false;             ///< What is due now waits until the next second.

  void save(ByteWriter& out) const;
};

/// One message on its way.
using InFlight = std::shared_ptr<const Message>;

/// The connection of one leader and one node: two streams. Broken, nothing more goes in, and each
/// end takes out what has come that far until it notices.
struct ExploredLink {
  LeaderNumber leader;  ///< Of the life whose connection it is; 0: there is none.
  bool broken = true;
  bool node_end = false;  ///< The agent reads from it.
  std::deque<InFlight> to_node;
  std::deque<InFlight> to_leader;

  void save(ByteWriter& out) const;
};

/// A client with one job.
struct ExploredClient {
  LeaderNumber asked;              ///< Whom it asked last; 0: nobody yet.
  JobId accepted = JobId::none();  ///< What it was told.
  bool stopped = false;            ///< It was told that its job is stopped.
};

/// The clock, what of the bounds is used up, the clients, and what is held up.
struct ExploredRest {
  Instant now;
  LeaderNumber started;  ///< How many leaders there have been.
  std::uint32_t losses = 0;
  std::uint32_t crashes = 0;
  std::uint32_t exits = 0;
  std::uint32_t stops = 0;
  std::uint32_t late = 0;
  std::uint32_t resends = 0;
  std::uint32_t delays = 0;
  std::vector<ExploredClient> clients;
  std::vector<Choice> held;  ///< Ascending.

  void save(ByteWriter& out) const;
};

}  // namespace orrery::sim
