// Queues in front of the policy of a storm.
#pragma once

#include "core/base/random.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// Lets some storms share by a tree of queues, wide enough for each job alone beside what others
/// are guaranteed. After all jobs and what users ask for.
void plan_queues(Random random, scenarios::Scenario& scenario);

}  // namespace orrery::sim
