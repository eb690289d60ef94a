// What an agent tells its controller at regular times: the complete list of its workers.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/event.hpp"

namespace orrery {

/// The complete list of what a node runs. Latest wins: a later one makes all earlier ones void.
struct Heartbeat {
  NodeId node;
  Epoch epoch;                ///< Newest epoch that the agent has seen.
  std::uint64_t session = 0;  ///< One life of the agent; a later life has a higher number.
  std::uint64_t number = 0;   ///< Counts up from 1 inside a session.
  Instant sent_at;            ///< On the agent's clock; the renewal echoes it.
  bool registers = false;     ///< First word of a session, of an epoch, or after self-fencing.
  std::vector<RunningWorker> workers;  ///< Ascending by job, generation, rank, incarnation.

  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

}  // namespace orrery
