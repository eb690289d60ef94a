// Grants that no policy proposes: what a controller must not take on trust.
#pragma once

#include "core/base/random.hpp"
#include "core/record/plan.hpp"
#include "core/state/state.hpp"

namespace orrery::sim {

/// One to three grants, drawn: of jobs that are there or not, at sizes within their bounds and
/// beyond, on nodes that are there or not, of other roles, beside other jobs. What they name is
/// mostly there, so that some of them can be carried out.
Plan garbled_plan(Random& random, const State& state);

/// Adds them behind those of `plan`.
void add_grants(const Plan& more, Plan& plan);

}  // namespace orrery::sim
