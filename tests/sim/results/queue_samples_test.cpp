#include "sim/results/queue_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/support/controller_harness.hpp"

namespace orrery::sim {
namespace {

TEST(QueueSamples, EachPointHasAllQueuesHoweverManyLooksThereWere) {
  Settings settings;
  settings.queues = "red weight=1; blue weight=3";
  tests::ControllerHarness h({tests::nodes_of(1, 4)}, std::move(settings));
  QueueSamples samples;
  for (std::size_t look = 0; look < 4 * QueueSamples::kPointsMax; ++look) {
    h.now = h.now + Duration::seconds(20);
    h.step(TimeReached{});
    samples.changed();
    samples.look(h.controller.state());
  }
  ASSERT_GT(samples.points().size(), 1U);
  EXPECT_LE(samples.points().size(), QueueSamples::kPointsMax);
  const std::size_t queues = samples.points().back().queues.size();
  EXPECT_GE(queues, 2U);
  for (const QueueSamples::Point& point : samples.points())
    EXPECT_EQ(point.queues.size(), queues) << "at " << point.at.in_seconds() << " s";
}

TEST(QueueSamples, LooksOnlyWhereSomethingHasChanged) {
  Settings settings;
  settings.queues = "red weight=1; blue weight=3";
  tests::ControllerHarness h({tests::nodes_of(1, 4)}, std::move(settings));
  QueueSamples samples;
  samples.look(h.controller.state());
  EXPECT_TRUE(samples.points().empty());
  h.submit(tests::JobBuilder("first").group("red"));
  samples.changed();
  samples.look(h.controller.state());
  h.now = h.now + Duration::seconds(1);
  h.step(TimeReached{});
  samples.look(h.controller.state());
  ASSERT_EQ(samples.points().size(), 1U);
  // What was found holds until the end.
  const std::vector<QueueMeans> means = samples.means(h.now);
  const auto red = std::find_if(
      means.begin(), means.end(), [](const QueueMeans& queue) { return queue.name == "red"; });
  ASSERT_NE(red, means.end());
  EXPECT_EQ(red->waiting_max, 1);
}

}  // namespace
}  // namespace orrery::sim
