#include "sim/results/queue_samples.hpp"

#include <gtest/gtest.h>

#include <utility>

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
    samples.observe(h.controller.state());
  }
  ASSERT_GT(samples.points().size(), 1U);
  EXPECT_LE(samples.points().size(), QueueSamples::kPointsMax);
  const std::size_t queues = samples.points().back().queues.size();
  EXPECT_GE(queues, 2U);
  for (const QueueSamples::Point& point : samples.points())
    EXPECT_EQ(point.queues.size(), queues) << "at " << point.at.in_seconds() << " s";
}

}  // namespace
}  // namespace orrery::sim
