// The seam between the program and SimGrid: a module that is loaded where a run asks for it.
#pragma once

#include "core/base/result.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "tools/orrery/simgrid_parts.hpp"

namespace orrery::cli {

/// What the module exports under the name `kSimGridModuleEntry`.
struct SimGridModule {
  const char* revision;  ///< That it was built from: it fits the program of the same alone.

  /// As `simgrid_parts`. Never throws.
  Result<SimGridParts> (*make)(const scenarios::Scenario& scenario);
};

inline constexpr const char* kSimGridModuleEntry = "orrery_simgrid_module";
inline constexpr const char* kSimGridModuleFile = "orrery-simgrid.so";

}  // namespace orrery::cli
