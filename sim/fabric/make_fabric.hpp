// The fabrics that need no SimGrid, for a scenario.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/fabric/fabric.hpp"

namespace orrery::sim {

/// L0 on the scenario's network. Refuses a network that a platform file describes: only SimGrid
/// reads these.
Result<std::unique_ptr<Fabric>> make_ideal_fabric(const scenarios::Scenario& scenario);

/// L1 on the scenario's network; refuses the same.
Result<std::unique_ptr<Fabric>> make_shared_fabric(const scenarios::Scenario& scenario);

}  // namespace orrery::sim
