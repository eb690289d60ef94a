#include "sim/agents/node_host.hpp"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

/// How long the world waits for so many wakes of an agent that is connected and gets no answer.
Duration time_of_wakes(std::int32_t rate_ppm, int wakes) {
  const Settings settings;
  NodeHost host(NodeId{0}, settings, Duration::seconds(4711), rate_ppm);
  host.boot();
  const Instant begin = Instant::zero() + Duration::milliseconds(333);
  host.step(AgentEvent{Connected{}}, begin);
  Instant now = begin;
  for (int i = 0; i < wakes; ++i) {
    const Instant wake = host.next_wake();
    EXPECT_GE(wake, now);
    now = wake;
    host.step(TimePassed{}, now);
    // A wake that came a moment too early by the node's clock would have to be repeated at once.
    EXPECT_GT(host.next_wake(), now) << "rate " << rate_ppm;
    host.out().clear();
  }
  return now - begin;
}

TEST(NodeHost, AClockThatGainsWakesEarlierByTheWorlds) {
  const Duration exact = time_of_wakes(0, 100);
  for (const std::int32_t rate : {-20'000, -37, 1, 500, 100'000}) {
    const double by_its_clock =
        time_of_wakes(rate, 100).in_seconds() * (1 + static_cast<double>(rate) / 1e6);
    EXPECT_NEAR(by_its_clock, exact.in_seconds(), 1e-6) << "rate " << rate;
  }
}

}  // namespace
}  // namespace orrery::sim
