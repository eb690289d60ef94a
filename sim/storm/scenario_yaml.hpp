// A scenario written back as the YAML that the loader reads.
#pragma once

#include <string>

#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// The text of a scenario with jobs of its own: what `scenarios::parse_scenario` reads as the same
/// scenario again. Values that are the language's defaults are left out. Not written, because
/// storms have none: workloads from files, random fault processes, recorded failures, outputs,
/// manifests, expectations.
std::string to_yaml(const scenarios::Scenario& scenario);

}  // namespace orrery::sim
