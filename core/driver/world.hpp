// The interface to a world: what executes commands and tells what happened.
#pragma once

#include <vector>

#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"

namespace orrery {

/// A world that the driver runs the controller in. It cannot be asked which one it is.
class World {
 public:
  virtual ~World() = default;

  /// The world's time; never steps back.
  virtual Instant now() const = 0;

  /// Takes the command on and returns at once; effect or failure arrives as an Event.
  /// Idempotent by (sequence, index): a new leader may send the same command again.
  virtual void issue(const Command& command) = 0;

  /// A start of this incarnation will not be issued: it was overtaken while its record became
  /// durable. A world that takes what is decided and not issued yet for a worker on its way has to
  /// know; a wrapper that passes calls on passes this one on too.
  virtual void withheld(JobId /*job*/, Incarnation /*incarnation*/) {}

  /// These workers are left out of an order to start, and the controller waits for their ends: they
  /// were told to stop before the order was issued. A world without agents, whose complete lists
  /// tell that a worker is not there, answers with their loss; a wrapper passes it on.
  virtual void never_started(const StartWorkers& /*left_out*/) {}

  /// Waits until events are there or `deadline` is reached, whichever is first, and appends the
  /// events in observed order. With a deadline that has passed it only takes what is there.
  /// Returns false when nothing will ever happen in this world without a new command.
  virtual bool wait_events(Instant deadline, std::vector<Event>& events) = 0;

  /// Before then nothing happens in this world without a new command; at that instant something
  /// may. By default now: a world does not know.
  virtual Instant quiet_until() { return now(); }
};

}  // namespace orrery
