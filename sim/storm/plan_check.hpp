// The part of the storm's checker that judges what comes of plans: what is refused is refused for a
// reason that is so, what is done is what was granted, within bounds and quotas, and the first
// grant of a plan is not withheld where there is room.
#pragma once

#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/state/state.hpp"
#include "sim/storm/journal_model.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

class PlanCheck {
 public:
  explicit PlanCheck(Violations& found) : found_(found) {}

  /// The next record, and the state before it.
  void comes(const Event& event, const State& before);

  /// What came of it, and the state after it; `now` is the world's time, for findings.
  void folded(Instant now, const FoldedRecord& record, const State& after);

 private:
  /// What was known of a job that a plan names.
  struct Named {
    JobId job;
    JobPhase phase = JobPhase::Pending;
    bool holds = false;
    bool preemptible = false;
    bool infeasible = false;
    RoleIndex elastic;
    std::int32_t replicas = 0;
    std::int32_t least = 0;
    std::int32_t most = 0;
    bool has_quota = false;
    std::vector<NodeCount> nodes;
  };

  void say(const std::string& text);
  const Named* find(JobId job) const;
  bool is_so(const Notice& notice, const PlanProposed& event, const Named& job) const;
  bool must_be_granted(const Grant& grant, const Plan& plan, const State& before) const;
  void check_word(const FoldedRecord& record, const PlanProposed& event, const Named& job);
  void check_done(const FoldedRecord& record, const PlanProposed& event, const State& after);

  Violations& found_;
  std::vector<Named> named_;
  JobId needed_;   ///< The job of the first grant, where there was room for it.
  JobId overdue_;  ///< With a timer that was due when the plan came.
  Instant now_;
  Sequence at_;
};

}  // namespace orrery::sim
