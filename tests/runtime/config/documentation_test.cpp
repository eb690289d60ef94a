// docs/configuration.md and the readers know the same keys.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "runtime/config/read/config_sections.hpp"

namespace orrery::runtime {
namespace {

using KeySet = std::set<std::string>;

/// The words in backticks of `text`.
KeySet backticked(std::string_view text) {
  KeySet words;
  while (true) {
    const std::size_t open = text.find('`');
    if (open == std::string_view::npos) return words;
    const std::size_t close = text.find('`', open + 1);
    if (close == std::string_view::npos) return words;
    words.insert(std::string(text.substr(open + 1, close - open - 1)));
    text.remove_prefix(close + 1);
  }
}

/// The keys of each section's table.
std::map<std::string, KeySet> documented() {
  std::ifstream in(std::string(ORRERY_SOURCE_ROOT) + "/docs/configuration.md");
  std::map<std::string, KeySet> sections;
  std::string current;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) {
      current = *backticked(line).begin();
      sections[current];
    } else if (line.starts_with("| `")) {
      const std::string_view row = std::string_view(line).substr(2);
      for (const std::string& key : backticked(row.substr(0, row.find('|'))))
        EXPECT_TRUE(sections[current].insert(key).second) << current << ": " << key << " twice";
    }
  }
  return sections;
}

TEST(ConfigurationDocument, HasEveryKeyThatTheReadersKnowAndNoOther) {
  std::map<std::string, KeySet> known;
  for (const scenarios::Section& section : config_sections())
    known[std::string(section.name)] = {section.keys.begin(), section.keys.end()};
  EXPECT_EQ(documented(), known);
}

TEST(ConfigurationSections, SettingsAreThoseOfScenarios) {
  const auto keys = config_section("settings").keys;
  const auto of_scenarios = scenarios::section("controller").keys;
  EXPECT_EQ(KeySet(keys.begin(), keys.end()), KeySet(of_scenarios.begin(), of_scenarios.end()));
}

}  // namespace
}  // namespace orrery::runtime
