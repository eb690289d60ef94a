// Rehearsals for policies: the state behind a view goes on in world `model` under a candidate.
#pragma once

#include <memory>
#include <optional>

#include "core/plan/rehearsal.hpp"

namespace orrery::sim {

/// Copies the state, sets world `model` up as it says and runs the real controller on, with the
/// candidate as its policy, until all jobs are over or the budget is used up.
///
/// Nothing but the state is read. How long a job still runs is its last report of what remains,
/// where it has one. Else it is the run time that its user stated, times how far off one of the
/// statements of `options.ended` was, or where nothing was stated the run time of one of those
/// jobs, longer than it has run by now; which of them is drawn, the same for all candidates. Where
/// too few have ended: what was stated, or longer than it has run by a factor that is drawn.
/// Nothing else is submitted; nodes stay as they are.
class ForkedRehearsal final : public Rehearsal {
 public:
  ForkedRehearsal();
  ~ForkedRehearsal() override;

  std::optional<RehearsedRun> run(const ClusterView& view,
                                  Policy& candidate,
                                  const RehearsalOptions& options) override;

 private:
  class RunTimes;

  std::unique_ptr<RunTimes>
      times_;  ///< Those of the last run: candidates are compared by equal ones.
};

}  // namespace orrery::sim
