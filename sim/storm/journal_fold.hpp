// The journal as it was appended, folded anew: what every leader's state must be equal to.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/control/controller.hpp"
#include "core/driver/state_store.hpp"
#include "sim/storm/job_check.hpp"

namespace orrery::sim {

/// Hears each record as it is folded, with all that came of it.
class FoldListener {
 public:
  virtual ~FoldListener() = default;

  /// The next record is the first one again.
  virtual void begin_again() = 0;

  /// The next record, and the state before it.
  virtual void comes(const Event& event, const State& before) = 0;

  virtual void folded(Sequence sequence,
                      const Event& event,
                      const Commands& decided,
                      const State& state) = 0;
};

/// Keeps a copy of all records and folds them on demand, always from the first one: snapshots have
/// no part in it.
class JournalFold {
 public:
  /// `listener` may be null; it outlives this.
  explicit JournalFold(FoldListener* listener = nullptr)
      : controller_(std::make_unique<Controller>()), listener_(listener) {}

  void append(const StoredRecord& record);

  /// Records after `last` are gone.
  void lose(Sequence last);

  /// The state after record `at`, which was appended; null where a record is none.
  const State* state_at(Sequence at);

  /// The counters of all jobs in the state that was asked for last, and those that have ended.
  std::vector<JobCounts> counts() const;

 private:
  void begin_again();

  std::vector<std::byte> bytes_;
  std::vector<std::size_t> ends_;
  std::unique_ptr<Controller> controller_;
  FoldListener* listener_ = nullptr;
  std::vector<JobId> ended_;  ///< Up to its record.
};

/// The counters of all jobs in a state.
std::vector<JobCounts> counts_in(const State& state);

}  // namespace orrery::sim
