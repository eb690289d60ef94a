// The part of the storm's checker that judges what users are told of decisions, in words, and how
// often a policy is asked that gives no plan.
#pragma once

#include <string>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sim/storm/decision_check.hpp"
#include "sim/storm/journal_model.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// Number and noun of a message disagree ("1 replicas", "2 core", "1 replica ... each"): the words
/// at fault; empty: they agree.
std::string disagreement(const std::string& message);

class NoticeCheck {
 public:
  explicit NoticeCheck(Violations& found) : found_(found) {}

  /// The next record is the first one again.
  void begin_again() {
    lost_in_a_row_ = 0;
    asked_from_ = Instant::zero();
  }

  /// The next record with what came of it; `now` is the world's time, for findings.
  void folded(Instant now, const FoldedRecord& record, const StatusReader& reader);

 private:
  void say(ViolationKind kind, const std::string& text);
  void check_words(const Notice& notice, const UserEvent& event);
  void check_pause(const FoldedRecord& record);

  Violations& found_;
  std::uint32_t lost_in_a_row_ = 0;  ///< Plans, under the leader of now.
  Instant asked_from_;               ///< No policy answers before.
  Instant now_;
  Sequence at_;
};

}  // namespace orrery::sim
