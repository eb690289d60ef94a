// The faults of a storm.
#pragma once

#include "core/base/random.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// Draws which kinds of faults there are and how many, then the faults themselves. What lasts is
/// over by `calm_from`; what waits for an event lasts seconds.
void plan_faults(Random& random, Instant calm_from, scenarios::Scenario& scenario);

/// Draws a few workers that no kill ends for a while.
void plan_stuck(Random random, Instant calm_from, scenarios::Scenario& scenario);

/// In some storms workers that fail say whose fault it was.
void plan_blames(Random random, scenarios::Scenario& scenario);

}  // namespace orrery::sim
