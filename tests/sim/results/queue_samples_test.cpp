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
    samples.observe(h.controller.state());
  }
  ASSERT_GT(samples.points().size(), 1U);
  EXPECT_LE(samples.points().size(), QueueSamples::kPointsMax);
  const std::size_t queues = samples.points().back().queues.size();
  EXPECT_GE(queues, 2U);
  for (const QueueSamples::Point& point : samples.points())
    EXPECT_EQ(point.queues.size(), queues) << "at " << point.at.in_seconds() << " s";
}

TEST(QueueSamples, AMaximumIsOfWholeInstants) {
  Settings settings;
  settings.queues = "red weight=1; blue weight=3";
  tests::ControllerHarness h({tests::nodes_of(1, 4)}, std::move(settings));
  QueueSamples samples;
  const auto look = [&] { samples.observe(h.controller.state()); };
  const auto waiting_max = [&] {
    const std::vector<QueueMeans> means = samples.means(h.now);
    const auto red = std::find_if(
        means.begin(), means.end(), [](const QueueMeans& queue) { return queue.name == "red"; });
    return red == means.end() ? -1 : red->waiting_max;
  };
  look();
  const JobId job = h.submit(tests::JobBuilder("first").group("red"));
  look();
  h.plan(tests::grant(job, 1, {}));
  look();
  h.now = h.now + Duration::seconds(60);
  h.step(TimeReached{});
  look();
  EXPECT_EQ(waiting_max(), 0) << "it waited for no time";

  h.submit(tests::JobBuilder("second").group("red"));
  look();
  h.now = h.now + Duration::seconds(1);
  h.step(TimeReached{});
  look();
  EXPECT_EQ(waiting_max(), 1);
}

}  // namespace
}  // namespace orrery::sim
