#include "sim/reports/step_series.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/random.hpp"

namespace orrery::sim {
namespace step_series_tests {

Instant at_s(std::int64_t s) { return Instant::zero() + Duration::seconds(s); }

/// Value times seconds between the first point and `end`.
double integral(const std::vector<SeriesPoint>& points, Instant end) {
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Instant next = i + 1 < points.size() ? points[i + 1].at : end;
    sum += points[i].value * (next - points[i].at).in_seconds();
  }
  return sum;
}

TEST(StepSeries, KeepsEveryChangeWhileThereIsRoom) {
  StepSeries series;
  series.add(at_s(1), 3);
  series.add(at_s(1), 4);  // The same instant: the last counts.
  series.add(at_s(2), 4);  // No change.
  series.add(at_s(5), 1);
  series.close(at_s(9));
  EXPECT_EQ(series.points(), (std::vector<SeriesPoint>{{at_s(1), 4, 4}, {at_s(5), 1, 1}}));
  EXPECT_FALSE(series.is_thinned());
}

TEST(StepSeries, AThinnedOneIsBoundedAndKeepsIntegralAndHighest) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    SCOPED_TRACE(seed);
    Random random(seed);
    StepSeries series(64);
    StepSeries exact(1'000'000);
    double highest = 0;
    Instant now;
    for (int i = 0; i < 20'000; ++i) {
      const bool long_pause = random.below(1000) == 0;
      now = now + Duration::milliseconds(
                      1 + static_cast<std::int64_t>(random.below(long_pause ? 10'000'000 : 5'000)));
      const auto value = static_cast<double>(random.below(50));
      series.add(now, value);
      exact.add(now, value);
      highest = std::max(highest, value);
      ASSERT_LE(series.points().size(), 65U);
    }
    now = now + Duration::seconds(100);
    series.close(now);
    exact.close(now);
    EXPECT_TRUE(series.is_thinned());
    EXPECT_FALSE(exact.is_thinned());
    const double expected = integral(exact.points(), now);
    EXPECT_NEAR(integral(series.points(), now), expected, expected * 1e-9);
    double found = 0;
    for (const SeriesPoint& point : series.points()) found = std::max(found, point.highest);
    EXPECT_EQ(found, highest);
    EXPECT_TRUE(std::ranges::is_sorted(series.points(), {}, &SeriesPoint::at));
  }
}

}  // namespace step_series_tests
}  // namespace orrery::sim
