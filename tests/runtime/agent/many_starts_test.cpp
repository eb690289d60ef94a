// A job with more workers on one node than an agent starts at the same time.
#include <gtest/gtest.h>

#include "tests/runtime/agent/stub_controller.hpp"

namespace orrery::runtime {
namespace many_starts_tests {

constexpr JobId kJob{8};
/// Some more than start at once.
constexpr std::uint32_t kCopies = 72;

class ManyStartsTest : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    ASSERT_TRUE(controller_.until_welcomed());
    sleeper_.command = {ORRERY_WORKER_IN_TEST, "pause"};
  }

  RoleSpec sleeper_ = role_of("");
};

// More than start at once: the others wait for them, and none is refused.
TEST_F(ManyStartsTest, FollowEachOther) {
  controller_.start_job(kJob, sleeper_, kCopies, Incarnation{1});
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready, kCopies));
  controller_.set([&](StubController& c) {
    for (const WorkersChanged& report : c.reports_) EXPECT_EQ(report.fact, WorkerFact::Running);
    EXPECT_EQ(c.notices_.size(), 0u);
  });
}

// A worker that has not been started yet can be stopped.
TEST_F(ManyStartsTest, AStopReachesThoseThatWaitToStart) {
  controller_.start_job(kJob, sleeper_, kCopies, Incarnation{1});
  StopWorkers stop{kJob, Generation{1}, Duration::zero(), {}};
  for (std::uint32_t i = 0; i < kCopies; ++i)
    stop.workers.push_back({Rank{i}, controller_.node_, Incarnation{1}, Rank{i}});
  controller_.order(stop);
  EXPECT_TRUE(controller_.until([&](const StubController& c) {
    std::size_t gone = 0;
    for (const WorkersChanged& each : c.reports_)
      if (each.job == kJob && !is_up(each.fact)) gone += each.count;
    return gone >= kCopies;
  }));
}

}  // namespace many_starts_tests
}  // namespace orrery::runtime
