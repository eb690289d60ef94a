// The part of the storm's checker that judges which limit ends a job: what it has used of each
// budget, counted from the notices, and when the reset window has filled one again.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/state/state.hpp"
#include "sim/storm/journal_model.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// Journals of before rules 4 are not judged. Failures of single replicas are not told one by one,
/// and restarts of roles only all together: those are an upper bound.
class BudgetCheck {
 public:
  explicit BudgetCheck(Violations& found) : found_(found) {}

  /// The journal as it is folded anew, from its first record on.
  void begin_again() {
    jobs_.clear();
    judges_ = true;
  }

  /// What came of a record, and the state after it; `now` is the world's time, for findings.
  void folded(Instant now, const FoldedRecord& record, const State& after);

 private:
  /// One job. Counts are by `Counter`.
  struct Spent {
    std::array<std::int64_t, 7> told{};  ///< In all.
    std::array<std::int64_t, 7> used{};  ///< Since its budget was full last.
    Instant last_incident = Instant::never();
    Instant last_preemption = Instant::never();
  };

  void counted(Spent& spent, const Notice& notice, Duration window);
  void ended(const Spent& spent, const Notice& notice, const JobState& job);

  Violations& found_;
  std::map<JobId, Spent> jobs_;
  bool judges_ = true;
  Instant now_;
  Sequence at_;
};

}  // namespace orrery::sim
