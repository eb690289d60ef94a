#include "tools/orrery/cluster_parts.hpp"

#ifdef ORRERY_HAS_CLUSTER_WORLD
#include "tools/cluster_world/cluster_run.hpp"
#endif

namespace orrery::cli {

#ifdef ORRERY_HAS_CLUSTER_WORLD

Errors unfit_for_world_cluster(const scenarios::Scenario& scenario,
                               const sim::LoadedWorkload& workload) {
  return unfit_for_cluster(scenario, workload);
}

scenarios::Scenario in_real_time(const scenarios::Scenario& scenario) {
  return scaled(scenario);
}

Result<sim::RunReport> run_in_world_cluster(const scenarios::Scenario& scenario,
                                            const sim::LoadedWorkload& workload,
                                            const Policy& policy,
                                            const sim::RunOptions& options,
                                            const std::string& keep) {
  return run_cluster(scenario, workload, policy, options, keep);
}

#else

namespace {

Error not_built(const scenarios::Scenario& scenario) {
  return Error{.file = scenario.file,
               .subject = "world",
               .message =
                   "cluster found, which this program was built without, model or sim needed; "
                   "build with -DORRERY_RUNTIME=ON, or use --world model"};
}

}  // namespace

Errors unfit_for_world_cluster(const scenarios::Scenario& scenario, const sim::LoadedWorkload&) {
  return {not_built(scenario)};
}

scenarios::Scenario in_real_time(const scenarios::Scenario& scenario) { return scenario; }

Result<sim::RunReport> run_in_world_cluster(const scenarios::Scenario& scenario,
                                            const sim::LoadedWorkload&,
                                            const Policy&,
                                            const sim::RunOptions&,
                                            const std::string&) {
  return not_built(scenario);
}

#endif

}  // namespace orrery::cli
