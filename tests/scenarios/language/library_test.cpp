// Every scenario of the library loads and says what it shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "scenarios/language/loader.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::scenarios {
namespace {

namespace fs = std::filesystem;

std::set<std::string> scenarios_of(std::string_view folder) {
  std::set<std::string> names;
  for (const auto& entry :
       fs::directory_iterator(fs::path(ORRERY_SOURCE_ROOT) / "scenarios" / folder))
    if (entry.path().extension() == ".yaml") names.insert(entry.path().stem().string());
  return names;
}

/// The words in backticks of the last cells of a document's tables, from the line `begin` on.
std::set<std::string> last_cells(const std::string& document, std::string_view begin) {
  std::ifstream in(fs::path(ORRERY_SOURCE_ROOT) / "docs" / document);
  std::set<std::string> words;
  bool reads = begin.empty();
  for (std::string line; std::getline(in, line);) {
    reads = reads || line == begin;
    if (!reads || !line.starts_with("| ")) continue;
    const std::size_t end = line.rfind(" |");
    std::string_view cell = std::string_view(line).substr(0, end);
    cell = cell.substr(cell.rfind(" | ") + 1);
    for (std::size_t open = cell.find('`'); open != std::string_view::npos;
         open = cell.find('`', open + 1)) {
      const std::size_t close = cell.find('`', open + 1);
      words.insert(std::string(cell.substr(open + 1, close - open - 1)));
      open = close;
    }
  }
  return words;
}

TEST(Library, TheFailoverPageNamesEveryScenarioOfItsFolderAndNoOther) {
  EXPECT_EQ(last_cells("failover.md", "## The scenarios"), scenarios_of("failover"));
}

/// The text of the file of cases beside the project; empty where it is absent.
std::string placement_cases() {
  return text_of_file(fs::path(ORRERY_SOURCE_ROOT) / "../shared/cases/placement_cases.json");
}

/// The texts of all test sources, in which a case stands as "(Suite, Case)".
std::string test_sources() {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(ORRERY_SOURCE_ROOT) / "tests"))
    if (entry.path().extension() == ".cpp") text += text_of_file(entry.path());
  return text;
}

TEST(Library, TheCompatibilityPageNamesOnlyScenariosAndTestsThatAreThere) {
  const std::string cases = placement_cases();
  if (cases.empty()) GTEST_SKIP() << "there is no file of cases, which the page names too";
  std::set<std::string> known = scenarios_of("failover");
  known.merge(scenarios_of("lifecycle"));
  known.merge(scenarios_of("placement"));
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(ORRERY_SOURCE_ROOT) / "docs/examples"))
    known.insert(entry.path().stem().string());
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(ORRERY_SOURCE_ROOT) / "tests"))
    known.insert(entry.path().filename().string());
  const std::string sources = test_sources();
  for (const std::string& name : last_cells("compatibility.md", ""))
    EXPECT_TRUE(known.contains(name) || cases.find('"' + name + '"') != std::string::npos ||
                sources.find(", " + name + ")") != std::string::npos ||
                fs::exists(fs::path(ORRERY_SOURCE_ROOT) / name))
        << name << " is neither a scenario, a case, an example nor a test";
}

TEST(Library, EveryScenarioLoadsAndDescribesItself) {
  const std::filesystem::path root = std::filesystem::path(ORRERY_SOURCE_ROOT) / "scenarios";
  int scenarios = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".yaml") continue;
    if (entry.path().stem().string().ends_with("_sweep")) continue;  // Those are no scenarios.
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
