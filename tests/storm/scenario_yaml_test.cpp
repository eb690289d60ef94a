// Storm plans written as YAML are read as the same scenarios.
#include "sim/storm/scenario_yaml.hpp"

#include <gtest/gtest.h>

#include "scenarios/loader.hpp"
#include "tests/storm/storm_policies.hpp"

namespace orrery::sim {
namespace {

TEST(ScenarioYaml, RandomPlansAreReadAsTheyWereWritten) {
  const auto policies = tests::storm_policies();
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const scenarios::Scenario plan = plan_storm(seed, policies);
    const std::string text = to_yaml(plan);
    const auto read = scenarios::parse_scenario(text, plan.file);
    ASSERT_TRUE(read) << read.errors().front().text() << "\n" << text;
    EXPECT_EQ(to_yaml(*read), text);
    EXPECT_EQ(read->settings, plan.settings);
    ASSERT_EQ(read->jobs.size(), plan.jobs.size());
    for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
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

}  // namespace
}  // namespace orrery::sim
