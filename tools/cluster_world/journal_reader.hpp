// The journal of a controller that runs, folded as its records become durable.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/control/controller.hpp"
#include "core/driver/driver.hpp"
#include "core/driver/term_orders.hpp"
#include "runtime/store/sqlite_store.hpp"

namespace orrery::cli {

/// Hears of orders too.
class JournalObserver : public RunObserver {
 public:
  /// A record of the instant `at` ordered this; after its notices.
  virtual void on_order(const CommandBody& order, Instant at) = 0;
};

/// Steps every record on a controller of its own, whose times begin where the caller wants them,
/// and tells an observer what a leader that decided on it would have told.
class JournalReader {
 public:
  /// `path`: of the file, which may not be there yet.
  explicit JournalReader(std::string path) : path_(std::move(path)) {}

  /// What happens from now on is told; the observer outlives the reader.
  void set_observer(JournalObserver& observer) { observer_ = &observer; }

  /// What the records' clock said where the caller's said `zero`; before the first `follow`, and
  /// again when the caller's clock was set. Records from before that which were not followed yet,
  /// and would now lie before what was, are of the last instant that was.
  void set_origin(Instant records, Instant zero) {
    zero_ = zero;
    shift_ = zero - records;
  }

  /// Steps what is new. Errors: the file cannot be read, or a record is none.
  Status follow();

  const State& state() const { return controller_.state(); }

  /// Whether no deadline of a job is left.
  bool only_cycles_left() { return controller_.only_cycles_left(); }

  Sequence last() const { return last_; }

  /// What the records ordered, one for each term.
  const std::vector<TermOrders>& terms() const { return terms_; }

  Digest chain() const { return chain_; }

  /// Records other than the passing of time and plans that order nothing.
  std::uint64_t news() const { return news_; }

  /// Orders that followed of the records since the last call.
  std::vector<CommandBody> take_orders() { return std::exchange(orders_, {}); }

 private:
  Status step(const StoredRecord& record);

  std::string path_;
  std::unique_ptr<runtime::SqliteStore> store_;
  JournalObserver* observer_ = nullptr;
  Instant zero_;
  Duration shift_;
  Controller controller_;
  Commands commands_;
  std::vector<CommandBody> orders_;
  std::vector<TermOrders> terms_;
  Sequence last_;
  Digest chain_;
  std::uint64_t news_ = 0;
  int failures_ = 0;  ///< In a row.
};

}  // namespace orrery::cli
