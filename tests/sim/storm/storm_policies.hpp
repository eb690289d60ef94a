// The policies that storms draw from in tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/registry.hpp"
#include "sim/storm/storm_plan.hpp"
#include "sim/storm/storm_run.hpp"

namespace orrery::tests {

/// Every policy that this build has, with cycles short enough to matter within minutes.
inline std::vector<scenarios::PolicyChoice> storm_policies() {
  std::vector<scenarios::PolicyChoice> choices;
  for (const policies::PolicyRow& row : policies::rows()) {
    if (!policies::is_available(row)) continue;
    scenarios::PolicyChoice choice{std::string(row.name), {}, {}};
    // Each at what matters within minutes. A quantum is longer than a start and a checkpoint, or
    // no job would ever get on.
    static constexpr std::pair<std::string_view, const char*> kShort[]{
        {"period", "20s"},
        {"quantum", "150s"},
        {"round", "60s"},
        {"reset", "120s"},
        {"threshold", "600,3000"},
        {"promote_after", "1"},
        {"deadline_factor", "0.5,4"}};
    for (const policies::ParameterRow& parameter : row.parameters)
      for (const auto& [name, value] : kShort)
        if (parameter.name == name) choice.parameters.push_back({std::string(name), value, {}});
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
    auto made = policies::make_policy(scenario.policy.name, arguments);
    return std::move(*made);
  };
  return sim::run_storm(scenario, options);
}

}  // namespace orrery::tests
