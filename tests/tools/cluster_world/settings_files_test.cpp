// The daemons of a scenario read in their settings what the scenario says.
#include "tools/cluster_world/settings_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/config/read/config_reader.hpp"
#include "tests/tools/cluster_world/library.hpp"

namespace orrery::cli {
namespace {

ClusterAddresses addresses() {
  return {"/srv/run",
          "unix:/srv/run/http.sock",
          "unix:/srv/run/agents.sock",
          "/srv/run/journal.db",
          {},
          {10'000, 1000}};
}

AgentSettings agent(NodeId node) { return {node, "127.0.0.1", Duration::seconds(120)}; }

class SettingsFiles : public testing::TestWithParam<std::string> {};

TEST_P(SettingsFiles, SayWhatTheScenarioSays) {
  const auto scenario = scenarios::load_scenario(GetParam(), {});
  ASSERT_TRUE(scenario.has_value()) << scenario.errors()[0].text();
  const std::vector<NodeGroup> groups = named_groups(*scenario, addresses().ports);
  const auto controller = runtime::read_controller_config(
      {.text = controller_document(*scenario, groups, addresses()), .file = "controller.yaml"}, {});
  ASSERT_TRUE(controller.has_value()) << controller.errors()[0].text();
  Settings expected = scenario->settings;
  expected.seed = scenario->seed;
  EXPECT_EQ(controller->settings, expected);
  EXPECT_EQ(controller->groups, groups);
  EXPECT_EQ(controller->quotas, scenario->quotas);
  EXPECT_EQ(controller->policy, scenario->policy.name);
  std::uint32_t node = 0;
  for (const NodeGroup& group : groups)
    for (const std::string& name : group.node_names) {
      const auto read = runtime::read_agent_config(
          {.text = agent_document(groups, agent(NodeId{node++}), addresses()),
           .file = "agent.yaml"});
      ASSERT_TRUE(read.has_value()) << read.errors()[0].text();
      EXPECT_EQ(read->node, name);
      EXPECT_EQ(read->group, group.name);
      EXPECT_EQ(read->inventory.devices, group.devices);
      EXPECT_EQ(read->inventory.memory, group.memory);
      EXPECT_EQ(read->inventory.ports, group.ports);
      EXPECT_EQ(read->preemption_notice, Duration::seconds(120));
      if (node > 8) return;  // More are alike.
    }
}

INSTANTIATE_TEST_SUITE_P(Library,
                         SettingsFiles,
                         testing::ValuesIn(tests::library_scenarios()),
                         tests::name_of_scenario);

}  // namespace
}  // namespace orrery::cli
