// The fence of the shim: ends a node's workers when the agent itself is gone.
#pragma once

#include "core/base/ids.hpp"
#include "core/base/planted.hpp"
#include "core/base/units.hpp"

namespace orrery {

/// The agent hands its lease on to the shim at each renewal. When the agent is dead or cut off, no
/// renewal comes, and the shim kills all workers at the same instant at which the agent would have:
/// earlier than the controller may place them anew.
class ShimFence {
 public:
  /// What the agent holds now. An older epoch or an earlier end changes nothing.
  void renew(Epoch epoch, Instant lease_until) {
    if (epoch < epoch_ || lease_until <= lease_until_) return;
    epoch_ = epoch;
    lease_until_ = planted(Bug::ShimFenceNeverFires) ? Instant::never() : lease_until;
  }

  /// Whether every worker must be dead. True before the first renewal.
  bool must_kill(Instant now) const { return now >= lease_until_; }

  /// When `must_kill` becomes true; what a restarted agent takes over.
  Instant lease_until() const { return lease_until_; }

  Epoch epoch() const { return epoch_; }

 private:
  Epoch epoch_;
  Instant lease_until_;
};

}  // namespace orrery
