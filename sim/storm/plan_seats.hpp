// Jobs of a storm that say where their workers sit.
#pragma once

#include "core/base/random.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// Gives some jobs seats: roles on devices that the text names, a second role that takes turns
/// there, virtual clusters. Seats are on nodes that are no spares. Such a job may wait for one node
/// for ever, so it has a longest wait. Takes the generator by value: the rest of a storm is the
/// same with seats or without.
void plan_seats(Random random, scenarios::Scenario& scenario);

}  // namespace orrery::sim
