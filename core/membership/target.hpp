// Brings a job to the numbers of replicas that its user asked for.
#pragma once

#include "core/state/step.hpp"

namespace orrery {

/// Brings a job that no policy sizes to its user's target, as far as there is room.
void meet_target(Step& step, JobState& job);

/// Of a preemptible job: whether the core brings it to the number that its user asked for. Not
/// where no number was asked for, and not where the policy sizes jobs: to that the number is a
/// bound.
bool is_met_by_core(const State& state, const JobState& job);

}  // namespace orrery
