// Storms with this program's policies.
#pragma once

#include <vector>

#include "scenarios/language/spec/scenario.hpp"
#include "sim/storm/storm_run.hpp"

namespace orrery::cli {

/// Every registered policy, with cycles short enough to matter within minutes.
std::vector<scenarios::PolicyChoice> storm_policies();

/// Runs one scenario under the checker, with the policy that it names.
sim::StormReport storm_once(const scenarios::Scenario& scenario, bool records_decisions = false);

}  // namespace orrery::cli
