#include "tools/orrery/storm_runs.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "policies/registry.hpp"
#include "tools/orrery/scenario_runs.hpp"

namespace orrery::cli {

std::vector<scenarios::PolicyChoice> storm_policies() {
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
