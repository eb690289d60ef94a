// The same scenario under direct control and under agents comes to the same phases.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/sim/agents/agent_runs.hpp"

namespace orrery::sim {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> scenarios_in(const char* folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(ORRERY_SOURCE_ROOT) / folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

class ControlParity : public testing::TestWithParam<std::string> {};

TEST_P(ControlParity, ComesToTheSamePhases) {
  auto scenario = scenarios::load_scenario(GetParam());
  ASSERT_TRUE(scenario.has_value());
  // What comes at the very end under direct control comes a little later under agents.
  if (!scenario->until.is_never()) scenario->until = scenario->until + Duration::seconds(1);
  const AgentOutcome direct = run_scenario(*scenario);
  scenario->control = scenarios::Control::Agents;
  TruthTap tap(*scenario);
  const AgentOutcome agents = run_scenario(*scenario, &tap);
  EXPECT_EQ(agents.phases, direct.phases);
  EXPECT_EQ(agents.restarts, direct.restarts);
  EXPECT_THAT(tap.found, testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Lifecycle,
                         ControlParity,
                         testing::ValuesIn(scenarios_in("scenarios/lifecycle")),
                         [](const auto& row) { return fs::path(row.param).stem().string(); });

/// Those that can be run without agents.
std::vector<std::string> placement_scenarios() {
  std::vector<std::string> files = scenarios_in("scenarios/placement");
  std::erase_if(files, [](const std::string& file) {
    const auto scenario = scenarios::load_scenario(file);
    return !scenario || scenario->needs_agents();
  });
  return files;
}

INSTANTIATE_TEST_SUITE_P(Placement,
                         ControlParity,
                         testing::ValuesIn(placement_scenarios()),
                         [](const auto& row) { return fs::path(row.param).stem().string(); });

}  // namespace
}  // namespace orrery::sim
