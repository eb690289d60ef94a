// One run of a scenario with the policy that it names.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/run/run.hpp"

namespace orrery::sim {

/// Its workload has to load, and its policy to be there.
inline RunReport run_of(const scenarios::Scenario& scenario, const RunOptions& options = {}) {
  const auto workload = LoadedWorkload::load(scenario);
  EXPECT_TRUE(workload) << workload.errors().front().text();
  policies::PolicyArguments arguments;
  arguments.seed = scenario.seed;
  arguments.models = workload->models();
  for (const scenarios::Parameter& parameter : scenario.policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  const auto policy = policies::make_policy(scenario.policy.name, arguments);
  EXPECT_TRUE(policy) << policy.errors().front().text();
  auto report = run_model(scenario, *workload, **policy, options);
  EXPECT_TRUE(report) << report.errors().front().text();
  return std::move(*report);
}

/// The same of what a file at `path` would hold.
inline RunReport run_of_text(const std::string& text, const std::string& path = "test.yaml") {
  const auto scenario = scenarios::parse_scenario(text, path, {});
  EXPECT_TRUE(scenario) << scenario.errors().front().text();
  return run_of(*scenario);
}

}  // namespace orrery::sim
