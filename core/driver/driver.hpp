// The only loop: wait, journal, step, issue. The same in every world.
#pragma once

#include <span>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"
#include "core/control/controller.hpp"
#include "core/driver/planner.hpp"
#include "core/driver/state_store.hpp"
#include "core/driver/world.hpp"

namespace orrery {

/// Watches a run. Called on the driver's thread; must not call back into the driver.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  /// What one step told, in order.
  virtual void on_notices(std::span<const Notice> notices, const State& state) = 0;

  /// Each record after its step; by default nothing.
  virtual void on_event(Sequence, const Event&) {}

  /// Asked now and then; true ends the run early.
  virtual bool should_stop() { return false; }
};

struct DriverOptions {
  std::uint64_t snapshot_every = 0;          ///< Records between snapshots; 0: none.
  std::uint64_t idle_turns_max = 1'000'000;  ///< Turns at one instant, beside one for each job,
                                             ///< that count as no progress.
  /// Cycles of the policy that may order nothing once the world has nothing left to tell; then the
  /// run is over, whoever still waits.
  std::uint64_t quiet_cycles_max = 1'000;
};

/// Why a run ended.
enum class RunEnd : std::uint8_t { Finished, Stopped, NoProgress, StoreFailed };

/// Drives one controller in one world. The caller owns all parts; they outlive the driver.
class Driver {
 public:
  Driver(Controller& controller,
         World& world,
         StateStore& store,
         Planner& planner,
         RunObserver* observer,
         DriverOptions options);

  /// Continues a journal whose last record had this chain digest (after replay).
  void continue_from(Digest chain) { chain_ = chain; }

  /// Journals and steps facts that come from no world: the epoch, the declarations.
  Status apply(std::vector<Event> events);

  /// Runs until nothing will happen any more, `until` is reached, or the observer stops it. Jobs
  /// that can never start are still unfinished then.
  RunEnd run(Instant until);

  /// Chained digest of all records so far.
  Digest chain() const { return chain_; }

  /// What the store said when it failed.
  const Errors& store_errors() const { return store_errors_; }

  std::uint64_t events() const { return controller_.state().sequence.value; }

  std::uint64_t plans_asked() const { return plans_asked_; }

 private:
  bool journal_and_step();
  bool release_orders();
  void put_in_order();
  bool plan();
  bool wait(Instant until, bool more);
  bool take_snapshot();

  Controller& controller_;
  World& world_;
  StateStore& store_;
  Planner& planner_;
  RunObserver* observer_;
  DriverOptions options_;
  Digest chain_;
  Errors store_errors_;
  std::uint64_t plans_asked_ = 0;
  std::uint64_t last_snapshot_ = 0;
  std::uint64_t orders_ = 0;        ///< Given so far.
  std::uint64_t orders_seen_ = 0;   ///< When the loop last waited.
  std::uint64_t quiet_cycles_ = 0;  ///< Waits without an order since, where only cycles are due.
  std::vector<Event> events_;       ///< The batch at hand.
  std::vector<Command> outbox_;     ///< Orders whose record is not durable yet.
  Commands commands_;
  ByteWriter bytes_;
  std::vector<std::size_t> ends_;  ///< Of each event of the batch, in `bytes_`.
  std::vector<StoredRecord> records_;
};

}  // namespace orrery
