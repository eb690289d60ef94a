#include "core/base/math.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/base/digest.hpp"
#include "core/base/random.hpp"

namespace orrery {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kPoints = 300'000;

/// Distance of `result` from the exact `wanted` in units of the last place of `wanted`.
double error_in_ulp(double result, long double wanted) {
  const double rounded = std::fabs(static_cast<double>(wanted));
  if (!std::isfinite(rounded)) return result == static_cast<double>(wanted) ? 0.0 : kInfinity;
  const double ulp = std::nextafter(rounded, kInfinity) - rounded;
  const long double error = static_cast<long double>(result) - wanted;
  return std::fabs(static_cast<double>(error / static_cast<long double>(ulp)));
}

/// The references are the C library's functions in 64-bit precision, good to 2^-10 of our unit.
class MathAccuracy : public testing::Test {
 protected:
  void SetUp() override {
    if (std::numeric_limits<long double>::digits < 64) {
      GTEST_SKIP() << "long double is no wider than double here: no reference to compare with";
    }
  }

  template <class Point, class Ours, class Reference>
  static void expect_ulp_below(
      // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): a bound in ulp, then a seed
      double bound,
      std::uint64_t seed,
      Point point,
      Ours ours,
      Reference reference) {
    Random random(seed);
    double worst = 0.0;
    double worst_at = 0.0;
    for (int i = 0; i < kPoints; ++i) {
      const double x = point(random);
      const double error = error_in_ulp(ours(x), reference(static_cast<long double>(x)));
      if (!(error <= worst)) {
        worst = error;
        worst_at = x;
      }
    }
    EXPECT_LT(worst, bound) << "seed " << seed << ", worst at " << worst_at;
  }
};

/// Log-uniform size with a random sign.
double signed_size(Random& random, double log_low, double log_high) {
  const double size = std::exp(random.uniform(log_low, log_high));
  return random.chance(0.5) ? size : -size;
}

TEST_F(MathAccuracy, ExpIsWithinOneUlpOverItsWholeRange) {
  const auto reference = [](long double x) { return expl(x); };
  expect_ulp_below(
      1.0, 11, [](Random& r) { return r.uniform(-746.0, 710.0); }, math::exp, reference);
  expect_ulp_below(
      1.0, 12, [](Random& r) { return signed_size(r, -40.0, 1.0); }, math::exp, reference);
}

TEST_F(MathAccuracy, LogIsWithinOneUlpAlsoNearOneAndForSubnormals) {
  const auto reference = [](long double x) { return logl(x); };
  expect_ulp_below(
      1.0, 21, [](Random& r) { return std::exp(r.uniform(-744.0, 709.0)); }, math::log, reference);
  expect_ulp_below(
      1.0, 22, [](Random& r) { return 1.0 + signed_size(r, -36.0, -0.8); }, math::log, reference);
}

TEST_F(MathAccuracy, ExpAndLogNearZeroAreWithinThreeUlp) {
  expect_ulp_below(
      3.0,
      31,
      [](Random& r) { return signed_size(r, -50.0, 6.0); },
      math::expm1,
      [](long double x) { return expm1l(x); });
  expect_ulp_below(
      3.0,
      32,
      [](Random& r) { return signed_size(r, -50.0, -1e-3); },
      math::log1p,
      [](long double x) { return log1pl(x); });
}

TEST_F(MathAccuracy, PowIsWithinOneUlpOverItsWholeRange) {
  Random exponents(41);
  double y = 0.0;
  const auto ours = [&](double x) { return math::pow(x, y); };
  const auto reference = [&](long double x) { return powl(x, static_cast<long double>(y)); };
  // The whole range of results, subnormal ones included, from wide and from near-one bases.
  const auto wide = [&](Random& r) {
    const double log_x = r.uniform(-700.0, 700.0);
    y = exponents.uniform(-744.0, 709.0) / log_x;
    return std::exp(log_x);
  };
  const auto near_one = [&](Random& r) {
    const double f = signed_size(r, -30.0, -2.0);
    y = exponents.uniform(-700.0, 700.0) / std::log1p(f);
    return 1.0 + f;
  };
  expect_ulp_below(1.0, 42, wide, ours, reference);
  expect_ulp_below(1.0, 43, near_one, ours, reference);
}

TEST_F(MathAccuracy, SineOfTurnsIsAccurateToTheLastBitOfOne) {
  constexpr long double kTwoPi = 6.283185307179586476925286766559L;
  Random random(51);
  for (int i = 0; i < kPoints; ++i) {
    const double turns = random.uniform(-3.0, 3.0);
    const auto wanted = static_cast<double>(sinl(kTwoPi * static_cast<long double>(turns)));
    ASSERT_NEAR(math::sin_of_turns(turns), wanted, 4e-16) << "seed 51, at " << turns;
  }
}

TEST(Math, SpecialValuesOfExpAndLogAreDefined) {
  EXPECT_EQ(math::exp(0.0), 1.0);
  EXPECT_EQ(math::exp(-0.0), 1.0);
  EXPECT_EQ(math::exp(kInfinity), kInfinity);
  EXPECT_EQ(math::exp(-kInfinity), 0.0);
  EXPECT_EQ(math::exp(710.0), kInfinity);
  EXPECT_EQ(math::exp(-746.0), 0.0);
  EXPECT_GT(math::exp(-745.1), 0.0);
  EXPECT_TRUE(std::isfinite(math::exp(709.78)));
  EXPECT_TRUE(std::isnan(math::exp(kNaN)));
  EXPECT_EQ(math::log(1.0), 0.0);
  EXPECT_EQ(math::log(0.0), -kInfinity);
  EXPECT_EQ(math::log(-0.0), -kInfinity);
  EXPECT_EQ(math::log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(math::log(-1.0)));
  EXPECT_TRUE(std::isnan(math::log(kNaN)));
  EXPECT_EQ(math::log(std::numeric_limits<double>::denorm_min()), -0x1.74385446d71c3p+9);
  EXPECT_EQ(math::expm1(-kInfinity), -1.0);
  EXPECT_EQ(math::expm1(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(math::expm1(kNaN)));
  EXPECT_EQ(math::log1p(-1.0), -kInfinity);
  EXPECT_EQ(math::log1p(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(math::log1p(-2.0)));
  EXPECT_TRUE(std::isnan(math::log1p(kNaN)));
}

TEST(Math, SpecialValuesOfPowFollowTheStandard) {
  EXPECT_EQ(math::pow(kNaN, 0.0), 1.0);
  EXPECT_EQ(math::pow(1.0, kNaN), 1.0);
  EXPECT_TRUE(std::isnan(math::pow(kNaN, 1.0)));
  EXPECT_TRUE(std::isnan(math::pow(2.0, kNaN)));
  EXPECT_EQ(math::pow(-1.0, kInfinity), 1.0);
  EXPECT_EQ(math::pow(2.0, kInfinity), kInfinity);
  EXPECT_EQ(math::pow(2.0, -kInfinity), 0.0);
  EXPECT_EQ(math::pow(0.5, kInfinity), 0.0);
  EXPECT_EQ(math::pow(0.5, -kInfinity), kInfinity);
  EXPECT_EQ(math::pow(0.0, 2.0), 0.0);
  EXPECT_EQ(math::pow(0.0, -2.0), kInfinity);
  EXPECT_EQ(math::pow(-0.0, -3.0), -kInfinity);
  EXPECT_TRUE(std::signbit(math::pow(-0.0, 3.0)));
  EXPECT_EQ(math::pow(kInfinity, -1.0), 0.0);
  EXPECT_EQ(math::pow(-kInfinity, 3.0), -kInfinity);
  EXPECT_EQ(math::pow(-kInfinity, 2.0), kInfinity);
  EXPECT_EQ(math::pow(-2.0, 3.0), -8.0);
  EXPECT_EQ(math::pow(-2.0, 2.0), 4.0);
  EXPECT_TRUE(std::isnan(math::pow(-2.0, 0.5)));
  EXPECT_EQ(math::pow(2.0, 1e300), kInfinity);
  EXPECT_EQ(math::pow(2.0, -1e300), 0.0);
  EXPECT_EQ(math::pow(2.0, 1e-300), 1.0);
  EXPECT_EQ(math::pow(10.0, 3.0), 1000.0);
  EXPECT_EQ(math::pow(9.0, 0.5), 3.0);
  EXPECT_EQ(math::pow(2.0, -1074.0), std::numeric_limits<double>::denorm_min());
}

TEST(Math, QuarterTurnsAreExact) {
  for (const double whole : {-2.0, 0.0, 5.0}) {
    EXPECT_EQ(math::sin_of_turns(whole), 0.0);
    EXPECT_EQ(math::sin_of_turns(whole + 0.25), 1.0);
    EXPECT_EQ(math::sin_of_turns(whole + 0.5), 0.0);
    EXPECT_EQ(math::sin_of_turns(whole + 0.75), -1.0);
  }
  EXPECT_TRUE(std::isnan(math::sin_of_turns(kInfinity)));
}

// Golden logs rest on these bits: a change of any of them is a change of format.
TEST(Math, AMillionResultsHaveThePinnedBits) {
  Random random(2026);
  Digester digester;
  for (int i = 0; i < 200'000; ++i) {
    const double u = random.uniform(-700.0, 700.0);
    const double v = random.uniform_positive();
    digester.update(std::bit_cast<std::uint64_t>(math::exp(u)));
    digester.update(std::bit_cast<std::uint64_t>(math::log(v)));
    digester.update(std::bit_cast<std::uint64_t>(math::pow(v, u)));
    digester.update(std::bit_cast<std::uint64_t>(math::expm1(v)));
    digester.update(std::bit_cast<std::uint64_t>(math::sin_of_turns(u) + math::log1p(v)));
  }
  EXPECT_EQ(digester.finish().to_hex(), "8a609b00f6952bdb423ee34bc9098df4");
}

}  // namespace
}  // namespace orrery
