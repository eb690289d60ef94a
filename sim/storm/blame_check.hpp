// The part of the storm's checker that judges whom a failure is charged to: the worker that failed,
// its node, or a peer, as the worker itself has said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/state/state.hpp"
#include "sim/storm/journal_model.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// Judges reports of one worker's end while none of its peers has failed: of several at once the
/// rules of the core are followed by its own tests alone.
class BlameCheck {
 public:
  explicit BlameCheck(Violations& found) : found_(found) {}

  /// The next record, and the state before it.
  void comes(const Event& event, const State& before);

  /// What came of it, and the state after it; `now` is the world's time, for findings.
  void folded(Instant now, const FoldedRecord& record, const State& after);

 private:
  /// One replica, and how often it has failed before.
  struct Replica {
    RoleIndex role;
    std::int32_t local_rank = 0;
    std::uint32_t failures = 0;
  };

  struct Expected {
    JobId job;
    bool by_node = false;
    Replica teller;
    Replica root;
    NodeId node;  ///< Of the root.
    std::uint32_t restarts = 0;
    std::uint32_t node_losses = 0;
  };

  void judge(const Notice& opened, const State& after);
  void judge_counts(const JobState& job, bool charged);
  void say(const std::string& text);

  Violations& found_;
  std::optional<Expected> expected_;
  Instant now_;
  Sequence at_;
};

}  // namespace orrery::sim
