// A parity report as a table for people, as JSON, and as the data of its page.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tools/console/console.hpp"
#include "tools/orrery/parity_runs.hpp"

namespace orrery::cli {

std::array<sim::ParityTotal, 3> totals_of(const std::vector<ParityScenario>& scenarios);

/// Errors over all scenarios, then each scenario's completions.
std::string parity_table(const std::vector<ParityScenario>& scenarios, const ConsoleTraits& traits);

/// One document with everything. `kind` and the rest as sim/reports/page/src/data.ts declares them:
/// the page reads the same.
std::string parity_json(const std::vector<ParityScenario>& scenarios, const ParityPlan& plan);

}  // namespace orrery::cli
