// Storm plans written as YAML are read as the same scenarios.
#include "sim/storm/scenario_yaml.hpp"

#include <gtest/gtest.h>

#include "scenarios/language/loader.hpp"
#include "tests/sim/storm/storm_policies.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::sim {
namespace {

TEST(ScenarioYaml, RandomPlansAreReadAsTheyWereWritten) {
  const auto policies = tests::storm_policies();
  for (std::uint64_t seed = 1; seed <= tests::count_of(100, 500); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const scenarios::Scenario plan = plan_storm(seed, policies);
    const std::string text = to_yaml(plan);
    auto read = scenarios::parse_scenario(text, plan.file);
    ASSERT_TRUE(read) << read.errors().front().text() << "\n" << text;
    EXPECT_EQ(read->settings.rules, kDecisionRules);
    read->settings.rules = plan.settings.rules;  // Which no scenario can say.
    EXPECT_EQ(to_yaml(*read), text);
    EXPECT_EQ(read->settings, plan.settings);
    ASSERT_EQ(read->jobs.size(), plan.jobs.size());
    for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
      EXPECT_EQ(read->jobs[i].hello_after, plan.jobs[i].hello_after);
      EXPECT_EQ(read->jobs[i].workers.size(), plan.jobs[i].workers.size());
      EXPECT_EQ(read->jobs[i].spec, plan.jobs[i].spec) << text;
      EXPECT_EQ(read->jobs[i].submit, plan.jobs[i].submit);
      EXPECT_EQ(read->jobs[i].work.units, plan.jobs[i].work.units);
      EXPECT_EQ(scenarios::rate_of(read->jobs[i].work, 3),
                scenarios::rate_of(plan.jobs[i].work, 3));
    }
    EXPECT_EQ(read->faults.size(), plan.faults.size());
    EXPECT_EQ(read->requests.size(), plan.requests.size());
    EXPECT_EQ(read->until, plan.until);
    if (::testing::Test::HasFailure()) break;
  }
}

// Storms draw no placements of their own yet; what is written of them is read as it was.
TEST(ScenarioYaml, PlacesAreReadAsTheyWereWritten) {
  const auto first = scenarios::parse_scenario(R"(
cluster:
  groups:
    - {name: a800, nodes: 2, gpus_per_node: 4, gpu: a800, nodes_per_nvlink_domain: 2, vendor: amd}
    - {name: arms, nodes: 1, gpus_per_node: 0, hardware: {Franka: 2}}
jobs:
  - name: placed
    take_turns: [[actor, rollout]]
    roles:
      actor: {placement: {node_group: a800, placement: "0-3"}}
      rollout: {placement: "0-3:0-7"}
      env: {placement: {node_group: [Franka], placement: all}}
  - name: sized
    placements: {1: "4", 2: "4-5"}
  - name: bundled
    virtual_clusters:
      train: {bundles_per_node: [2, 1], segment_by: rack, segment_size: 1, strategy: spread}
      serve: {bundles_per_node: 2, unified: true, max_worker_groups: 2, gpu: a800}
    roles:
      trainer: {workers: {virtual_cluster: train, per_node: 1}}
      engine: {workers: {virtual_cluster: serve, tied: [{node: 0, bundles: [0, 1]}]}}
      judge: {virtual_cluster: serve}
)",
                                               "places.yaml");
  ASSERT_TRUE(first) << first.errors().front().text();
  const std::string text = to_yaml(*first);
  const auto read = scenarios::parse_scenario(text, "places.yaml");
  ASSERT_TRUE(read) << read.errors().front().text() << "\n" << text;
  EXPECT_EQ(to_yaml(*read), text);
  EXPECT_EQ(read->groups, first->groups);
  ASSERT_EQ(read->jobs.size(), first->jobs.size());
  for (std::size_t i = 0; i < read->jobs.size(); ++i)
    EXPECT_EQ(read->jobs[i].spec, first->jobs[i].spec) << text;
}

}  // namespace
}  // namespace orrery::sim
