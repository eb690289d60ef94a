// What carries the bytes between nodes and storage, and so tells how fast stages of work go. One
// implementation for each level: nothing is shared (L0), shared uplinks by demand (L1), flows in
// SimGrid (L2), messages in SimGrid (L3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sim/fabric/stage.hpp"

namespace orrery::sim {

/// A stage that is under way. Numbers are used again after `end` and completion.
struct StageId {
  std::uint32_t value = 0;

  friend bool operator==(StageId, StageId) = default;
};

/// A clock of its own is stepped beside the caller's: `next` finds out what happens, `pass_to`
/// lets it happen. Instants never step back.
///
/// Equal calls give equal answers on every machine.
class Fabric {
 public:
  Fabric() = default;
  virtual ~Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  /// Seconds that one step of the stage takes when no other job uses the network.
  virtual double step_alone_s(const Stage& stage) const = 0;

  /// Begins the stage now. It is whole or refused: the caller has checked that it is sound.
  virtual StageId begin(const Stage& stage, Instant now) = 0;

  /// Steps that are done at `now`, of a stage under way: 0 to `stage.steps`.
  virtual double steps_done(StageId id, Instant now) = 0;

  /// Steps per second at present; for reports and extrapolation, not for truth.
  virtual double pace(StageId id) = 0;

  /// Takes a stage under way back, whatever of it is done.
  virtual void end(StageId id, Instant now) = 0;

  /// When a stage will be complete if nothing is begun or ended before, at most `limit`; `limit`
  /// where none will be. The fabric's own clock may run up to what is returned.
  virtual Instant next(Instant limit) = 0;

  /// Time passes up to `now`, at most what `next` returned last. Appends the stages that are
  /// complete, in a fixed order; they are no longer under way.
  virtual void pass_to(Instant now, std::vector<StageId>& complete) = 0;

  /// From now on `share` (above 0, at most 1) of the bandwidth of the node's link is left.
  virtual void set_link_share(NodeId node, double share, Instant now) = 0;

  /// Floating point operations per second of the node's processors as the platform file says; 0
  /// where it does not.
  virtual double node_flops(NodeId node) const {
    static_cast<void>(node);
    return 0;
  }

  /// Names of all links, for pictures; may be thousands.
  virtual std::vector<std::string> link_names() const = 0;

  /// Share of each link that is in use at present, 0 to 1, in the order of `link_names`.
  virtual void link_use(std::vector<double>& shares) const = 0;

  /// Sentences on what was approximated, for the report.
  virtual std::vector<std::string> approximations() const { return {}; }
};

}  // namespace orrery::sim
