// Tells of a run with changing leaders as its journal does: each durable record once, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/control/controller.hpp"
#include "core/driver/driver.hpp"
#include "core/driver/state_store.hpp"
#include "sim/control/host_watch.hpp"

namespace orrery::sim {

/// Steps every record once it is durable, on a controller of its own, and tells the observer what a
/// single leader that never failed would have told. What leaders decide on records that a crash
/// takes is not told. So the follower is also a replay of the whole run.
class JournalFollower final : public HostWatch {
 public:
  /// `next` hears what a host tells, first; `copy` gets every record once it is durable. Both may
  /// be null; else they outlive the follower.
  JournalFollower(HostWatch* next, StateStore* copy) : next_(next), copy_(copy) {}

  /// From now on; it outlives the follower.
  void set_observer(RunObserver& observer) { observer_ = &observer; }

  const State& state() const { return controller_.state(); }

  /// Whether no deadline of a job is left.
  bool only_cycles_left() { return controller_.only_cycles_left(); }

  /// The chain digest of the last record that was stepped.
  Digest chain() const { return chain_; }

  /// How many leaders have begun and ended.
  std::uint32_t started() const { return started_; }

  std::uint32_t ended() const { return ended_; }

  /// Why the copy refused a record; empty where it did not.
  const Errors& copy_errors() const { return copy_errors_; }

  /// Orders of leaders since the last call, to be looked at by triggers.
  std::vector<CommandBody> take_orders() { return std::exchange(orders_, {}); }

  /// Whether orders are kept for `take_orders`.
  void keep_orders(bool keep) { keeps_orders_ = keep; }

  /// Records other than the passing of time and the plans, so far.
  std::uint64_t news() const { return news_; }

  void on_started(LeaderNumber leader, Epoch epoch, Sequence replayed, Digest state) override;
  void on_start_failed(const Errors& errors) override;
  void on_appended(LeaderNumber leader, Epoch writer, const StoredRecord& record) override;
  void on_durable(Sequence last) override;
  void on_lost(Sequence last) override;
  void on_snapshot(LeaderNumber leader, const StoredSnapshot& snapshot) override;
  void on_order(LeaderNumber leader, const Command& command) override;
  void on_ended(LeaderNumber leader, LeaderEnd how, Sequence stepped, Digest state) override;

 private:
  struct Kept {
    Sequence sequence;
    Digest chain;
    std::uint16_t version = 0;
    Epoch writer;
    std::vector<std::byte> bytes;
  };

  void step(const Kept& kept);

  RunObserver* observer_ = nullptr;
  HostWatch* next_;
  StateStore* copy_;
  Controller controller_;
  Digest chain_;
  std::deque<Kept> waiting_;                   ///< Not durable yet.
  std::vector<std::vector<std::byte>> spare_;  ///< Of records that were stepped, to be used again.
  std::vector<CommandBody> orders_;
  bool keeps_orders_ = false;
  Commands commands_;
  Errors copy_errors_;
  std::uint32_t started_ = 0;
  std::uint32_t ended_ = 0;
  std::uint64_t news_ = 0;
};

}  // namespace orrery::sim
