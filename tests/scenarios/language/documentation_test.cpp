// docs/scenario_format.md and the loader know the same keys.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "scenarios/language/spec/faults.hpp"
#include "scenarios/language/yaml/reading.hpp"
#include "tests/support/documented_keys.hpp"

namespace orrery::scenarios {
namespace {

TEST(Documentation, HasEveryKeyThatTheLoaderKnowsAndNoOther) {
  std::map<std::string, KeySet> known;
  for (const Section& section : all_sections())
    known[std::string(section.name)] = {section.keys.begin(), section.keys.end()};
  const auto sections = documented_keys("scenario_format.md", "| key |");
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
  EXPECT_EQ(documented_keys("scenario_format.md", "| kind |")["faults"], words<FaultKind>());
  EXPECT_EQ(documented_keys("scenario_format.md", "| event |")["faults.after_event"],
            words<ObservedEvent>());
}

}  // namespace
}  // namespace orrery::scenarios
