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

/// Keeps a copy of all records and folds them on demand, always from the first one: snapshots have
/// no part in it.
class JournalFold {
 public:
  JournalFold() : controller_(std::make_unique<Controller>()) {}

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
  std::vector<JobId> ended_;  ///< Up to its record.
};

/// The counters of all jobs in a state.
std::vector<JobCounts> counts_in(const State& state);

}  // namespace orrery::sim
