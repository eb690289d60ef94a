// The scenario fuzzer reaches each reader: its seeds have every key of the language.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/language/spec/faults.hpp"
#include "scenarios/language/yaml/reading.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::string_view kSeedFolder = ORRERY_SOURCE_ROOT "/tests/system/fuzz/seeds/scenario";

/// Every seed that is YAML; the first line of one may be an override.
std::vector<YamlNode> seeds() {
  std::vector<YamlNode> trees;
  for (const auto& entry : std::filesystem::directory_iterator(kSeedFolder)) {
    std::string text = text_of_file(entry.path());
    if (text.starts_with("--set ")) text.erase(0, text.find('\n'));
    if (auto tree = parse_yaml(text, entry.path().string(), 0)) trees.push_back(std::move(*tree));
  }
  return trees;
}

/// Adds the keys of all maps at and below `node` that could be of `section`: of keys that it knows
/// alone.
// NOLINTNEXTLINE(misc-no-recursion): a tree of at most kYamlDepthMax levels
void collect_keys(const YamlNode& node, const Section& section, std::set<std::string>& keys) {
  const auto knows = [&section](const YamlEntry& entry) {
    return std::find(section.keys.begin(), section.keys.end(), entry.key) != section.keys.end();
  };
  if (std::all_of(node.entries.begin(), node.entries.end(), knows))
    for (const YamlEntry& entry : node.entries) keys.insert(entry.key);
  for (const YamlEntry& entry : node.entries) collect_keys(entry.value, section, keys);
  for (const YamlNode& item : node.items) collect_keys(item, section, keys);
}

/// Adds the values under `key` at and below `node`.
// NOLINTNEXTLINE(misc-no-recursion): as above
void collect_values(const YamlNode& node, std::string_view key, std::set<std::string>& values) {
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == key) values.insert(entry.value.scalar);
    collect_values(entry.value, key, values);
  }
  for (const YamlNode& item : node.items) collect_values(item, key, values);
}

TEST(FuzzSeeds, HaveEveryKeyOfEverySection) {
  const std::vector<YamlNode> trees = seeds();
  for (const Section& section : all_sections()) {
    std::set<std::string> keys;
    for (const YamlNode& tree : trees) collect_keys(tree, section, keys);
    std::vector<std::string> missing;
    for (const std::string_view key : section.keys)
      if (!keys.contains(std::string(key))) missing.emplace_back(key);
    EXPECT_THAT(missing, testing::IsEmpty())
        << "section " << section.name << ": write these keys into a seed of " << kSeedFolder;
  }
}

TEST(FuzzSeeds, HaveEveryKindOfFaultAndEveryEventThatOneMayWaitFor) {
  std::set<std::string> kinds;
  std::set<std::string> events;
  for (const YamlNode& tree : seeds()) {
    collect_values(tree, "kind", kinds);
    collect_values(tree, "event", events);
  }
  for (const char* kind : EnumNames<FaultKind>::kNames)
    EXPECT_TRUE(kinds.contains(kind)) << "kind: " << kind << " is in no seed";
  for (const char* event : EnumNames<ObservedEvent>::kNames)
    EXPECT_TRUE(events.contains(event)) << "event: " << event << " is in no seed";
}

}  // namespace
}  // namespace orrery::scenarios
