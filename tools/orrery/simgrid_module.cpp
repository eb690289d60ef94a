#include "tools/orrery/simgrid_module.hpp"

#include <utility>

#include "sim/simgrid/make_fluid_fabric.hpp"
#include "sim/simgrid/message_level.hpp"
#include "tools/console/revision.hpp"

namespace orrery::cli {
namespace {

Result<SimGridParts> make(const scenarios::Scenario& scenario) {
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

}  // namespace

extern "C" {
extern const SimGridModule orrery_simgrid_module;
const SimGridModule orrery_simgrid_module{kRevision, make};
}

}  // namespace orrery::cli
