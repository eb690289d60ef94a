// Water filling against the definition of lexicographic max-min fairness.
#include "policies/water_filling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/random.hpp"
#include "policies/share_program.hpp"
#include "policies/solver/program.hpp"

namespace orrery::policies {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

class WaterFillingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!solver::is_available()) GTEST_SKIP() << "built without CLP and CBC";
  }
};

TEST_F(WaterFillingTest, WhatTheLeastJobLeavesGoesToTheOther) {
  // C = (2.5, 1.5). Both can have 4/3; the second no more, the first 1.6 then.
  Sharing sharing{{}, {1, 1}};
  sharing.jobs = {{.devices = 1, .speed = {4, 1}}, {.devices = 1, .speed = {1, 2}}};
  const Shares shares = water_filled_shares(sharing);
  EXPECT_THAT(normalised_speeds(sharing, shares),
              ElementsAre(DoubleNear(1.6, 1e-6), DoubleNear(4.0 / 3, 1e-6)));
  EXPECT_THAT(shares[0], ElementsAre(DoubleNear(1, 1e-6), DoubleNear(0, 1e-6)));
  EXPECT_THAT(shares[1], ElementsAre(DoubleNear(0, 1e-6), DoubleNear(1, 1e-6)));
}

TEST_F(WaterFillingTest, AJobThatRunsNowhereHoldsNobodyBack) {
  Sharing sharing{{}, {1, 0}};
  sharing.jobs = {{.devices = 1, .speed = {0, 1}}, {.devices = 1, .speed = {1, 1}}};
  EXPECT_THAT(water_filled_shares(sharing)[1][0], DoubleNear(1, 1e-6));
  EXPECT_TRUE(water_filled_shares({{}, {1}}).empty());
}

Sharing random_sharing(Random& random) {
  Sharing out;
  for (auto types = random.between(1, 3); types > 0; --types)
    out.devices.push_back(static_cast<double>(random.between(1, 8)));
  for (auto jobs = random.between(1, 9); jobs > 0; --jobs) {
    SharingJob job{.devices = static_cast<double>(1 << random.below(3)),
                   .weight = static_cast<double>(random.between(1, 3))};
    for (std::size_t j = 0; j < out.devices.size(); ++j)
      job.speed.push_back(random.below(5) == 0 ? 0 : static_cast<double>(random.between(1, 20)));
    out.jobs.push_back(std::move(job));
  }
  return out;
}

/// The most that the job can have while all that are no higher than it keep what they have.
double most_for(const Sharing& sharing, const std::vector<double>& levels, std::size_t job) {
  ShareProgram shares(sharing, solver::Sense::Maximise);
  solver::Program& program = shares.program();
  for (std::size_t i = 0; i < sharing.jobs.size(); ++i) {
    const double mean = mean_speed(sharing.jobs[i], sharing.devices);
    if (mean <= 0) continue;
    const auto speed =
        shares.speed_of(i, sharing.jobs[i].devices / (sharing.jobs[i].weight * mean));
    if (i == job) {
      for (std::size_t j = 0; j < sharing.devices.size(); ++j)
        program.set_column(shares.share(i, j), {.upper = 1, .objective = speed[j].value});
    } else if (levels[i] <= levels[job] * (1 + 1e-6)) {
      program.add_row(levels[i] * (1 - 1e-7), solver::kInfinity, speed);
    }
  }
  const auto found = shares.solve();
  return found ? found->objective : -1;
}

void expect_shares(const Sharing& sharing, const Shares& shares) {
  for (std::size_t i = 0; i < shares.size(); ++i) {
    double time = 0;
    for (const double share : shares[i]) time += share;
    EXPECT_LE(time, 1 + 1e-6);
  }
  for (std::size_t j = 0; j < sharing.devices.size(); ++j) {
    double taken = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) taken += sharing.jobs[i].devices * shares[i][j];
    EXPECT_LE(taken, sharing.devices[j] + 1e-6);
  }
}

TEST_F(WaterFillingTest, NobodyCanRiseButAtTheCostOfOneThatIsAsLow) {
  int above = 0;  // Sharings in which plain max-min leaves some job with less.
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random = Random::stream(seed, "water");
    const Sharing sharing = random_sharing(random);
    const Shares shares = water_filled_shares(sharing);
    expect_shares(sharing, shares);
    const std::vector<double> levels = normalised_speeds(sharing, shares);
    for (std::size_t i = 0; i < levels.size(); ++i)
      EXPECT_LE(most_for(sharing, levels, i), levels[i] * (1 + 1e-4) + 1e-6) << "job " << i;
    std::vector<double> sorted = levels;
    std::vector<double> plain = normalised_speeds(sharing, max_min_shares(sharing));
    std::sort(sorted.begin(), sorted.end());
    std::sort(plain.begin(), plain.end());
    const auto differs =
        std::mismatch(sorted.begin(), sorted.end(), plain.begin(), [](double a, double b) {
          return std::abs(a - b) < 1e-4;
        });
    if (differs.first == sorted.end()) continue;
    EXPECT_GT(*differs.first, *differs.second) << "in order of size it is never lower";
    ++above;
  }
  EXPECT_GT(above, 50);
}

}  // namespace
}  // namespace orrery::policies
