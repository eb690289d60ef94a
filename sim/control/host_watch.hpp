// What an independent checker may listen to: the journal's bytes, the orders, the leaders' lives.
#pragma once

#include <cstdint>

#include "core/base/digest.hpp"
#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/driver/state_store.hpp"
#include "core/record/command.hpp"

namespace orrery::sim {

/// One life of one leader: counted from 1 in the order of their starts.
using LeaderNumber = Ordinal<struct LeaderTag>;

/// How the life of a leader ended.
enum class LeaderEnd : std::uint8_t {
  Crashed,
  Deposed,      ///< The store took a later leader's records instead.
  StoreFailed,  ///< The store failed, so the controller stopped.
  NoProgress,   ///< Endless turns at one instant.
};

/// Called by a ControllerHost on its own thread; must not call back into it. All calls of a leader
/// stand between its `on_started` and its `on_ended`.
class HostWatch {
 public:
  virtual ~HostWatch() = default;

  /// A leader has replayed the journal up to `replayed`, which gave this state, and now leads as
  /// `epoch`. Its first records, which say so, come next.
  virtual void on_started(LeaderNumber, Epoch, Sequence replayed, Digest state) {
    static_cast<void>(replayed);
    static_cast<void>(state);
  }

  /// A leader could not start: the journal cannot be read, or the store takes nothing.
  virtual void on_start_failed(const Errors&) {}

  /// The store has taken a record; its bytes are valid during the call.
  virtual void on_appended(LeaderNumber, Epoch writer, const StoredRecord&) {
    static_cast<void>(writer);
  }

  /// Records up to this one survive every crash from now on.
  virtual void on_durable(Sequence) {}

  /// Records after `last` are gone: they were not durable when a leader ended. What comes next
  /// has their numbers.
  virtual void on_lost(Sequence last) { static_cast<void>(last); }

  virtual void on_snapshot(LeaderNumber, const StoredSnapshot&) {}

  /// An order goes out, with its epoch and sequence.
  virtual void on_order(LeaderNumber, const Command&) {}

  /// A leader's life is over; `state` is that after the last record it stepped, `stepped`.
  virtual void on_ended(LeaderNumber, LeaderEnd, Sequence stepped, Digest state) {
    static_cast<void>(stepped);
    static_cast<void>(state);
  }
};

}  // namespace orrery::sim

template <>
struct orrery::EnumNames<orrery::sim::LeaderEnd> {
  static constexpr std::array kNames{"Crashed", "Deposed", "StoreFailed", "NoProgress"};
};
