// What the programs of a storm's jobs know of Orrery, and the ports that they ask for.
#pragma once

#include "core/base/random.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// In one storm of five some jobs run programs that say hello to their agent late or never, and
/// some have ports at which something else listens. After all jobs are there.
void plan_programs(Random random, scenarios::Scenario& scenario);

}  // namespace orrery::sim
