#include "tools/orrery/storm_runs.hpp"

#include <string>
#include <utility>

#include "policies/registry.hpp"
#include "tools/orrery/scenario_runs.hpp"

namespace orrery::cli {

std::vector<scenarios::PolicyChoice> storm_policies() {
  std::vector<scenarios::PolicyChoice> choices;
  for (const policies::PolicyRow& row : policies::rows()) {
    if (!policies::is_available(row)) continue;
    scenarios::PolicyChoice choice{std::string(row.name), {}, {}};
    for (const policies::ParameterRow& parameter : row.parameters)
      if (std::string value = policies::brief_value(parameter); !value.empty())
        choice.parameters.push_back({std::string(parameter.name), std::move(value), {}});
    choices.push_back(std::move(choice));
  }
  return choices;
}

sim::StormReport storm_once(const scenarios::Scenario& scenario, bool records_decisions) {
  sim::StormOptions options;
  options.records_decisions = records_decisions;
  options.policy = [&scenario] {
    auto policy = fresh_policy(scenario, {});
    invariant(policy.has_value(), "a storm's policy is registered");
    return std::move(*policy);
  };
  return sim::run_storm(scenario, options);
}

}  // namespace orrery::cli
