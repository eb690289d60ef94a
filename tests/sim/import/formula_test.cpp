#include "sim/import/formula.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "core/base/random.hpp"

namespace orrery::sim {
namespace {

using testing::HasSubstr;

const FormulaValues kValues{{"num_nodes", 4}, {"alpha", 0.5}, {"flops", 100}};

double value_of(std::string_view text) {
  const auto value = evaluate_formula(text, kValues);
  if (value) return *value;
  ADD_FAILURE() << text << ": " << value.errors().front().text();
  return std::nan("");
}

std::string error_of(std::string_view text) {
  const auto value = evaluate_formula(text, kValues);
  return value ? "" : value.errors().front().text();
}

TEST(Formula, KnowsPrecedence) {
  EXPECT_EQ(value_of("1 + 2 * 3"), 7);
  EXPECT_EQ(value_of("(1 + 2) * 3"), 9);
  EXPECT_EQ(value_of("10 - 4 - 3"), 3);
  EXPECT_EQ(value_of("2 ^ 3 ^ 2"), 512);
  EXPECT_EQ(value_of("-2 ^ 2"), -4);
  EXPECT_EQ(value_of("2 ^ -1"), 0.5);
  EXPECT_EQ(value_of("7 % 4 * 2"), 6);
  EXPECT_EQ(value_of("1 + 1 == 2 and 3 > 2"), 1);
  EXPECT_EQ(value_of("0 or not 1"), 0);
  EXPECT_EQ(value_of("1e3 / .5"), 2000);
}

TEST(Formula, KnowsWhatElastiSimsExamplesUse) {
  EXPECT_EQ(value_of("flops/num_nodes^alpha"), 50);
  EXPECT_EQ(value_of("num_nodes % 2 == 0 ? num_nodes - 4 : num_nodes + 4"), 0);
  EXPECT_EQ(value_of("1 > 2 ? 3 : 4 > 3 ? 5 : 6"), 5);
  EXPECT_EQ(value_of("max(1, num_nodes, 2) + min(3, 2)"), 6);
  EXPECT_EQ(value_of("if(num_nodes >= 4, ceil(2.1), 0)"), 3);
  EXPECT_EQ(value_of("clamp(1, 9, 5) + sgn(-2) + mod(7, 4) + pow(2, 3)"), 15);
  EXPECT_NEAR(value_of("log2(8) + log10(100) + exp(0)"), 6, 1e-12);
}

TEST(Formula, NamesWhatIsWrong) {
  EXPECT_THAT(error_of("flops / nodes"),
              HasSubstr("names 'nodes', needed one of alpha, flops, num_nodes"));
  EXPECT_THAT(error_of("1 +"), HasSubstr("has the end at byte 3, where a number, a name"));
  EXPECT_THAT(error_of("(1"), HasSubstr("where ')' is needed"));
  EXPECT_THAT(error_of("1 2"), HasSubstr("where an operator or the end is needed"));
  EXPECT_THAT(error_of("1 / 0"), HasSubstr("no finite value"));
  EXPECT_THAT(error_of("system(1)"), HasSubstr("calls 'system' with 1 arguments"));
  EXPECT_THAT(error_of("1 ? 2"), HasSubstr("where ':' is needed"));
  EXPECT_THAT(error_of(""), HasSubstr("has the end at byte 0"));
}

TEST(Formula, IsBoundedInDepthAndLength) {
  EXPECT_THAT(error_of(std::string(1000, '(')), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(error_of(std::string(1000, '-') + "1"), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(error_of(std::string(5000, '1')), HasSubstr("longer than 4096"));
  std::string long_sum = "1";
  for (int i = 0; i < 1000; ++i) long_sum += "+1";
  EXPECT_EQ(value_of(long_sum), 1001);
}

/// A random formula written in full parentheses, and its value.
struct Written {
  std::string text;
  double value;
};

Written random_formula(Random& random, int depth) {
  if (depth == 0 || random.below(4) == 0) {
    const auto number = static_cast<double>(random.below(1000)) / 8;
    return {std::to_string(number), number};
  }
  const Written a = random_formula(random, depth - 1);
  const Written b = random_formula(random, depth - 1);
  switch (random.below(6)) {
    case 0:
      return {"(" + a.text + " + " + b.text + ")", a.value + b.value};
    case 1:
      return {"(" + a.text + "-" + b.text + ")", a.value - b.value};
    case 2:
      return {"(" + a.text + "*" + b.text + ")", a.value * b.value};
    case 3:
      return {"max(" + a.text + ", " + b.text + ")", std::max(a.value, b.value)};
    case 4:
      return {"(" + a.text + "<" + b.text + ")", a.value < b.value ? 1.0 : 0.0};
    default:
      return {"(" + a.text + " > 50 ? " + b.text + " : -" + b.text + ")",
              a.value > 50 ? b.value : -b.value};
  }
}

TEST(Formula, WorksOutWhatIsWritten) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    const Written written = random_formula(random, 5);
    EXPECT_EQ(value_of(written.text), written.value) << "seed " << seed << ": " << written.text;
  }
}

}  // namespace
}  // namespace orrery::sim
