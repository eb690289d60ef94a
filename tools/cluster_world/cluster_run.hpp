// A scenario in world cluster: the real controller, agents and shims, and workers that are real
// processes whose work is modelled as in the simulators.
#pragma once

#include "core/base/result.hpp"
#include "core/plan/policy.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/run/run.hpp"
#include "tools/cluster_world/scaled_scenario.hpp"

namespace orrery::cli {

/// Everything of a scenario that this world cannot do, with places; empty: it can run.
Errors unfit_for_cluster(const scenarios::Scenario& scenario, const sim::LoadedWorkload& workload);

/// Runs a scenario that is fit and was scaled. Listeners hear instants of its measure. `policy`
/// gives name and period: the controller makes its own. `keep`: the folder for journal and logs,
/// which stays; empty: none does. Errors: programs are missing, or a process failed.
Result<sim::RunReport> run_cluster(const scenarios::Scenario& scenario,
                                   const sim::LoadedWorkload& workload,
                                   const Policy& policy,
                                   const sim::RunOptions& options,
                                   const std::string& keep);

}  // namespace orrery::cli
