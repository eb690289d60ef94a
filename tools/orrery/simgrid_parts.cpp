#include "tools/orrery/simgrid_parts.hpp"

#include <utility>

#include "sim/simgrid/make_fluid_fabric.hpp"

namespace orrery::cli {

Result<SimGridParts> simgrid_parts(const scenarios::Scenario& scenario) {
  SimGridParts parts;
  if (scenario.fidelity == scenarios::Fidelity::L3) {
    auto messages = sim::MessageLevel::make(scenario);
    if (!messages) return messages.errors();
    parts.messages = std::move(*messages);
    return parts;
  }
  auto fabric = sim::make_fluid_fabric(scenario);
  if (!fabric) return fabric.errors();
  parts.fluid = std::move(*fabric);
  return parts;
}

}  // namespace orrery::cli
