// The fabric of level L2 for a scenario, as tools ask for it: no type of SimGrid is seen here.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/fabric/fabric.hpp"

namespace orrery::sim {

/// SimGrid's network for the scenario's nodes. Once per process: further ones need a child process.
/// Refuses shapes that do not fit the nodes, and platform files that cannot be read or have another
/// number of nodes than the scenario.
Result<std::unique_ptr<Fabric>> make_fluid_fabric(const scenarios::Scenario& scenario);

}  // namespace orrery::sim
