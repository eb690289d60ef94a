// docs/scenario_format.md and the loader know the same keys.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "scenarios/language/spec/faults.hpp"
#include "scenarios/language/yaml/reading.hpp"

namespace orrery::scenarios {
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

/// The first cells of the tables with this head, by section.
std::map<std::string, KeySet> documented(const std::string& head) {
  std::ifstream in(std::string(ORRERY_SOURCE_ROOT) + "/docs/scenario_format.md");
  std::map<std::string, KeySet> sections;
  std::string current;
  bool reads = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) {
      const KeySet name = backticked(line);
      current = name.empty() ? "" : *name.begin();
      if (!current.empty()) sections[current];
    } else if (line.starts_with("| ") && !line.starts_with("| `")) {
      reads = line.starts_with(head) || (reads && line.starts_with("| ---"));
    } else if (line.starts_with("| `") && reads && !current.empty()) {
      const std::string_view row = std::string_view(line).substr(2);
      for (const std::string& key : backticked(row.substr(0, row.find('|'))))
        EXPECT_TRUE(sections[current].insert(key).second) << current << ": " << key << " twice";
    }
  }
  return sections;
}

TEST(Documentation, HasEveryKeyThatTheLoaderKnowsAndNoOther) {
  std::map<std::string, KeySet> known;
  for (const Section& section : all_sections())
    known[std::string(section.name)] = {section.keys.begin(), section.keys.end()};
  const auto sections = documented("| key |");
  for (const auto& [name, keys] : known) {
    ASSERT_TRUE(sections.contains(name)) << "section " << name << " is not documented";
    EXPECT_EQ(sections.at(name), keys) << "section " << name;
  }
  for (const auto& [name, keys] : sections)
    EXPECT_TRUE(known.contains(name)) << "section " << name << " is unknown to the loader";
}

template <NamedEnum E>
KeySet words() {
  return {EnumNames<E>::kNames.begin(), EnumNames<E>::kNames.end()};
}

TEST(Documentation, HasEveryKindOfFaultAndEveryEventThatOneMayWaitFor) {
  EXPECT_EQ(documented("| kind |")["faults"], words<FaultKind>());
  EXPECT_EQ(documented("| event |")["faults.after_event"], words<ObservedEvent>());
}

}  // namespace
}  // namespace orrery::scenarios
