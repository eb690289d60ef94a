#include "sim/statistics/paired.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "core/base/random.hpp"

namespace orrery::sim {
namespace {

TEST(SignFlip, DarwinsPlantsAsFisherCountedThem) {
  // Heights of cross- and self-fertilised plants, eighths of an inch: of the 2^15 signs 863 give a
  // sum as high as 314 (Fisher, The Design of Experiments, section 21), as many one as low.
  const std::vector<double> plants{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
  EXPECT_DOUBLE_EQ(sign_flip_p(plants), 2 * 863 / 32768.0);
}

TEST(SignFlip, ByHand) {
  // Sums of +-1 +-2 +-3: 6, 4, 2, 0, 0, -2, -4, -6.
  EXPECT_DOUBLE_EQ(sign_flip_p(std::vector<double>{1, 2, 3}), 2 / 8.0);
  EXPECT_DOUBLE_EQ(sign_flip_p(std::vector<double>{-1, 2, 3}), 4 / 8.0);
  EXPECT_DOUBLE_EQ(sign_flip_p(std::vector<double>{1, -2, 3}), 6 / 8.0);
  EXPECT_DOUBLE_EQ(sign_flip_p(std::vector<double>{1, 2, -3}), 1);
  EXPECT_DOUBLE_EQ(sign_flip_p(std::vector<double>{5}), 1);
  EXPECT_DOUBLE_EQ(sign_flip_p({}), 1);
  EXPECT_DOUBLE_EQ(sign_flip_p(std::vector<double>{0, 0, 0}), 1);
}

/// All signs, one after the other, from the definition; of whole numbers, so that sums are exact.
double over_all_signs(const std::vector<double>& differences) {
  double observed = 0;
  for (const double difference : differences) observed += difference;
  std::uint64_t hits = 0;
  const std::uint64_t count = std::uint64_t{1} << differences.size();
  for (std::uint64_t signs = 0; signs < count; ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < differences.size(); ++i)
      sum += (signs >> i & 1) != 0 ? -differences[i] : differences[i];
    if (std::abs(sum) >= std::abs(observed)) ++hits;
  }
  return static_cast<double>(hits) / static_cast<double>(count);
}

TEST(SignFlip, IsWhatAllSignsGive) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<double> differences(1 + random.below(12));
    for (double& each : differences) each = static_cast<double>(random.between(-6, 8));
    EXPECT_DOUBLE_EQ(sign_flip_p(differences), over_all_signs(differences));
    // Scaled by a number that is no sum of powers of two, ties are still ties.
    std::vector<double> scaled = differences;
    for (double& each : scaled) each *= 0.1;
    EXPECT_DOUBLE_EQ(sign_flip_p(scaled), sign_flip_p(differences));
    for (double& each : scaled) each = -each;
    EXPECT_DOUBLE_EQ(sign_flip_p(scaled), sign_flip_p(differences));
    EXPECT_GE(sign_flip_p(differences), smallest_p(differences.size()));
  }
}

TEST(SignFlip, ManySeedsAreSampledNearTheExactValue) {
  // Twenty are exact, and so are these twenty-one but for one difference of next to nothing.
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<double> differences(kExactSignsMax);
    for (double& each : differences) each = random.normal() + 0.4;
    const double exact = sign_flip_p(differences);
    differences.push_back(1e-300);
    const double error = 4 * std::sqrt(exact * (1 - exact) / kRandomSigns) + 2e-5;
    EXPECT_NEAR(sign_flip_p(differences), exact, error);
  }
  std::vector<double> all_alike(100, 1);
  EXPECT_DOUBLE_EQ(sign_flip_p(all_alike), 1.0 / (kRandomSigns + 1));
}

TEST(SignFlip, WithoutADifferenceItIsBelowFivePercentInFivePercentOfTheTime) {
  constexpr int kSamples = 4000;
  for (const std::size_t size : {6U, 10U, 12U}) {
    Random random(size);
    int below = 0;
    for (int sample = 0; sample < kSamples; ++sample) {
      std::vector<double> differences(size);
      for (double& each : differences) each = random.exponential(1) - random.exponential(1);
      below += sign_flip_p(differences) <= 0.05 ? 1 : 0;
    }
    std::printf("%zu seeds: %d of %d below 0.05\n", size, below, kSamples);
    EXPECT_LE(below, 0.06 * kSamples);
    EXPECT_GE(below, 0.02 * kSamples);  // Of six seeds only 2 of 64 values are below.
  }
}

TEST(SignFlip, TheSmallestValue) {
  EXPECT_DOUBLE_EQ(smallest_p(1), 1);
  EXPECT_DOUBLE_EQ(smallest_p(5), 0.0625);
  EXPECT_DOUBLE_EQ(smallest_p(6), 0.03125);
  EXPECT_DOUBLE_EQ(sign_flip_p(std::vector<double>{1, 2, 1, 4, 1, 3}), smallest_p(6));
}

TEST(Holm, IsThatOfItsPaper) {
  // The smallest times four, the next times three, and never below the one before.
  const std::vector<double> p{0.01, 0.04, 0.03, 0.005};
  const std::vector<double> adjusted = holm(p);
  EXPECT_DOUBLE_EQ(adjusted[3], 0.02);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.03);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.06);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.06);
  EXPECT_TRUE(holm({}).empty());
  EXPECT_EQ(holm(std::vector<double>{0.7, 0.9}), (std::vector<double>{1, 1}));
}

TEST(PairedDifference, IsOfPairs) {
  // Seeds differ by far more than the policies do.
  const std::vector<double> first{100, 300, 500, 900, 700, 200};
  std::vector<double> second = first;
  for (std::size_t i = 0; i < second.size(); ++i) second[i] += 2 + static_cast<double>(i % 2);
  const PairedDifference pair = paired_difference(second, first);
  EXPECT_DOUBLE_EQ(pair.difference.mean, 2.5);
  EXPECT_GE(pair.difference.interval->low, 2);
  EXPECT_LE(pair.difference.interval->high, 3);
  EXPECT_DOUBLE_EQ(pair.p, smallest_p(6));
}

}  // namespace
}  // namespace orrery::sim
