// The only loop: wait, journal, step, issue. The same in every world.
//
// One pass of it is a turn. `run` takes turns and waits between them; a host that drives several
// leaders in one simulated world takes the turns itself (sim/control).
#pragma once

#include <span>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"
#include "core/control/controller.hpp"
#include "core/driver/planner.hpp"
#include "core/driver/state_store.hpp"
#include "core/driver/term_orders.hpp"
#include "core/driver/world.hpp"

namespace orrery {

/// Watches a run. Called on the driver's thread; must not call back into the driver.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  /// What one step told, in order.
  virtual void on_notices(std::span<const Notice> notices, const State& state) = 0;

  /// All of the instant `state.now` has been stepped; the next event comes later. What the state
  /// shows now has held from this instant on. By default nothing.
  virtual void on_instant_over(const State& /*state*/) {}

  /// The event is stepped soon: what the observer has of its jobs may be fetched meanwhile. By
  /// default nothing.
  virtual void expect(const Event&) {}

  /// Each record after its step; by default nothing.
  virtual void on_event(Sequence, const Event&) {}

  /// So many cycles of the policy would follow that change nothing; each of them is two records.
  /// Returns how many of these cycles, `cycles` at most, are passed over as if they had been
  /// watched. By default none.
  virtual std::uint64_t pass_over(std::uint64_t /*cycles*/) { return 0; }

  /// Asked now and then; true ends the run early.
  virtual bool should_stop() { return false; }
};

struct DriverOptions {
  std::uint64_t snapshot_every = 0;          ///< Records between snapshots; 0: none.
  std::uint64_t idle_turns_max = 1'000'000;  ///< Turns at one instant, beside one for each job,
                                             ///< that count as no progress.
  bool fingerprints_orders = false;          ///< `term_orders` tells what was ordered.
  /// False: records are counted only, neither encoded nor chained. For runs of which nobody reads a
  /// journal, in stores that keep none.
  bool journals = true;
  /// After a plan was lost the policy is asked again so much later; each time in a row doubles it.
  Duration lost_plan_pause = Duration::seconds(1);
  Duration lost_plan_pause_max = Duration::seconds(60);
  /// Cycles of the policy that may order nothing once the world has nothing left to tell; then the
  /// run is over, whatever still waits.
  std::uint64_t quiet_cycles_max = 1'000;
};

/// Why a run ended.
enum class RunEnd : std::uint8_t {
  Finished,
  Stopped,
  NoProgress,
  StoreFailed,
  Deposed,  ///< The store takes the records of a later leader, not ours (ErrorCode::Conflict).
};

/// What one turn did.
enum class Turn : std::uint8_t {
  Idle,     ///< Nothing was there to do: time must pass, or an answer come.
  Worked,   ///< Records were stepped or orders issued; another turn may find more.
  Refused,  ///< The store failed or another leader took over: the driver is at its end.
};

/// Drives one controller in one world. The caller owns all parts; they outlive the driver.
class Driver {
 public:
  Driver(Controller& controller,
         World& world,
         StateStore& store,
         Planner& planner,
         RunObserver* observer,
         DriverOptions options);

  /// Continues a journal whose last record had this chain digest (after replay), and whose latest
  /// snapshot is `snapshot`.
  void continue_from(Digest chain, Sequence snapshot = {}) {
    chain_ = chain;
    last_snapshot_ = snapshot.value;
    writer_ = controller_.state().epoch;
  }

  /// Journals and steps facts that come from no world: the epoch, the declarations. Where the
  /// store is slow, the orders that follow are issued by later turns.
  Status apply(std::vector<Event> events);

  /// One pass that never waits: takes what the world has to tell now, else the timers that are due,
  /// else the plan that is there; journals it, steps it, and issues the orders whose records are
  /// durable, also those that earlier turns had to keep back.
  Turn turn();

  /// When the next turn will find something by itself: a timer, a plan or a durable record. Never
  /// where only the world can bring it about.
  Instant next_wake();

  /// Orders that wait for their records to become durable.
  std::size_t orders_kept_back() const { return outbox_.size() - issued_; }

  /// Runs until nothing will happen any more, `until` is reached, or the observer stops it. Jobs
  /// that can never start are still unfinished then.
  RunEnd run(Instant until);

  /// Chained digest of all records so far.
  Digest chain() const { return chain_; }

  /// All that decides what turns do next but the journal and what the parts hold, for comparison
  /// between two turns: of two drivers with equal parts and bytes, equal turns have equal effects.
  /// Nothing reads the bytes back.
  void save(ByteWriter& out) const;

  /// How the run ended when a turn was refused: StoreFailed or Deposed.
  RunEnd refusal() const;

  /// What the store said when it refused.
  const Errors& store_errors() const { return store_errors_; }

  std::uint64_t events() const { return controller_.state().sequence.value; }

  std::uint64_t plans_asked() const { return plans_asked_; }

  /// Until when the policy is not asked, since it gave no plan.
  Instant asks_again_at() const { return asks_again_at_; }

  /// What was ordered since the term began; with `fingerprints_orders` only.
  const TermOrders& term_orders() const { return term_orders_; }

 private:
  bool gather();
  Turn work();
  bool journal_and_step();
  void encode_batch();
  bool append();
  bool release_orders();
  void issue_durable();
  void put_in_order();
  void plan();
  void answered(PlanAnswer answer, Instant now);
  bool wait(Instant until, bool more);
  Instant after_vain_cycles(Instant until);
  bool take_snapshot();
  bool refused(const Status& status);

  Controller& controller_;
  World& world_;
  StateStore& store_;
  Planner& planner_;
  RunObserver* observer_;
  DriverOptions options_;
  Digest chain_;
  Errors store_errors_;
  std::uint64_t plans_asked_ = 0;
  std::uint32_t plans_lost_ = 0;  ///< In a row.
  Instant asks_again_at_;         ///< After a lost plan.
  TermOrders term_orders_;
  std::uint64_t last_snapshot_ = 0;
  std::uint64_t orders_ = 0;        ///< Given so far.
  std::uint64_t orders_seen_ = 0;   ///< When the loop last waited.
  Sequence settled_at_;             ///< The last record that was a cycle's plan, in vain.
  Sequence asked_at_;               ///< The last record when the planner was asked.
  std::uint64_t quiet_cycles_ = 0;  ///< Waits without an order since, where only cycles are due.
  Instant crowded_since_ = Instant::never();  ///< Since when every turn has had facts.
  std::vector<Event> events_;                 ///< The batch at hand.
  Epoch writer_;                 ///< In whose name records are appended: the last that began.
  std::vector<Command> outbox_;  ///< Orders, first those that were issued already.
  std::size_t issued_ = 0;       ///< Of the outbox.
  Commands commands_;
  ByteWriter bytes_;
  std::vector<std::size_t> ends_;  ///< Of each event of the batch, in `bytes_`.
  std::vector<StoredRecord> records_;
};

}  // namespace orrery
