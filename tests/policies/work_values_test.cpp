// Weights of speeds against what is known of the least sum of completion times.
#include "policies/work_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/base/random.hpp"

namespace orrery {
namespace {

using policies::ShareProblem;
using policies::WorkValues;

/// Parts by which weights may be off, since prices are on a grid.
constexpr double kGrid = 0.06;

/// Every size from one device on, of one kind.
template <class Speed>
ShareProblem problem_of(std::size_t jobs, std::int32_t devices, const Speed& speed) {
  ShareProblem problem;
  problem.first = {0};
  problem.capacity = {devices};
  for (std::size_t job = 0; job < jobs; ++job) {
    for (std::int32_t size = 1; size <= devices; ++size)
      problem.options.push_back({0, size, speed(job, size)});
    problem.first.push_back(static_cast<std::uint32_t>(problem.options.size()));
  }
  return problem;
}

std::vector<std::uint32_t> in_order(std::size_t jobs) {
  std::vector<std::uint32_t> order(jobs);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

// heSRPT: of m jobs with speeds n^p, that with rank k from the last one has a share of
// (k / m)^c - ((k - 1) / m)^c, c = 1 / (1 - p). Shares that make the sum of w n^p greatest are in
// proportion to w^c.
TEST(WorkValues, OfEqualPowersAreThoseOfHeSrpt) {
  for (const double p : {0.3, 0.5, 0.7}) {
    const double c = 1 / (1 - p);
    const ShareProblem problem =
        problem_of(6, 400, [&](std::size_t, std::int32_t n) { return std::pow(n, p); });
    WorkValues values;
    const auto order = in_order(6);
    const auto weights = values.find(problem, order);
    for (std::size_t k = 1; k <= 6; ++k) {
      const double share = std::pow(k, c) - std::pow(k - 1.0, c);
      EXPECT_NEAR(
          weights[k - 1] / weights[0], std::pow(share, 1 / c), kGrid * std::pow(share, 1 / c))
          << "p " << p << ", rank " << k;
    }
  }
}

// In proportion to devices: all to the shortest, which is SRPT.
TEST(WorkValues, OfSpeedsInProportionGrowByRank) {
  const ShareProblem problem =
      problem_of(5, 64, [](std::size_t, std::int32_t n) { return double(n); });
  WorkValues values;
  const auto order = in_order(5);
  const auto weights = values.find(problem, order);
  for (std::size_t k = 0; k < 5; ++k)
    EXPECT_NEAR(
        weights[k], static_cast<double>(k + 1) / 64, kGrid * static_cast<double>(k + 1) / 64)
        << k;
}

/// A job whose speed falls off as `n / (1 + friction (n - 1))`.
struct Falling {
  double rate = 1;
  double friction = 0;

  double at(double n) const { return rate * n / (1 + friction * (n - 1)); }
};

/// The greatest weighted sum of speeds on the devices, one by one to whom it is worth most, which
/// is the best for concave speeds.
std::vector<std::int32_t> best_shares(const std::vector<Falling>& jobs,
                                      const std::vector<double>& weights,
                                      const std::vector<double>& left,
                                      std::int32_t devices) {
  std::vector<std::int32_t> shares(jobs.size(), 0);
  for (std::int32_t i = 0; i < devices; ++i) {
    std::size_t best = jobs.size();
    double most = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if (left[j] <= 0) continue;
      const double now = shares[j] == 0 ? 0 : jobs[j].at(shares[j]);
      const double gain = weights[j] * (jobs[j].at(shares[j] + 1) - now);
      if (gain > most) most = gain, best = j;
    }
    if (best < jobs.size()) ++shares[best];
  }
  return shares;
}

/// Runs all jobs to their ends; `weigh` gives weights for what is left.
template <class Weigh>
double sum_of_ends(const std::vector<Falling>& jobs,
                   std::vector<double> left,
                   std::int32_t devices,
                   const Weigh& weigh) {
  double now = 0;
  double sum = 0;
  for (std::size_t live = jobs.size(); live > 0;) {
    const auto shares = best_shares(jobs, weigh(left), left, devices);
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < jobs.size(); ++j)
      if (left[j] > 0 && shares[j] > 0) step = std::min(step, left[j] / jobs[j].at(shares[j]));
    now += step;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if (left[j] <= 0 || shares[j] == 0) continue;
      left[j] -= step * jobs[j].at(shares[j]);
      if (left[j] > 1e-9) continue;
      left[j] = 0;
      sum += now;
      --live;
    }
  }
  return sum;
}

// Against even weights, SRPT and powers of the rank: on random jobs the mean of the sums is least.
TEST(WorkValues, EndJobsSoonerThanOtherWeights) {
  double ours = 0;
  double best_other = std::numeric_limits<double>::infinity();
  for (const double power : {-1.0, 0.0, 0.5, 1.0, 1.5}) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      Random random = Random::stream(seed, "work values");
      std::vector<Falling> jobs;
      std::vector<double> left;
      const std::int32_t devices = 48;
      for (std::int64_t n = random.between(3, 10); n > 0; --n) {
        jobs.push_back({0.5 + random.uniform(), 0.3 * random.uniform()});
        left.push_back(std::exp(3 * random.uniform()) * 100);
      }
      sum += sum_of_ends(jobs, left, devices, [&](const std::vector<double>& now) {
        std::vector<std::uint32_t> order = in_order(jobs.size());
        std::erase_if(order, [&](std::uint32_t j) { return now[j] <= 0; });
        std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
          return now[a] / jobs[a].rate > now[b] / jobs[b].rate;
        });
        std::vector<double> weights(jobs.size(), 0);
        if (power < 0) {
          WorkValues values;
          const auto found =
              values.find(problem_of(jobs.size(),
                                     devices,
                                     [&](std::size_t j, std::int32_t n) { return jobs[j].at(n); }),
                          order);
          std::ranges::copy(found, weights.begin());
        } else {
          for (std::size_t k = 0; k < order.size(); ++k)
            weights[order[k]] = std::pow(static_cast<double>(k + 1), power) / jobs[order[k]].rate;
        }
        return weights;
      });
    }
    (power < 0 ? ours : best_other) = power < 0 ? sum : std::min(best_other, sum);
  }
  RecordProperty("against_best_power_percent", std::to_string(100 * (ours / best_other - 1)));
  EXPECT_LT(ours, best_other) << "seeds 1 to 60";
}

// A job is worth what its slower kind allows, and kinds cost what they do.
TEST(WorkValues, CountAFasterKindForMore) {
  ShareProblem problem;
  problem.capacity = {4, 4};
  problem.first = {0};
  for (int job = 0; job < 2; ++job) {
    for (const std::int32_t kind : {0, 1})
      for (const std::int32_t size : {1, 2, 4})
        problem.options.push_back({kind, size, (kind == 0 ? 1.0 : 3.0) * size});
    problem.first.push_back(static_cast<std::uint32_t>(problem.options.size()));
  }
  WorkValues values;
  const auto order = in_order(2);
  const auto weights = values.find(problem, order);
  // As if it were 16 devices of the slow kind.
  EXPECT_NEAR(weights[0], 1.0 / 12, 1e-9) << "alone it has the fast ones";
  EXPECT_GT(weights[1], weights[0]);
}

TEST(WorkValues, AreNoneWithoutOptionsOrDevices) {
  ShareProblem problem;
  problem.first = {0, 0};
  WorkValues values;
  const auto order = in_order(1);
  EXPECT_EQ(values.find(problem, order)[0], 0);
  problem.capacity = {0};
  EXPECT_EQ(values.find(problem, order)[0], 0);
}

}  // namespace
}  // namespace orrery
