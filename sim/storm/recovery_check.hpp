// The part of the storm's checker that judges recoveries record by record: what an incident is
// opened by is so, and what failed takes its scope along.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/state/state.hpp"
#include "sim/storm/journal_model.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

class RecoveryCheck {
 public:
  explicit RecoveryCheck(Violations& found) : found_(found) {}

  /// The next record, and the state before it.
  void comes(const Event& event, const State& before);

  /// What came of it, and the state after it; `now` is the world's time, for findings.
  void folded(Instant now, const FoldedRecord& record, const State& after);

 private:
  void say(const std::string& text);
  void note_hit(const DevicesLost& event, const State& before);
  void note_silence(NodeId node, const State& before);
  void check_scope(const FoldedRecord& record, const State& after);
  void check_failure(const FoldedRecord& record, const Notice& notice, const State& after);
  void check_device(const FoldedRecord& record, const Notice& notice);
  void check_silence(const FoldedRecord& record, const Notice& notice);
  void check_withheld(const FoldedRecord& record, const State& after);

  Violations& found_;
  std::set<JobId> hit_;  ///< With a worker on a device that is lost, or on a node that went silent.
  std::map<JobId, std::int64_t> room_for_;  ///< Of these, those for whose workers there was room
                                            ///< elsewhere, with how many were lost.
  Instant now_;
  Sequence at_;
};

}  // namespace orrery::sim
