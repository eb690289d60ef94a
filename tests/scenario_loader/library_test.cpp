// Every scenario of the library loads and says what it shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "scenarios/loader.hpp"

namespace orrery::scenarios {
namespace {

TEST(Library, EveryScenarioLoadsAndDescribesItself) {
  const std::filesystem::path root = std::filesystem::path(ORRERY_SOURCE_ROOT) / "scenarios";
  int scenarios = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".yaml") continue;
    ++scenarios;
    const auto scenario = load_scenario(entry.path().string());
    if (!scenario) {
      for (const Error& error : scenario.errors()) ADD_FAILURE() << error.text();
      continue;
    }
    EXPECT_GT(scenario->description.size(), 30U) << entry.path() << " does not say what it shows";
  }
  EXPECT_GT(scenarios, 2);
}

}  // namespace
}  // namespace orrery::scenarios
