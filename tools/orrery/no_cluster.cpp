// World cluster in a program without it.
#include "tools/orrery/cluster_parts.hpp"

namespace orrery::cli {
namespace {

Error elsewhere(const scenarios::Scenario& scenario) {
  return Error{.file = scenario.file,
               .subject = "world",
               .message =
                   "cluster found, which orrery test runs when it is asked to; use orrery test "
                   "--world cluster, or --world model"};
}

}  // namespace

std::string_view program_of_world_cluster(std::string_view verb, const Arguments& arguments) {
  const bool needed =
      verb == "parity" || (verb == "test" && arguments.value("--world") == "cluster");
  return needed ? "orrery-cluster" : std::string_view();
}

Errors unfit_for_world_cluster(const scenarios::Scenario& scenario, const sim::LoadedWorkload&) {
  return {elsewhere(scenario)};
}

scenarios::Scenario in_real_time(const scenarios::Scenario& scenario) { return scenario; }

Instant begin_in_real_time() { return Instant::zero(); }

Result<sim::RunReport> run_in_world_cluster(const scenarios::Scenario& scenario,
                                            const sim::LoadedWorkload&,
                                            const Policy&,
                                            const sim::RunOptions&,
                                            const std::string&) {
  return elsewhere(scenario);
}

}  // namespace orrery::cli
