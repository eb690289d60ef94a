// Which workers of a node have the turn on their devices.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/base/units.hpp"

namespace orrery::runtime {

/// A lock by lease over the devices of each worker, among the workers of its job. A worker has the
/// turn until it gives it back or has ended; one that lets its lease pass is named so that it can
/// be killed, and has the turn until then. So two workers of a job never have the turn on one
/// device. In the order in which they asked, but a worker that waits holds up only those that want
/// one of its devices. Does nothing by itself; time is given.
class DeviceTurns {
 public:
  /// A worker asks, on the devices that it holds; bit i is device i of the node. One that has the
  /// turn, or waits already, changes only how long its lease is.
  void ask(const WorkerName& worker, std::uint64_t devices, Duration lease, Instant now);

  /// The lease of a worker that has the turn begins again. False where it does not have it.
  bool renew(const WorkerName& worker, Instant now);

  /// Gives the turn back, or asks no longer.
  void release(const WorkerName& worker);

  /// A worker that had the turn in an earlier life of the agent.
  void adopt(const WorkerName& worker, std::uint64_t devices, Instant now);

  /// Takes the workers whose turn begins now, in the order in which they asked.
  std::vector<WorkerName> take_granted(Instant now);

  /// Takes the workers that have let their leases pass, each once.
  std::vector<WorkerName> take_overdue(Instant now);

  /// When the next lease passes.
  Instant next_deadline() const;

  bool has_turn(const WorkerName& worker) const;

 private:
  struct Wish {
    WorkerName worker;
    std::uint64_t devices = 0;
    Duration lease;
    bool granted = false;
    Instant until = Instant::never();  ///< Granted: when the lease passes; never once overdue.
  };

  std::list<Wish>::iterator find(const WorkerName& worker);

  std::list<Wish> wishes_;  ///< In the order in which they were asked for.
};

}  // namespace orrery::runtime
