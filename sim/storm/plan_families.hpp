// Jobs of a storm that came as DI-orchestrator's manifests, and jobs that can never run.
#pragma once

#include "core/base/random.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// In some storms some of the jobs that are there become DIJobs, of the group form or of tasks.
/// Each can still run alone.
void plan_families(Random random, scenarios::Scenario& scenario);

/// In some storms there is one more job that can never run: too large for every node, or for its
/// quota. All must come before `calm_from`.
void plan_never(Random random, Instant calm_from, scenarios::Scenario& scenario);

/// Whether no node of the cluster, empty, has room for a replica of some role, or a quota is
/// smaller than the job. Not whether it fits: that may fail for other reasons.
bool can_never_run(const scenarios::Scenario& scenario, const JobSpec& spec);

}  // namespace orrery::sim
