// What a simulated world supplies to a ControllerHost: what each leader hears and sends, and
// time.
#pragma once

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/driver/world.hpp"
#include "core/state/state.hpp"
#include "sim/control/host_watch.hpp"

namespace orrery::sim {

/// One world that up to two leaders live in at once. Only the host calls it.
class LeaderPorts {
 public:
  virtual ~LeaderPorts() = default;

  /// The world's time; never steps back. A port's own clock may differ.
  virtual Instant now() const = 0;

  /// A leader begins as `epoch`, with this state from the journal: it is given a fresh port, which
  /// stays until `close`. It is not listened to and says nothing before `established`: a crash may
  /// still let another leader have the same epoch. Its `wait_events` is called only with deadlines
  /// that have passed.
  virtual World& port(LeaderNumber leader, Epoch epoch, const State& state) = 0;

  /// The record that begins the leader's epoch is durable: from now on it may grant leases.
  virtual void established(LeaderNumber leader) = 0;

  /// The leader is gone; so are its port and all it had heard.
  virtual void close(LeaderNumber leader) = 0;

  /// Lets time pass until `until` at most; returns early as soon as a port has something to tell.
  virtual void advance(Instant until) = 0;
};

}  // namespace orrery::sim
