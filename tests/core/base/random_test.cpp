#include "core/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/math.hpp"

namespace orrery {
namespace {

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
};

template <class Draw>
Moments moments_of(int count, Draw draw) {
  double sum = 0.0;
  double square = 0.0;
  for (int i = 0; i < count; ++i) {
    const double value = draw();
    sum += value;
    square += value * value;
  }
  const double mean = sum / count;
  return {mean, square / count - mean * mean};
}

constexpr int kDraws = 400'000;

/// Five standard errors of a mean of kDraws values.
double tolerance(double variance) { return 5.0 * std::sqrt(variance / kDraws); }

TEST(Random, FirstValuesArePinned) {
  Random random(1);
  EXPECT_EQ(random.bits(), 12966619160104079557U);
  EXPECT_EQ(random.bits(), 9600361134598540522U);
  EXPECT_EQ(Random::stream(1, "arrivals").bits(), 17728658882952216553U);
  EXPECT_EQ(Random(7).uniform(), 0x1.66b1f5ee9df2ep-1);
  EXPECT_EQ(Random(7).normal(), 0x1.edc0d635eea0bp-1);
  EXPECT_EQ(Random(7).below(1'000'000), 700'576U);
}

TEST(Random, EqualSeedsAndPurposesGiveEqualStreams) {
  Random a = Random::stream(5, "faults");
  Random b = Random::stream(5, "faults");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.bits(), b.bits());
}

TEST(Random, StreamsOfOtherPurposesOrSeedsAreUncorrelated) {
  Random a = Random::stream(5, "faults");
  Random b = Random::stream(5, "arrivals");
  Random c = Random::stream(6, "faults");
  double ab = 0.0;
  double ac = 0.0;
  int equal = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = a.uniform() - 0.5;
    const double y = b.uniform() - 0.5;
    const double z = c.uniform() - 0.5;
    ab += x * y;
    ac += x * z;
    equal += static_cast<int>(x == y) + static_cast<int>(x == z);
  }
  // The variance of a product of two centred uniforms is 1 / 144.
  EXPECT_NEAR(ab / kDraws, 0.0, tolerance(1.0 / 144)) << "seed 5";
  EXPECT_NEAR(ac / kDraws, 0.0, tolerance(1.0 / 144)) << "seeds 5, 6";
  EXPECT_LE(equal, 1);
}

TEST(Random, SavedStateContinuesTheSequence) {
  Random random(9);
  for (int i = 0; i < 10; ++i) random.normal();
  Random again = Random::from_state(random.state());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.normal(), again.normal());
}

TEST(Random, UniformIntegersAreUnbiasedAndReachEveryValue) {
  constexpr std::uint64_t kSides = 7;
  Random random(3);
  std::vector<int> counts(kSides);
  for (int i = 0; i < kDraws; ++i) ++counts[random.below(kSides)];
  double chi_square = 0.0;
  const double expected = static_cast<double>(kDraws) / kSides;
  for (const int count : counts) chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, 22.5) << "seed 3; 6 degrees of freedom, probability 0.001";
}

TEST(Random, RangesIncludeBothEnds) {
  Random random(4);
  std::vector<int> counts(5);
  for (int i = 0; i < 1000; ++i) ++counts[static_cast<std::size_t>(random.between(-2, 2) + 2)];
  for (const int count : counts) EXPECT_GT(count, 0);
  EXPECT_EQ(random.between(8, 8), 8);
  random.between(INT64_MIN, INT64_MAX);
}

TEST(Random, UniformNumbersStayInTheirInterval) {
  Random random(6);
  const Moments m = moments_of(kDraws, [&] {
    const double u = random.uniform();
    EXPECT_TRUE(u >= 0.0 && u < 1.0);
    return u;
  });
  EXPECT_NEAR(m.mean, 0.5, tolerance(1.0 / 12)) << "seed 6";
  EXPECT_NEAR(m.variance, 1.0 / 12, 0.001) << "seed 6";
}

