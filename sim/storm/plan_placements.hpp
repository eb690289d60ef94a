// Jobs of a storm that sit in every way that there is, whether they can have their seats or not.
#pragma once

#include "core/base/random.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// Gives the roles of a job placements at one or several sizes, on devices, parts of them or nodes
/// that are no spares, with turns or without, beside roles that sit wherever they fit; or all of
/// them one unified virtual cluster. Numbers of replicas stay as they are. The seats may never come
/// free, so the job gets a longest wait.
void place_anyhow(Random& random, const scenarios::Scenario& scenario, JobSpec& spec);

}  // namespace orrery::sim
