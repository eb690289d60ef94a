// Short ways to write orders and events for agents.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "core/agent/agent.hpp"

namespace orrery {

inline Instant at(double seconds) { return Instant::zero() + Duration::from_seconds(seconds); }

/// The worker of `job` that was started as rank `n`: its first start unless told otherwise.
inline WorkerName worker(std::uint32_t job, std::uint32_t n, std::uint32_t incarnation = 1) {
  return {JobId{job}, Incarnation{incarnation}, Rank{n}};
}

/// As rank and local rank `rank` of the only role on node 0.
inline WorkerStart start_of(const WorkerName& name, std::uint32_t rank) {
  WorkerStart start;
  start.rank = Rank{rank};
  start.role = RoleIndex{0};
  start.local_rank = static_cast<std::int32_t>(rank);
  start.node = NodeId{0};
  start.incarnation = name.incarnation;
  start.birth_rank = name.birth_rank;
  return start;
}

/// Starts ranks 0 to `count` - 1 of generation `generation` on node 0.
inline StartWorkers start_ranks(std::uint32_t job,
                                std::uint32_t generation,
                                std::uint32_t count,
                                std::uint32_t incarnation = 1) {
  StartWorkers order{JobId{job}, Generation{generation}, count, {}};
  for (std::uint32_t i = 0; i < count; ++i)
    order.workers.push_back(start_of(worker(job, i, incarnation), i));
  return order;
}

inline StopWorkers stop_rank(std::uint32_t job,
                             std::uint32_t generation,
                             std::uint32_t rank,
                             Duration grace,
                             std::uint32_t incarnation = 1) {
  return {JobId{job},
          Generation{generation},
          grace,
          {{Rank{rank}, NodeId{0}, Incarnation{incarnation}}}};
}

inline CommandReceived command(CommandBody body, std::uint32_t epoch = 1) {
  CommandReceived event;
  event.command.epoch = Epoch{epoch};
  event.command.body = std::move(body);
  return event;
}

}  // namespace orrery
