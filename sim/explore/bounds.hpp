// How much of everything an exploration may try.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/units.hpp"
#include "core/job/job_enums.hpp"
#include "core/plan/policy.hpp"

namespace orrery::sim {

inline constexpr std::uint32_t kExploredNodesMax = 3;
inline constexpr std::uint32_t kExploredLeadersMax = 2;  ///< At a time.

/// The bounds of one exploration. Within them everything is tried.
struct ExploreBounds {
  std::uint32_t nodes = 2;    ///< 1 to 3, each with one agent and one device.
  std::uint32_t leaders = 1;  ///< Lives of leaders, 1 to 9; at most two live at a time.
  std::uint32_t jobs = 1;     ///< Submissions, 1 to 3, each by a client of its own.
  std::uint32_t workers = 1;  ///< Of each job, 1 to 3, each on a device of its own.
  std::uint32_t seconds = 3;  ///< So far may time go on; leases last five seconds.
  std::uint32_t losses = 0;   ///< Connections that break, with what is under way on them.
  std::uint32_t crashes = 0;  ///< Of agents and machines, and of leaders with what of their records
                              ///< is not durable.
  std::uint32_t exits = 0;    ///< Workers that end by themselves, well or not.
  std::uint32_t stops = 0;    ///< Requests to stop a job.
  std::uint32_t late = 0;     ///< Timers of agents and fences that come a second late.
  RecoveryScope recovery = RecoveryScope::Worker;  ///< Of each job.
  std::uint32_t resends = 0;  ///< Submissions that a client repeats although one is under way.
  /// Things that may be held up, for as long as one likes; what is not held up happens in one fixed
  /// order. None: everything happens in every order.
  std::optional<std::uint32_t> delays;
  std::uint32_t depth = UINT32_MAX;  ///< Steps from the beginning on.
  std::uint64_t states = 1'000'000;  ///< Different ones, after which it is cut short.
};

/// Times of the explored world: a lease that ends three seconds after the heartbeat that renewed it
/// left, and silence after five.
inline constexpr Duration kExploredLease = Duration::seconds(5);
inline constexpr Duration kExploredMargin = Duration::seconds(2);
inline constexpr Duration kExploredGrace = Duration::seconds(1);
inline constexpr Duration kExploredTick = Duration::seconds(1);

/// Makes the policy of one plan: it keeps nothing from one to the next.
using ExploredPolicy = std::function<std::unique_ptr<Policy>()>;

}  // namespace orrery::sim
