// The jobs of a storm and what users ask of them.
#pragma once

#include <set>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/random.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// Fills jobs, quotas and requests of a scenario whose cluster is there. All submissions and
/// requests come before `calm_from`. Each job could run alone on the nodes that are no spares.
void plan_jobs(Random& random, Instant calm_from, scenarios::Scenario& scenario);

/// In two storms of ten users submit jobs anew while they live, or delete them, until `calm_from`.
void plan_changes(Random random, Instant calm_from, scenarios::Scenario& scenario);

/// In one storm of ten users submit jobs anew with other bounds of a role's replicas, until
/// `calm_from`. Each job could still run alone.
void plan_replicas(Random random, Instant calm_from, scenarios::Scenario& scenario);

/// In one storm of ten workers report what they measure, until `calm_from`.
void plan_profilings(Random random, Instant calm_from, scenarios::Scenario& scenario);

/// Devices of all roles at their largest, those of roles that share them counted for each.
std::int32_t devices_at_most(const JobSpec& spec);

/// Whether `counts[r]` replicas of each role fit on the empty cluster without its spares, and
/// without the nodes of `excluded`.
bool fits_alone(const scenarios::Scenario& scenario,
                const JobSpec& spec,
                const std::vector<std::int32_t>& counts,
                const std::set<NodeId>& excluded = {});

}  // namespace orrery::sim
