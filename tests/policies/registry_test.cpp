#include "policies/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "policies/parameters.hpp"
#include "tests/support/fake_rehearsal.hpp"

namespace orrery::policies {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(std::string_view name, std::map<std::string, std::string> parameters = {}) {
  const auto made = make_policy(name,
                                {.parameters = std::move(parameters),
                                 .rehearsal = std::make_shared<testing::FakeRehearsal>()});
  if (made) return "";
  std::string all;
  for (const Error& error : made.errors()) all += error.text() + "\n";
  return all;
}

TEST(Registry, MakesEveryPolicyUnderItsVersionedName) {
  std::set<std::string_view> names;
  for (const PolicyRow& row : rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    if (!is_available(row)) continue;
    const auto made =
        make_policy(row.name, {.rehearsal = std::make_shared<testing::FakeRehearsal>()});
    ASSERT_TRUE(made) << row.name;
    EXPECT_THAT(std::string((*made)->name()), StartsWith(std::string(row.name) + "/"));
    EXPECT_FALSE(row.summary.empty());
    for (const ParameterRow& p : row.parameters) EXPECT_FALSE(p.help.empty()) << p.name;
  }
}

TEST(Registry, AcceptsEveryDefaultAsWritten) {
  for (const PolicyRow& row : rows()) {
    if (!is_available(row)) continue;
    for (const ParameterRow& p : row.parameters)
      EXPECT_EQ(error_of(row.name, {{std::string(p.name), std::string(p.initial)}}), "");
  }
}

TEST(Registry, AnUnknownPolicyIsAnErrorThatListsWhatThereIs) {
  EXPECT_THAT(error_of("lottery"),
              StartsWith("policy: is \"lottery\", one of fifo, easy, srtf, las, fit, "));
}

TEST(Registry, APolicyThatNeedsAMissingSolverSaysHowToGetIt) {
  for (const PolicyRow& row : rows()) {
    if (is_available(row)) {
      EXPECT_EQ(error_of(row.name), "");
    } else {
      EXPECT_EQ(error_of(row.name),
                "policy: is \"" + std::string(row.name) +
                    "\", which needs a solver of linear programs, and this program was built "
                    "without one; install coinor-libcbc-dev and build again, or choose another "
                    "policy\n");
    }
  }
}

TEST(Registry, AnUnknownParameterIsAnErrorThatListsWhatThereIs) {
  EXPECT_EQ(error_of("easy", {{"depth", "3"}}),
            "policy.depth: is no parameter of easy, which takes backfill_depth, reserve_nodes; "
            "remove or rename it\n");
  EXPECT_THAT(error_of("fifo", {{"depth", "3"}}), HasSubstr("takes none"));
}

TEST(Registry, ReportsAllBadParametersAtOnce) {
  const std::string errors = error_of("fit", {{"period", "soon"}, {"gain_min", "2"}});
  EXPECT_THAT(errors,
              HasSubstr("policy.period: is \"soon\", a duration, at least 1s is needed; "
                        "the default is 60s"));
  EXPECT_THAT(errors, HasSubstr("policy.gain_min: is \"2\", a number, at least 0 and at most 1"));
}

TEST(Registry, TimesThatCannotBeCountedAreNone) {
  for (const std::string text : {"nan", "-inf", "-9223372036854775808", "-1e30h"})
    EXPECT_THAT(error_of("fit", {{"period", text}}), HasSubstr("is \"" + text + "\", a duration"));
}

TEST(Registry, ReadsDurationsWithTheirUnits) {
  for (const auto& [text, seconds] : {std::pair{"90", 90},
                                      std::pair{"90s", 90},
                                      std::pair{"2min", 120},
                                      std::pair{"1.5h", 5400},
                                      std::pair{"1d", 86400},
                                      std::pair{"2000ms", 2}}) {
    const auto made = make_policy("las", {.parameters = {{"quantum", text}}});
    ASSERT_TRUE(made) << text;
    EXPECT_EQ((*made)->triggers().period, Duration::seconds(seconds)) << text;
  }
  EXPECT_NE(error_of("las", {{"quantum", "-1h"}}), "");
  EXPECT_NE(error_of("las", {{"quantum", "1 hour"}}), "");
  EXPECT_NE(error_of("las", {{"quantum", ""}}), "");
  EXPECT_NE(error_of("las", {{"quantum", "nan"}}), "");
}

}  // namespace
}  // namespace orrery::policies
