// The knapsack of sizes against every choice there is.
#include "policies/concave_knapsack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/random.hpp"

namespace orrery {
namespace {

using policies::Knapsack;
using policies::KnapsackAnswer;
using policies::KnapsackSolver;

/// `gains` hold those of the knapsack.
Knapsack random_knapsack(Random& random, std::vector<std::vector<double>>& gains) {
  Knapsack out;
  const auto count = random.between(1, 4);
  gains.assign(4, {});
  for (std::int64_t size = 9; static_cast<std::int64_t>(out.sizes.size()) < count && size > 0;
       size -= random.between(1, 2)) {
    std::vector<double>& its = gains[out.sizes.size()];
    for (auto left = random.between(0, 5); left > 0; --left)
      its.push_back(static_cast<double>(random.between(0, 20) * size) / 7);
    std::sort(its.rbegin(), its.rend());
    out.sizes.push_back({size, its});
  }
  out.capacity = random.between(0, 40);
  out.least = std::max<std::int64_t>(out.capacity - random.between(0, 40), 0);
  out.limited = static_cast<std::size_t>(random.below(out.sizes.size() + 1));
  out.limited_most = random.between(0, 6);
  return out;
}

/// The greatest value of the sizes from `at` on, nothing where no choice keeps the bounds.
std::optional<double> greatest(const Knapsack& knapsack,
                               std::size_t at,
                               std::int64_t taken,
                               std::int64_t limited) {
  if (taken > knapsack.capacity || limited > knapsack.limited_most) return std::nullopt;
  if (at == knapsack.sizes.size())
    return taken >= knapsack.least ? std::optional<double>(0) : std::nullopt;
  std::optional<double> best;
  double gain = 0;
  const policies::KnapsackSize& units = knapsack.sizes[at];
  for (std::size_t count = 0; count <= units.gains.size(); ++count) {
    const auto more = static_cast<std::int64_t>(count);
    const auto rest = greatest(
        knapsack, at + 1, taken + more * units.size, limited + (at < knapsack.limited ? more : 0));
    if (rest.has_value()) best = std::max(best.value_or(-1), gain + *rest);
    if (count < units.gains.size()) gain += units.gains[count];
  }
  return best;
}

TEST(ConcaveKnapsack, IsAsGoodAsEveryChoice) {
  int with = 0;
  int without = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random = Random::stream(seed, "knapsack");
    std::vector<std::vector<double>> gains;
    const Knapsack knapsack = random_knapsack(random, gains);
    std::int64_t steps = 1'000'000;
    const auto found = policies::solve(knapsack, -1, steps);
    const auto best = greatest(knapsack, 0, 0, 0);
    ASSERT_EQ(found.has_value(), best.has_value()) << "seed " << seed;
    ++(best.has_value() ? with : without);
    if (!found.has_value()) continue;
    EXPECT_NEAR(found->value, *best, 1e-9) << "seed " << seed;
    std::int64_t taken = 0;
    std::int64_t limited = 0;
    for (std::size_t i = 0; i < knapsack.sizes.size(); ++i) {
      taken += found->counts[i] * knapsack.sizes[i].size;
      if (i < knapsack.limited) limited += found->counts[i];
    }
    EXPECT_LE(taken, knapsack.capacity) << "seed " << seed;
    EXPECT_GE(taken, knapsack.least) << "seed " << seed;
    EXPECT_LE(limited, knapsack.limited_most) << "seed " << seed;
    EXPECT_FALSE(policies::solve(knapsack, *best, steps).has_value())
        << "nothing beats the best, seed " << seed;
  }
  EXPECT_GT(with, 500);
  EXPECT_GT(without, 100) << "no choice is large enough";
}

TEST(ConcaveKnapsack, OneAfterTheOtherIsAsEachAlone) {
  KnapsackSolver solver;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random = Random::stream(seed, "knapsacks in turn");
    std::vector<std::vector<double>> gains;
    const Knapsack knapsack = random_knapsack(random, gains);
    std::int64_t steps = random.between(0, 20);
    std::int64_t steps_alone = steps;
    const auto found = solver.solve(knapsack, -1, steps);
    const auto alone = policies::solve(knapsack, -1, steps_alone);
    ASSERT_EQ(found.has_value(), alone.has_value()) << "seed " << seed;
    EXPECT_EQ(steps, steps_alone) << "seed " << seed;
    if (!found.has_value()) continue;
    EXPECT_EQ(found->counts, alone->counts) << "seed " << seed;
    EXPECT_EQ(found->value, alone->value) << "seed " << seed;
  }
}

TEST(ConcaveKnapsack, WithoutStepsThereIsOneDive) {
  const std::vector<double> of_three{9, 9, 9};
  const std::vector<double> of_two{7, 7, 7};
  Knapsack knapsack;
  knapsack.sizes = {{3, of_three}, {2, of_two}};
  knapsack.capacity = 7;
  std::int64_t steps = 0;
  EXPECT_FALSE(policies::solve(knapsack, -1, steps).has_value());
  steps = 2;
  const auto found = policies::solve(knapsack, -1, steps);
  ASSERT_TRUE(found.has_value());
  EXPECT_GE(found->value, 18);
}

}  // namespace
}  // namespace orrery
