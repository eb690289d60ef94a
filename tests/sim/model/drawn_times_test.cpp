// Times that vary are drawn by name: the same for the same job and start, whatever else happens.

#include "sim/model/drawn_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace orrery::sim {
namespace {

scenarios::TimeSpread from_1s_to_3s() {
  return {{Duration::seconds(1), Duration::seconds(2), Duration::seconds(3)}};
}

scenarios::Scenario varied(std::uint64_t seed) {
  scenarios::Scenario scenario;
  scenario.seed = seed;
  scenario.timing.spread = {from_1s_to_3s(), from_1s_to_3s(), from_1s_to_3s(), from_1s_to_3s(), 0};
  return scenario;
}

TEST(DrawnTimes, WithoutASpreadAreWhatIsSet) {
  scenarios::Scenario scenario;
  scenario.timing.start = Duration::seconds(7);
  scenario.timing.rescale = Duration::seconds(5);
  const DrawnTimes times(scenario);
  for (std::uint32_t k = 0; k < 20; ++k) {
    EXPECT_EQ(times.start(JobId{k}, Incarnation{k}), Duration::seconds(7));
    EXPECT_EQ(times.rescale(JobId{k}, Generation{k}), Duration::seconds(5));
    EXPECT_EQ(times.stop(JobId{k}, Instant{k}), Duration::zero());
  }
}

TEST(DrawnTimes, HaveTheQuantilesThatAreSet) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const scenarios::Scenario scenario = varied(seed);
    const DrawnTimes times(scenario);
    std::vector<Duration> drawn;
    for (std::uint32_t job = 0; job < 4000; ++job)
      drawn.push_back(times.start(JobId{job}, Incarnation{1}));
    std::ranges::sort(drawn);
    EXPECT_GE(drawn.front(), Duration::seconds(1));
    EXPECT_LE(drawn.back(), Duration::seconds(3));
    // 4,000 draws are within 0.05 s of the true quantiles.
    EXPECT_NEAR(drawn[1000].in_seconds(), 1.5, 0.05) << "seed " << seed;
    EXPECT_NEAR(drawn[2000].in_seconds(), 2, 0.05) << "seed " << seed;
    EXPECT_NEAR(drawn[3000].in_seconds(), 2.5, 0.05) << "seed " << seed;
  }
}

TEST(DrawnTimes, AreOfTheSeedTheDrawsTheJobAndTheStartAlone) {
  const scenarios::Scenario scenario = varied(1);
  const DrawnTimes times(scenario);
  const Duration start = times.start(JobId{3}, Incarnation{2});
  static_cast<void>(times.start(JobId{4}, Incarnation{2}));
  EXPECT_EQ(times.start(JobId{3}, Incarnation{2}), start);
  EXPECT_NE(times.start(JobId{3}, Incarnation{3}), start);
  EXPECT_NE(times.start(JobId{2}, Incarnation{2}), start);
  EXPECT_NE(times.stop(JobId{3}, Instant{2}), start);
  // As slow among restores as among starts: here both have the same quantiles.
  EXPECT_EQ(times.restore(JobId{3}, Incarnation{2}), start);
  scenarios::Scenario others = varied(1);
  others.timing.spread.draws = 1;
  EXPECT_NE(DrawnTimes(others).start(JobId{3}, Incarnation{2}), start);
  const scenarios::Scenario seeded = varied(2);
  EXPECT_NE(DrawnTimes(seeded).start(JobId{3}, Incarnation{2}), start);
}

}  // namespace
}  // namespace orrery::sim
