#include "tools/console/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

VerbSpec fly() {
  return {.name = "fly",
          .operands = "WHERE",
          .operands_min = 1,
          .operands_max = 2,
          .options = {{.name = "--speed", .value = "V"},
                      {.name = "--set", .value = "K=V", .repeatable = true},
                      {.name = "--engine", .value = "E", .choices = {"ion", "sail"}},
                      {.name = "--json"}}};
}

std::string first_error(const std::vector<std::string>& words) {
  const auto parsed = parse_arguments(fly(), words);
  return parsed ? "" : parsed.errors().front().text();
}

TEST(Arguments, OptionsStandAnywhereInBothSpellings) {
  const std::vector<std::string> words{
      "--speed", "3", "mars", "--set=a=1", "--json", "--set", "b=2"};
  const auto parsed = parse_arguments(fly(), words);
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->operands(), ElementsAre("mars"));
  EXPECT_EQ(parsed->value("--speed"), "3");
  EXPECT_THAT(parsed->values("--set"), ElementsAre("a=1", "b=2"));
  EXPECT_TRUE(parsed->has("--json"));
  EXPECT_FALSE(parsed->has("--engine"));
  EXPECT_EQ(parsed->value("--engine"), std::nullopt);
}

TEST(Arguments, AfterTwoDashesAllWordsAreOperands) {
  const std::vector<std::string> words{"--json", "--", "--speed", "-x"};
  const auto parsed = parse_arguments(fly(), words);
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->operands(), ElementsAre("--speed", "-x"));
}

TEST(Arguments, AnUnderscoreInTheNameOfAnOptionIsADash) {
  VerbSpec verb = fly();
  verb.options.push_back({.name = "--dry-run"});
  const std::vector<std::string> words{"--dry_run", "mars_2"};
  const auto parsed = parse_arguments(verb, words);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->has("--dry-run"));
  EXPECT_THAT(parsed->operands(), ElementsAre("mars_2"));
}

TEST(Arguments, OfAVerbThatRunsACommandTheFirstOperandEndsTheOptions) {
  VerbSpec verb = fly();
  verb.runs_command = true;
  verb.operands_max = -1;
  const std::vector<std::string> words{"--json", "mars", "--speed", "-h", "--", "--json"};
  const auto parsed = parse_arguments(verb, words);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->has("--json"));
  EXPECT_FALSE(parsed->has("--speed"));
  EXPECT_THAT(parsed->operands(), ElementsAre("mars", "--speed", "-h", "--", "--json"));
}

TEST(Arguments, UnknownOptionNamesTheNearest) {
  EXPECT_EQ(first_error({"mars", "--sped", "3"}),
            "orrery fly: --sped: unknown option; did you mean --speed?");
  EXPECT_THAT(first_error({"mars", "--colour"}), HasSubstr("see orrery help fly"));
}

TEST(Arguments, EveryOffenceIsNamedAtOnce) {
  const std::vector<std::string> words{"--speed=1", "--speed=2", "--json=yes", "--engine", "steam"};
  const auto parsed = parse_arguments(fly(), words);
  ASSERT_FALSE(parsed);
  ASSERT_EQ(parsed.errors().size(), 4U);
  EXPECT_THAT(parsed.errors()[0].text(), HasSubstr("given twice"));
  EXPECT_THAT(parsed.errors()[1].text(), HasSubstr("needed none"));
  EXPECT_THAT(parsed.errors()[2].text(),
              HasSubstr("\"steam\" is no choice, needed one of ion, sail"));
  EXPECT_THAT(parsed.errors()[3].text(), HasSubstr("0 operands, needed WHERE"));
}

TEST(Arguments, AValueMustFollow) {
  EXPECT_THAT(first_error({"mars", "--speed"}), HasSubstr("no value follows, needed V"));
  EXPECT_THAT(first_error({"a", "b", "c"}), HasSubstr("3 operands"));
}

TEST(Arguments, HelpIsWantedWhateverElseIsWrong) {
  const std::vector<std::string> words{"--nonsense", "-h"};
  const auto parsed = parse_arguments(fly(), {words.data() + 1, 1});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->wants_help());
  const auto both = parse_arguments(fly(), words);
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->wants_help());
}

TEST(WholeNumber, RefusesWhatIsNoneOrOutOfRange) {
  EXPECT_EQ(whole_number("--seed", "18446744073709551615", 0, UINT64_MAX).value(), UINT64_MAX);
  for (const char* bad : {"", "-1", "1.5", "7x", " 7", "18446744073709551616", "11"})
    EXPECT_FALSE(whole_number("--n", bad, 1, 10)) << bad;
}

TEST(SeedRange, BothEndsAreIncluded) {
  const auto range = seed_range("--seeds", "3..5");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 3U);
  EXPECT_EQ(range->last, 5U);
  EXPECT_EQ(range->count(), 3U);
  EXPECT_EQ(seed_range("--seeds", "7")->count(), 1U);
  for (const char* bad : {"5..3", "1-5", "..", "1..", "0..18446744073709551615"})
    EXPECT_FALSE(seed_range("--seeds", bad)) << bad;
}

TEST(CommaList, RefusesEmptyAndRepeatedElements) {
  EXPECT_THAT(comma_list("--policies", "a,b").value(), ElementsAre("a", "b"));
  for (const char* bad : {"", "a,", ",a", "a,,b", "a,b,a"})
    EXPECT_FALSE(comma_list("--policies", bad)) << bad;
}

TEST(Nearest, FindsSlipsAndNothingFarAway) {
  const std::vector<std::string_view> known{"sim", "compare", "completion"};
  EXPECT_EQ(nearest("compre", known), "compare");
  EXPECT_EQ(nearest("smi", known), "sim");
  EXPECT_EQ(nearest("storm", known), std::nullopt);
}

}  // namespace
}  // namespace orrery::cli
