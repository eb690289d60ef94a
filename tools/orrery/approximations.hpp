// What a run does not model exactly, in sentences for its page.
#pragma once

#include <string>
#include <vector>

#include "scenarios/language/spec/scenario.hpp"

namespace orrery::cli {

/// What the level of the scenario leaves out (docs/fidelity.md), then what this run met that could
/// not be modelled as asked.
std::vector<std::string> approximations(const scenarios::Scenario& scenario,
                                        const std::vector<std::string>& warnings);

}  // namespace orrery::cli
