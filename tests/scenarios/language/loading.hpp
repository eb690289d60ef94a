// Loads scenarios written in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/language/loader.hpp"

namespace orrery::scenarios {

/// A scenario with a cluster of 2 nodes of 4 devices and what `rest` adds.
inline std::string with_cluster(std::string_view rest) {
  return "cluster: {nodes: 2, gpus_per_node: 4}\n" + std::string(rest);
}

/// The scenario that `text` holds; an empty one, with a failure, where it is broken.
inline Scenario load(std::string_view text, const std::vector<Override>& overrides = {}) {
  auto scenario = parse_scenario(text, "test.yaml", overrides);
  if (scenario) return *std::move(scenario);
  for (const Error& error : scenario.errors()) ADD_FAILURE() << error.text();
  Scenario empty;
  empty.jobs.resize(4);
  empty.expectations.resize(4);
  empty.groups.resize(4);
  empty.faults.resize(4);
  for (ScenarioJob& job : empty.jobs) job.spec.roles.items().resize(4);
  return empty;
}

/// The texts of all errors in `text`; none, with a failure, where it is sound.
inline std::vector<std::string> errors_of(std::string_view text,
                                          const std::vector<Override>& overrides = {}) {
  std::vector<std::string> texts;
  const auto scenario = parse_scenario(text, "test.yaml", overrides);
  if (scenario) {
    ADD_FAILURE() << "no error in: " << text;
    return texts;
  }
  for (const Error& error : scenario.errors()) texts.push_back(error.text());
  return texts;
}

}  // namespace orrery::scenarios
