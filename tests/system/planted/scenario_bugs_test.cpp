// Planted bugs that make a decision wrong and do no harm at once: some scenario of the library says
// what is right. Each is met without its bug and missed with it.
#include <gtest/gtest.h>

#include <string>

#include "core/base/planted.hpp"
#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/run/run.hpp"
#include "tests/support/judge.hpp"

namespace orrery::tests {
namespace {

struct Case {
  Bug bug = Bug::None;
  const char* scenario = "";  ///< Below scenarios/.
};

// What of the scenario was not met, a line each.
std::string unmet(const std::string& file, Bug bug) {
  const auto scenario =
      scenarios::load_scenario(std::string(ORRERY_SOURCE_ROOT) + "/scenarios/" + file);
  if (!scenario) return "cannot be read: " + scenario.errors().front().text();
  const auto policy = policies::make_policy(scenario->policy.name, {});
  const auto workload = sim::LoadedWorkload::load(*scenario);
  if (!policy || !workload) return "cannot be run";
  Judge judge(*scenario);
  sim::RunOptions options;
  options.listeners = {&judge};
  planted_bug = bug;
  const auto report = sim::run_model(*scenario, *workload, **policy, options);
  planted_bug = Bug::None;
  if (!report) return report.errors().front().text();
  std::string text;
  for (const std::string& line : judge.expectations.unmet()) text += line + "\n";
  return text;
}

class ScenarioBug : public ::testing::TestWithParam<Case> {};

TEST_P(ScenarioBug, IsFoundByItsScenario) {
  EXPECT_EQ(unmet(GetParam().scenario, Bug::None), "");
  const std::string found = unmet(GetParam().scenario, GetParam().bug);
  EXPECT_NE(found, "") << GetParam().scenario << " is met although " << to_string(GetParam().bug)
                       << " is planted";
  std::printf("%-30s %s\n", std::string(to_string(GetParam().bug)).c_str(), found.c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    ScenarioBug,
    ::testing::Values(Case{Bug::DeviceLossForgetsStarting,
                           "failover/device_lost_while_starting.yaml"},
                      Case{Bug::ExclusionLeavesIncidents, "failover/lemon_begins_anew.yaml"},
                      Case{Bug::IncidentWindowWrong, "failover/lemon_two_windows.yaml"},
                      Case{Bug::PlaceNotAskedAgain, "failover/cordon_in_backoff.yaml"},
                      Case{Bug::PreemptionGraceIgnored, "lifecycle/preemption_grace.yaml"},
                      Case{Bug::ShareRounding, "lifecycle/part_to_the_thousandth.yaml"},
                      Case{Bug::SilentNodeKeepsWorkers, "failover/silent_twice.yaml"},
                      Case{Bug::SpareNeverReturned, "failover/spare_again.yaml"},
                      Case{Bug::StartByNotCleared, "failover/strict_second_start.yaml"},
                      Case{Bug::WantsMoreForgotten, "lifecycle/grows_when_room_comes.yaml"}),
    [](const auto& each) { return std::string(to_string(each.param.bug)); });

/// A new bug of this kind has a scenario, too.
TEST(ScenarioBugs, EachHasOne) { EXPECT_EQ(EnumNames<Bug>::kNames.size() - kScenarioBugs, 10u); }

}  // namespace
}  // namespace orrery::tests
