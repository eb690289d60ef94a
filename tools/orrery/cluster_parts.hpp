// World cluster, as far as this program has it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/plan/policy.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/run/run.hpp"
#include "tools/console/arguments.hpp"

namespace orrery::cli {

/// The program that carries a verb out with these arguments in place of this one, since it has
/// world cluster; empty: this one does.
std::string_view program_of_world_cluster(std::string_view verb, const Arguments& arguments);

/// Everything that keeps a scenario from running in world cluster; empty: it can.
Errors unfit_for_world_cluster(const scenarios::Scenario& scenario,
                               const sim::LoadedWorkload& workload);

/// A scenario for world cluster in the measure of real time.
scenarios::Scenario in_real_time(const scenarios::Scenario& scenario);

/// When what `in_real_time` gave begins.
Instant begin_in_real_time();

/// Runs what `in_real_time` gave. `keep`: folder for journal and logs; empty: they go.
Result<sim::RunReport> run_in_world_cluster(const scenarios::Scenario& scenario,
                                            const sim::LoadedWorkload& workload,
                                            const Policy& policy,
                                            const sim::RunOptions& options,
                                            const std::string& keep);

}  // namespace orrery::cli
