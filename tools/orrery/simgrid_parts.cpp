#include "tools/orrery/simgrid_parts.hpp"

#include <utility>

#include "sim/simgrid/make_fluid_fabric.hpp"

namespace orrery::cli {

Result<SimGridParts> simgrid_parts(const scenarios::Scenario& scenario) {
  SimGridParts parts;
  auto fabric = sim::make_fluid_fabric(scenario);
  if (!fabric) return fabric.errors();
  parts.fabric = std::move(*fabric);
  return parts;
}

}  // namespace orrery::cli
