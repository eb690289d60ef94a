// What an agent tells its controller at regular times: the complete list of its workers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/event.hpp"

namespace orrery {

/// The workers of one node, ascending by job, generation, rank, incarnation. Copies share one
/// immutable list, so that a quiet node's heartbeats cost no memory and compare at once.
class WorkerList {
 public:
  WorkerList() = default;

  // Implicit: a list is a list. Sorted here, so that no sender needs to be trusted.
  WorkerList(std::vector<RunningWorker> workers);

  WorkerList(std::initializer_list<RunningWorker> workers)
      : WorkerList(std::vector<RunningWorker>(workers)) {}

  const std::vector<RunningWorker>& get() const {
    static const std::vector<RunningWorker> kNoWorkers;
    return workers_ ? *workers_ : kNoWorkers;
  }

  auto begin() const { return get().begin(); }

  auto end() const { return get().end(); }

  std::size_t size() const { return get().size(); }

  bool empty() const { return get().empty(); }

  bool contains(const RunningWorker& worker) const;

  friend bool operator==(const WorkerList& a, const WorkerList& b) {
    return a.workers_ == b.workers_ || a.get() == b.get();
  }

  using value_type = RunningWorker;  // For matchers of containers.
  using const_iterator = std::vector<RunningWorker>::const_iterator;
  using iterator = const_iterator;

 private:
  std::shared_ptr<const std::vector<RunningWorker>> workers_;  ///< Null: none.
};

/// Order of a WorkerList.
bool comes_before(const RunningWorker& a, const RunningWorker& b);

/// The complete list of what a node runs. Latest wins: a later one makes all earlier ones void.
struct Heartbeat {
  NodeId node;
  Epoch epoch;                ///< Newest epoch that the agent has seen.
  std::uint64_t session = 0;  ///< One life of the agent; a later life has a higher number.
  std::uint64_t number = 0;   ///< Counts up from 1 inside a session.
  Instant sent_at;            ///< On the agent's clock; the renewal echoes it.
  bool registers = false;     ///< First word of a session, of an epoch, or after self-fencing.
  Sequence seen;              ///< Last order that the agent has heard; of whichever leader.
  WorkerList workers;

  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

}  // namespace orrery
