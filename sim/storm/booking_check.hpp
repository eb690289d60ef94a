// Devices and ports as the orders and the journal have them: ordered to be used, until a fact ends
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/cluster/seat.hpp"
#include "core/job/spec.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"
#include "sim/storm/process_check.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// A leader must not order a start on devices, or with ports, of which it was not told that they
/// are free.
class BookingCheck {
 public:
  explicit BookingCheck(Violations& found) : found_(found) {}

  /// A start was ordered; `spec` is its job's, null where that is not known. `order` is of
  /// `command`. One of a leader that was succeeded stands where its record stands: what its
  /// successor was told since then has ended it before it went out.
  void ordered(Instant now, const Command& command, const StartWorkers& order, const JobSpec* spec);

  /// A fact was journaled that may end bookings.
  void appended(Sequence sequence, const Event& event);

  /// The journal has lost what came after `last`.
  void crashed(Sequence last);

 private:
  struct Booking {
    ProcessName name;
    std::uint64_t devices = 0;
    Share share;
    std::int32_t first_port = 0;
    TurnKey turns;
  };

  /// Something that may end bookings.
  struct Fact {
    Sequence sequence;
    Event event;
  };

  std::vector<Booking>& on(NodeId node);
  bool ended_since(Sequence sequence, NodeId node, const ProcessName& name) const;

  Violations& found_;
  std::vector<std::vector<Booking>> nodes_;
  std::vector<Fact> facts_;
  Epoch epoch_;  ///< Of the journal.
};

}  // namespace orrery::sim
