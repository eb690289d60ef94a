// Jobs of a storm that grow against quotas and seats, and jobs that may be put on the same devices.
#pragma once

#include "core/base/random.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// In 15 storms of a hundred users make elastic jobs small when they begin and large later, until
/// `calm_from`, under quotas that the largest job alone uses up. After all jobs are there.
void plan_growth(Random random, Instant calm_from, scenarios::Scenario& scenario);

/// Under a policy that puts jobs beside each other, half of the storms have jobs that can be: of
/// one role with whole devices. After all jobs are there.
void plan_beside(Random random, scenarios::Scenario& scenario);

}  // namespace orrery::sim