TEST(Random, ExponentialHasItsMoments) {
  Random random(10);
  const Moments m = moments_of(kDraws, [&] { return random.exponential(3.0); });
  EXPECT_NEAR(m.mean, 3.0, tolerance(9.0)) << "seed 10";
  EXPECT_NEAR(m.variance, 9.0, 0.25) << "seed 10";
}

TEST(Random, NormalHasItsMomentsAndTails) {
  Random random(11);
  int beyond_two = 0;
  const Moments m = moments_of(kDraws, [&] {
    const double x = random.normal();
    beyond_two += static_cast<int>(std::fabs(x) > 2.0);
    return x;
  });
  EXPECT_NEAR(m.mean, 0.0, tolerance(1.0)) << "seed 11";
  EXPECT_NEAR(m.variance, 1.0, 0.012) << "seed 11";
  EXPECT_NEAR(static_cast<double>(beyond_two) / kDraws, 0.0455, tolerance(0.0455)) << "seed 11";
}

TEST(Random, LognormalHasItsMedianAndMean) {
  Random random(12);
  int below_median = 0;
  const Moments m = moments_of(kDraws, [&] {
    const double x = random.lognormal(2.0, 0.5);
    below_median += static_cast<int>(x < std::exp(2.0));
    return x;
  });
  const double mean = std::exp(2.0 + 0.125);
  EXPECT_NEAR(m.mean, mean, tolerance(mean * mean * (std::exp(0.25) - 1))) << "seed 12";
  EXPECT_NEAR(static_cast<double>(below_median) / kDraws, 0.5, tolerance(0.25)) << "seed 12";
}

TEST(Random, WeibullHasItsMoments) {
  Random random(13);
  const Moments m = moments_of(kDraws, [&] { return random.weibull(0.7, 2.0); });
  const double mean = 2.0 * std::tgamma(1.0 + 1.0 / 0.7);
  const double variance = 4.0 * std::tgamma(1.0 + 2.0 / 0.7) - mean * mean;
  EXPECT_NEAR(m.mean, mean, tolerance(variance)) << "seed 13";
}

TEST(Random, BoundedParetoStaysInItsBoundsAndHasItsMean) {
  Random random(14);
  const double shape = 1.5;
  const double low = 2.0;
  const double high = 500.0;
  const Moments m = moments_of(kDraws, [&] {
    const double x = random.bounded_pareto(shape, low, high);
    EXPECT_TRUE(x >= low && x <= high);
    return x;
  });
  const double covered = 1.0 - std::pow(low / high, shape);
  const double mean = std::pow(low, shape) / covered * shape / (shape - 1.0) *
                      (std::pow(low, 1.0 - shape) - std::pow(high, 1.0 - shape));
  EXPECT_NEAR(m.mean, mean, tolerance(m.variance)) << "seed 14";
}

TEST(Random, ChoicesFollowTheirWeights) {
  Random random(15);
  const std::vector<double> weights{0.0, 1.0, 3.0, 0.0, 6.0, 0.0};
  std::vector<int> counts(weights.size());
  for (int i = 0; i < kDraws; ++i) ++counts[random.choose(weights)];
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double p = weights[i] / 10.0;
    EXPECT_NEAR(static_cast<double>(counts[i]) / kDraws, p, tolerance(p)) << "seed 15, index " << i;
  }
}

TEST(Random, ShufflesAreUniformPermutations) {
  Random random(16);
  std::vector<int> at_front(4);
  std::vector<int> sorted(4);
  std::iota(sorted.begin(), sorted.end(), 0);
  for (int i = 0; i < 40'000; ++i) {
    std::vector<int> items = sorted;
    random.shuffle(items);
    ++at_front[static_cast<std::size_t>(items[0])];
    std::sort(items.begin(), items.end());
    ASSERT_EQ(items, sorted);
  }
  for (const int count : at_front) EXPECT_NEAR(count, 10'000, 450) << "seed 16";
}

}  // namespace
}  // namespace orrery
