// Shares by prices against all shares there are, and what prices promise.
#include "policies/price_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/random.hpp"

namespace orrery {
namespace {

using policies::PriceShares;
using policies::ShareOption;
using policies::ShareProblem;

/// Jobs with options of rising size and concave value; on `kinds` kinds of devices.
ShareProblem random_problem(Random& random, std::size_t jobs, std::int32_t kinds) {
  ShareProblem problem;
  problem.first = {0};
  for (std::size_t job = 0; job < jobs; ++job) {
    const double weight = 1 + random.uniform() * 9;
    for (std::int32_t kind = 0; kind < kinds; ++kind) {
      const double speed = weight * (1 + random.uniform());
      double value = 100;  // Something counts more than any amount of more.
      double step = speed;
      std::int32_t size = 0;
      for (int i = 0; i < 4; ++i) {
        size += 1;
        value += step;
        step *= random.uniform();
        problem.options.push_back({kind, size, value});
      }
    }
    problem.first.push_back(static_cast<std::uint32_t>(problem.options.size()));
  }
  for (std::int32_t kind = 0; kind < kinds; ++kind)
    problem.capacity.push_back(random.between(1, static_cast<std::int64_t>(3 * jobs)));
  return problem;
}

double value_of(const ShareProblem& problem, const std::vector<std::int32_t>& chosen) {
  double sum = 0;
  for (std::size_t job = 0; job < chosen.size(); ++job)
    if (chosen[job] >= 0) sum += problem.of(job)[static_cast<std::size_t>(chosen[job])].value;
  return sum;
}

/// The greatest sum of values, by trying everything. With `all`, of those in which every job has
/// something; far below 0 where there is none.
double best_value(const ShareProblem& problem,
                  std::size_t job,
                  bool all,
                  std::vector<std::int64_t>& left) {
  if (job == problem.jobs()) return 0;
  double best = all ? -1e9 : best_value(problem, job + 1, all, left);
  for (const ShareOption& option : problem.of(job)) {
    std::int64_t& room = left[static_cast<std::size_t>(option.kind)];
    if (option.size > room) continue;
    room -= option.size;
    best = std::max(best, option.value + best_value(problem, job + 1, all, left));
    room += option.size;
  }
  return best;
}

TEST(PriceShares, OfOneKindAreTheBestInWhichAllHaveSomething) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random = Random::stream(seed, "price shares");
    const ShareProblem problem = random_problem(random, 5, 1);
    const std::vector<std::int32_t> chosen = PriceShares().choose(problem);
    EXPECT_TRUE(fits(problem, chosen)) << "seed " << seed;
    const std::int64_t has_something = std::count_if(
        chosen.begin(), chosen.end(), [](std::int32_t option) { return option >= 0; });
    EXPECT_EQ(has_something, std::min<std::int64_t>(5, problem.capacity[0])) << "seed " << seed;
    if (has_something < 5) continue;
    std::vector<std::int64_t> left = problem.capacity;
    const double most = best_value(problem, 0, true, left);
    EXPECT_NEAR(value_of(problem, chosen), most, 1e-6 * most) << "seed " << seed;
  }
}

TEST(PriceShares, OfSeveralKindsFitAndAreNearTheBest) {
  double lost = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random = Random::stream(seed, "price shares of kinds");
    const ShareProblem problem = random_problem(random, 4, 2);
    const std::vector<std::int32_t> chosen = PriceShares().choose(problem);
    EXPECT_TRUE(fits(problem, chosen)) << "seed " << seed;
    std::vector<std::int64_t> left = problem.capacity;
    const double most = best_value(problem, 0, false, left);
    lost += 1 - value_of(problem, chosen) / most;
  }
  EXPECT_LT(lost / 60, 0.05);
}

TEST(PriceShares, NobodyGoesWithoutWhereSmallestOptionsFit) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random = Random::stream(seed, "price shares for all");
    ShareProblem problem = random_problem(random, 6, 2);
    problem.capacity = {3, 3};
    const std::vector<std::int32_t> chosen = PriceShares().choose(problem);
    EXPECT_EQ(std::count(chosen.begin(), chosen.end(), -1), 0) << "seed " << seed;
  }
}

// Less capacity is never cheaper, and neither is more demand.
TEST(PriceShares, PricesAreMonotone) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random = Random::stream(seed, "prices");
    ShareProblem problem = random_problem(random, 8, 1);
    double before = 0;
    for (std::int64_t capacity = 30; capacity >= 1; --capacity) {
      problem.capacity[0] = capacity;
      PriceShares shares;
      (void)shares.choose(problem);
      EXPECT_GE(shares.prices()[0], before * (1 - 1e-6)) << "seed " << seed << ", " << capacity;
      before = shares.prices()[0];
    }
    problem.capacity[0] = 6;
    ShareProblem fewer = problem;
    fewer.first.pop_back();
    fewer.options.resize(fewer.first.back());
    PriceShares of_all;
    PriceShares of_fewer;
    (void)of_all.choose(problem);
    (void)of_fewer.choose(fewer);
    EXPECT_GE(of_all.prices()[0], of_fewer.prices()[0] * (1 - 1e-6)) << "seed " << seed;
  }
}

TEST(PriceShares, TellWhatDoesNotFit) {
  const ShareProblem problem{{{0, 2, 1.0}, {0, 3, 2.0}}, {0, 1, 2}, {4}};
  EXPECT_TRUE(fits(problem, std::vector<std::int32_t>{0, -1}));
  EXPECT_FALSE(fits(problem, std::vector<std::int32_t>{0, 0}));
}

}  // namespace
}  // namespace orrery
