// World cluster in the program that has it.
#include "tools/cluster_world/cluster_run.hpp"
#include "tools/cluster_world/scaled_scenario.hpp"
#include "tools/orrery/cluster_parts.hpp"

namespace orrery::cli {

std::string_view program_of_world_cluster(std::string_view, const Arguments&) { return {}; }

Errors unfit_for_world_cluster(const scenarios::Scenario& scenario,
                               const sim::LoadedWorkload& workload) {
  return unfit_for_cluster(scenario, workload);
}

scenarios::Scenario in_real_time(const scenarios::Scenario& scenario) { return scaled(scenario); }

Instant begin_in_real_time() { return kScenarioBegin; }

Result<sim::RunReport> run_in_world_cluster(const scenarios::Scenario& scenario,
                                            const sim::LoadedWorkload& workload,
                                            const Policy& policy,
                                            const sim::RunOptions& options,
                                            const std::string& keep) {
  return run_cluster(scenario, workload, policy, options, keep);
}

}  // namespace orrery::cli
