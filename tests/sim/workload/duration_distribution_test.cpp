#include "sim/workload/duration_distribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace orrery::sim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kDraws = 100'000;

std::vector<double> sorted_draws(const DurationDistribution& distribution, std::uint64_t seed) {
  EXPECT_THAT(check(distribution, "duration"), IsEmpty());
  const DurationSampler sampler(distribution);
  Random random(seed);
  std::vector<double> draws;
  for (int i = 0; i < kDraws; ++i) draws.push_back(sampler.draw(random).in_seconds());
  std::sort(draws.begin(), draws.end());
  return draws;
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

DurationDistribution wide(DurationShape shape) {
  DurationDistribution distribution = DurationDistribution::of(shape);
  distribution.shortest = Duration::milliseconds(1);
  distribution.longest = Duration::seconds(1'000'000'000);
  return distribution;
}

TEST(DurationDistribution, EachShapeHasItsMeanOrMedian) {
  const auto fixed = sorted_draws(wide(FixedDuration{Duration::seconds(90)}), 1);
  EXPECT_EQ(fixed.front(), 90.0);
  EXPECT_EQ(fixed.back(), 90.0);
  const auto exponential = sorted_draws(wide(ExponentialDuration{Duration::seconds(100)}), 2);
  EXPECT_NEAR(mean(exponential), 100.0, 5 * 100.0 / std::sqrt(kDraws)) << "seed 2";
  const auto lognormal = sorted_draws(wide(LognormalDuration{Duration::seconds(100), 1.5}), 3);
  EXPECT_NEAR(lognormal[kDraws / 2], 100.0, 4.0) << "seed 3";
  EXPECT_NEAR(lognormal[kDraws * 9 / 10], 100.0 * std::exp(1.2816 * 1.5), 25.0) << "seed 3";
  const auto weibull = sorted_draws(wide(WeibullDuration{0.7, Duration::seconds(100)}), 4);
  EXPECT_NEAR(weibull[kDraws / 2], 100.0 * std::pow(std::log(2.0), 1 / 0.7), 2.5) << "seed 4";
  const auto pareto = sorted_draws(
      wide(BoundedParetoDuration{1.1, Duration::seconds(10), Duration::seconds(100'000)}), 5);
  EXPECT_GE(pareto.front(), 10.0);
  EXPECT_LE(pareto.back(), 100'000.0);
  EXPECT_NEAR(pareto[kDraws / 2], 10.0 * std::pow(2.0, 1 / 1.1), 0.4) << "seed 5";
}

TEST(DurationDistribution, MixturesTakeTheirPartsByWeight) {
  DurationDistribution mixture;
  mixture.parts = {{1.0, FixedDuration{Duration::seconds(10)}},
                   {3.0, FixedDuration{Duration::seconds(20)}}};
  const auto draws = sorted_draws(mixture, 6);
  const auto tens = std::count(draws.begin(), draws.end(), 10.0);
  EXPECT_NEAR(static_cast<double>(tens) / kDraws, 0.25, 0.007) << "seed 6";
}

TEST(DurationDistribution, DrawsStayWithinTheBoundsInWholeMicroseconds) {
  DurationDistribution distribution =
      DurationDistribution::of(LognormalDuration{Duration::seconds(100), 3.0});
  distribution.shortest = Duration::seconds(5);
  distribution.longest = Duration::seconds(1000);
  const auto draws = sorted_draws(distribution, 7);
  EXPECT_EQ(draws.front(), 5.0);
  EXPECT_EQ(draws.back(), 1000.0);
  const DurationSampler sampler(distribution);
  Random random(8);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sampler.draw(random).ns % 1000, 0);
}

TEST(DurationDistribution, EveryFaultIsReportedAtOnceWithItsField) {
  DurationDistribution distribution;
  distribution.parts = {
      {0.0, LognormalDuration{Duration::zero(), -1.0}},
      {1.0, BoundedParetoDuration{1.1, Duration::seconds(5), Duration::seconds(4)}}};
  distribution.shortest = Duration::seconds(10);
  distribution.longest = Duration::seconds(9);
  const Errors errors = check(distribution, "workload.duration");
  ASSERT_THAT(errors, SizeIs(5));
  EXPECT_EQ(errors[0].subject, "workload.duration.longest");
  EXPECT_EQ(errors[1].subject, "workload.duration.weight");
  EXPECT_EQ(errors[2].subject, "workload.duration.median");
  EXPECT_EQ(errors[3].subject, "workload.duration.sigma");
  EXPECT_EQ(errors[4].subject, "workload.duration.high");
  EXPECT_THAT(errors[4].message, HasSubstr("high is 4.000000 s, but low is 5.000000 s"));
  EXPECT_THAT(check(DurationDistribution{}, "d"), SizeIs(1)) << "no part";
}

}  // namespace
}  // namespace orrery::sim
