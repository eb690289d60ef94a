// What people read of queues: who is entitled to what, and which queue lets a job wait.
#include "core/control/queue_standings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/control/status.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Settings with_queues(std::string text) {
  Settings settings;
  settings.queues = std::move(text);
  return settings;
}

JobBuilder job_in(std::string queue, std::string name) {
  JobBuilder builder = job(std::move(name));
  builder.raw().group = std::move(queue);
  return builder;
}

std::string said_of(const ControllerHarness& h, JobId id) {
  return status_of(h.controller.state(), h.job(id)).message;
}

TEST(QueueStandings, AreEmptyWithoutQueues) {
  ControllerHarness h({nodes_of(1, 4)});
  EXPECT_THAT(QueueStandings(h.controller.state()).list(), IsEmpty());
}

TEST(QueueStandings, TellSharesUseAndWhatIsBorrowed) {
  ControllerHarness h({nodes_of(2, 8)}, with_queues("a weight=3; b guarantee=2 limit=10"));
  h.running(job_in("a", "one").devices(8), 1, {on(0, 1)});
  h.running(job_in("b", "two").devices(4), 1, {on(1, 1)});
  h.submit(job_in("a", "three").devices(8));
  const std::vector<QueueStanding> queues = QueueStandings(h.controller.state()).list();
  ASSERT_EQ(queues.size(), 3U);
  EXPECT_EQ(queues[0].name, "a");
  EXPECT_EQ(queues[0].share, 12) << "what b does not ask for";
  EXPECT_EQ(queues[0].used, 8);
  EXPECT_EQ(queues[0].borrowed, 8);
  EXPECT_EQ(queues[0].jobs_waiting, 1);
  EXPECT_EQ(queues[1].share, 4);
  EXPECT_EQ(queues[1].borrowed, 2);
  EXPECT_EQ(queues[1].limit, 10);
  EXPECT_EQ(queues[2].name, "default");
}

TEST(WaitingReason, NamesTheLimitOfAQueue) {
  ControllerHarness h({nodes_of(2, 8)}, with_queues("a limit=5; b"));
  h.running(job_in("a", "one").devices(4), 1, {on(0, 1)});
  EXPECT_EQ(said_of(h, h.submit(job_in("a", "two").devices(2))),
            "needs 2 devices at once: its queue a may hold 5 devices and holds 4");
}

TEST(WaitingReason, NamesTheLimitOfAUser) {
  ControllerHarness h({nodes_of(2, 8)}, with_queues("a users=default:4; b"));
  h.running(job_in("a", "one").devices(4), 1, {on(0, 1)});
  EXPECT_EQ(said_of(h, h.submit(job_in("a", "two").devices(1))),
            "needs 1 device at once: in queue a user default may hold 4 devices and holds 4");
}

TEST(WaitingReason, TellsThatAJobIsLargerThanALimitEverAllows) {
  ControllerHarness h({nodes_of(2, 8)}, with_queues("a limit=5; b users=default:4; c limit=50%"));
  EXPECT_EQ(said_of(h, h.submit(job_in("a", "one").devices(6))),
            "needs 6 devices at once: its queue a may never hold more than 5 devices");
  EXPECT_EQ(said_of(h, h.submit(job_in("b", "two").devices(6))),
            "needs 6 devices at once: in queue b user default may never hold more than 4 devices");
  const JobId third = h.submit(job_in("c", "three").devices(8));
  h.node_down(1);  // Half of the cluster is less as long as a node is gone, and no longer.
  EXPECT_EQ(said_of(h, third),
            "needs 8 devices at once: its queue c may hold 4 devices and holds 0");
}

TEST(WaitingReason, NamesWhatIsGuaranteedToOthers) {
  ControllerHarness h({nodes_of(2, 8)}, with_queues("a; b guarantee=12"));
  EXPECT_THAT(said_of(h, h.submit(job_in("a", "one").devices(8))),
              HasSubstr("what is left is guaranteed to other queues"));
}

TEST(WaitingReason, NamesTheShareOfAQueue) {
  ControllerHarness h({nodes_of(1, 8)}, with_queues("a; b"));
  h.running(job_in("a", "one").devices(4), 1, {on(0, 1)});
  h.running(job_in("b", "two").devices(4), 1, {on(0, 1)});
  h.submit(job_in("b", "three").devices(4));
  EXPECT_EQ(
      said_of(h, h.submit(job_in("a", "four").devices(4))),
      "needs 4 devices at once: its queue a has its share: it holds 4 devices of 4, and other "
      "queues ask for the rest");
}

}  // namespace
}  // namespace orrery::tests
