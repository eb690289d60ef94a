// docs/configuration.md and the readers know the same keys.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "runtime/config/read/config_sections.hpp"
#include "tests/support/documented_keys.hpp"

namespace orrery::runtime {
namespace {

TEST(ConfigurationDocument, HasEveryKeyThatTheReadersKnowAndNoOther) {
  std::map<std::string, KeySet> known;
  for (const scenarios::Section& section : config_sections())
    known[std::string(section.name)] = {section.keys.begin(), section.keys.end()};
  EXPECT_EQ(documented_keys("configuration.md", "| key |"), known);
}

TEST(ConfigurationSections, SettingsAreThoseOfScenarios) {
  const auto keys = config_section("settings").keys;
  const auto of_scenarios = scenarios::section("controller").keys;
  EXPECT_EQ(KeySet(keys.begin(), keys.end()), KeySet(of_scenarios.begin(), of_scenarios.end()));
}

}  // namespace
}  // namespace orrery::runtime
