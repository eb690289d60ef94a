// Runs of scenarios in world `model`, whose journals tests read again.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/driver/memory_store.hpp"
#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/rehearsal/rehearsed_candidates.hpp"
#include "sim/run/run.hpp"

namespace orrery::sim {

/// The scenario's policy with its parameters, fresh.
inline std::unique_ptr<Policy> policy_of(const scenarios::Scenario& scenario) {
  policies::PolicyArguments arguments;
  arguments.seed = scenario.seed;
  for (const scenarios::Parameter& parameter : scenario.policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  arguments.rehearsal = std::make_shared<ForkedRehearsal>();
  auto policy = policies::make_policy(scenario.policy.name, arguments);
  EXPECT_TRUE(policy) << policy.errors().front().text();
  return policy ? std::move(*policy) : nullptr;
}

/// Writes a journal of a scenario.
inline void record(const std::string& text,
                   StateStore& store,
                   const std::vector<scenarios::Override>& overrides = {}) {
  const auto scenario = scenarios::parse_scenario(text, "recorded.yaml", overrides);
  ASSERT_TRUE(scenario) << scenario.errors().front().text();
  const auto workload = LoadedWorkload::load(*scenario);
  ASSERT_TRUE(workload);
  const auto policy = policy_of(*scenario);
  RunOptions options;
  options.store = &store;
  ASSERT_TRUE(run_model(*scenario, *workload, *policy, options));
}

}  // namespace orrery::sim
