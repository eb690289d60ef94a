#include "tools/orrery/simgrid_parts.hpp"

#include <utility>

#ifdef ORRERY_HAS_SIMGRID
#include "sim/simgrid/make_fabric.hpp"
#endif

namespace orrery::cli {

#ifdef ORRERY_HAS_SIMGRID

bool has_simgrid() { return true; }

Result<SimGridParts> simgrid_parts(const scenarios::Scenario& scenario) {
  SimGridParts parts;
  auto fabric = sim::make_fluid_fabric(scenario);
  if (!fabric) return fabric.errors();
  parts.fabric = std::move(*fabric);
  return parts;
}

#else

bool has_simgrid() { return false; }

Result<SimGridParts> simgrid_parts(const scenarios::Scenario& scenario) {
  return Error{
      .file = scenario.file,
      .subject = "world",
      .message = "sim found, but this program was built without SimGrid; use --world model"};
}

#endif

}  // namespace orrery::cli
