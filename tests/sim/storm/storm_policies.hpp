// The policies that storms draw from in tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/registry.hpp"
#include "sim/rehearsal/rehearsed_candidates.hpp"
#include "sim/storm/storm_plan.hpp"
#include "sim/storm/storm_run.hpp"

namespace orrery::tests {

/// Every policy that this build has, with cycles short enough to matter within minutes.
inline std::vector<scenarios::PolicyChoice> storm_policies() {
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

/// Runs one scenario under the checker, with the policy that it names.
inline sim::StormReport storm_once(const scenarios::Scenario& scenario,
                                   bool records_decisions = false) {
  sim::StormOptions options;
  options.records_decisions = records_decisions;
  options.policy = [&scenario] {
    policies::PolicyArguments arguments;
    arguments.seed = scenario.seed;
    for (const scenarios::Parameter& parameter : scenario.policy.parameters)
      arguments.parameters[parameter.key] = parameter.value;
    arguments.rehearsal = std::make_shared<sim::ForkedRehearsal>();
    auto made = policies::make_policy(scenario.policy.name, arguments);
    return std::move(*made);
  };
  return sim::run_storm(scenario, options);
}

}  // namespace orrery::tests
