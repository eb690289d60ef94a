// Scenarios with a loop for tests of searches.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "scenarios/language/loader.hpp"
#include "sim/search/searched_job.hpp"

namespace orrery::sim {

/// What tests change of a scenario with the roles rollout, inference and actor.
struct Searched {
  std::string cluster = "{nodes: 1, gpus_per_node: 8, gpu: h100}";
  std::string search = "{switch: 1s, group: 2}";
  std::string length = "{median: 500, sigma: 1, max: 4000}";
  std::string inference = "20s";
  std::string train = "60s";
  std::string traffic = "gradient: 0B";
  std::string weights = "0B";
  std::int32_t actor_devices = 1;
};

inline std::string text_of(const Searched& searched) {
  return "name: searched\nseed: 3\ncluster: " + searched.cluster +
         "\njobs:\n  - name: loop\n    roles:\n      rollout: {replicas: 2, gpus: 1}\n"
         "      inference: {replicas: 2, gpus: 1}\n      actor: {replicas: 1, gpus: " +
         std::to_string(searched.actor_devices) +
         "}\n    work:\n      units: 1\n      loop:\n"
         "        generate: {role: rollout, sequences: 64, tokens_per_second: 50, concurrent: 8, "
         "length: " +
         searched.length + "}\n        inference: {role: inference, time: " + searched.inference +
         "}\n        train: {role: actor, time: " + searched.train + ", " + searched.traffic +
         "}\n        weights: " + searched.weights + "\n        search: " + searched.search + "\n";
}

inline scenarios::Scenario scenario_of(const std::string& text) {
  auto scenario = scenarios::parse_scenario(text, "searched.yaml");
  if (!scenario) {
    ADD_FAILURE() << scenario.errors()[0].text();
    return {};
  }
  return std::move(scenario).value();
}

}  // namespace orrery::sim
