// Leaders that crash at a point, take over, sleep and are deposed.
#include "sim/control/controller_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/control/hosted.hpp"

namespace orrery::tests {
namespace {

using sim::Crash;
using sim::CrashPoint;
using sim::LeaderEnd;
using sim::LeaderNumber;
using sim::TailLoss;

TEST(ControllerHost, OneLeaderRunsJobsToTheirEnd) {
  Hosted hosted;
  hosted.ports.submit_at(5, job("a").replicas(2));
  hosted.run(60);
  EXPECT_EQ(hosted.checker.lives.size(), 1u);
  EXPECT_EQ(hosted.state().totals.succeeded, 1u);
  EXPECT_EQ(hosted.ports.starts, 2u);
  EXPECT_EQ(hosted.host.steps(), hosted.state().sequence.value - 2) << "all but the opening";
}

TEST(ControllerHost, ACrashBetweenTurnsCostsTheWorkersNothing) {
  Hosted hosted;
  hosted.ports.submit_at(5, job("a").replicas(2));
  hosted.ports.at(10, [&] { hosted.host.crash(LeaderNumber{1}, Crash{}); });
  hosted.run(60);
  ASSERT_EQ(hosted.checker.lives.size(), 2u);
  EXPECT_EQ(hosted.checker.lives[0].end, LeaderEnd::Crashed);
  EXPECT_EQ(hosted.checker.lives[1].epoch, Epoch{2});
  EXPECT_EQ(hosted.state().totals.succeeded, 1u);
  EXPECT_EQ(hosted.ports.starts, 2u) << "a healthy worker was started again";
  hosted.checker.check_replays();
}

/// Crashes the first leader at a point on its way through one submission.
class CrashAtPoint : public ::testing::TestWithParam<std::pair<CrashPoint, std::uint32_t>> {};

TEST_P(CrashAtPoint, TheJobStillRunsOnce) {
  for (const TailLoss loss : {TailLoss::All, TailLoss::Prefix, TailLoss::Torn, TailLoss::None}) {
    SCOPED_TRACE("loss: " + std::string(to_string(loss)));
    Hosted hosted(1, 3);
    const Crash crash{GetParam().first, GetParam().second, loss};
    hosted.ports.at(4, [&] { hosted.host.crash(LeaderNumber{1}, crash); });
    hosted.ports.submit_at(5, job("a").replicas(2));
    hosted.run(60);
    ASSERT_EQ(hosted.checker.lives.size(), 2u);
    EXPECT_EQ(hosted.checker.lives[0].end, LeaderEnd::Crashed);
    EXPECT_EQ(hosted.state().totals.succeeded, 1u);
    EXPECT_EQ(hosted.ports.starts, 2u);
    EXPECT_TRUE(hosted.ports.all_answered());
    EXPECT_LE(hosted.ports.accepted[1], 1u);
    hosted.checker.check_replays();
  }
}

// Orders of the submission: its answer, then the start.
INSTANTIATE_TEST_SUITE_P(Points,
                         CrashAtPoint,
                         ::testing::Values(std::pair{CrashPoint::AfterAppend, 0u},
                                           std::pair{CrashPoint::AtOrder, 0u},
                                           std::pair{CrashPoint::AtOrder, 1u},
                                           std::pair{CrashPoint::BeforeSnapshot, 0u}));

TEST(ControllerHost, ASecondLeaderDeposesTheFirstWhichLearnsItWhenItAppends) {
  Hosted hosted;
  hosted.ports.submit_at(5, job("a").replicas(2));
  hosted.ports.at(
      10, [&] { hosted.host.pause(LeaderNumber{1}, Instant::zero() + Duration::seconds(15)); });
  // The first leader hears it in its sleep; the client asks the second one again.
  hosted.ports.submit_at(10, job("b"));
  hosted.ports.at(10, [&] { EXPECT_EQ(hosted.host.start_leader(), LeaderNumber{2}); });
  hosted.run(14);
  EXPECT_EQ(hosted.host.running(), 2u);
  EXPECT_EQ(hosted.host.leading(), LeaderNumber{2});
  EXPECT_EQ(hosted.checker.lives[0].end, std::nullopt);
  hosted.run(60);
  EXPECT_EQ(hosted.checker.lives[0].end, LeaderEnd::Deposed);
  EXPECT_EQ(hosted.host.running(), 1u);
  EXPECT_EQ(hosted.state().totals.succeeded, 2u);
  EXPECT_EQ(hosted.ports.starts, 3u);
}

TEST(ControllerHost, AtMostTwoLeadersRun) {
  Hosted hosted;
  hosted.run(1);
  EXPECT_EQ(hosted.host.start_leader(), LeaderNumber{2});
  EXPECT_EQ(hosted.host.start_leader(), std::nullopt);
  hosted.host.crash(LeaderNumber{2}, {});
  EXPECT_FALSE(hosted.host.is_running(LeaderNumber{2}));
  hosted.run(60);
  EXPECT_EQ(hosted.host.leading(), LeaderNumber{3}) << "a deposed controller does not lead again";
}

TEST(ControllerHost, ALeaderLeadsOnceItsEpochIsDurable) {
  Hosted hosted;
  hosted.host.journal().set_faults({.latency = Duration::milliseconds(300)});
  hosted.ports.submit_at(5, job("a").replicas(2));
  // The workers report at about 6.6 s that they are ready; it is durable with the next order only.
  hosted.ports.at(8, [&] { hosted.host.crash(LeaderNumber{1}, {.loss = TailLoss::All}); });
  hosted.run(60);
  EXPECT_EQ(hosted.state().totals.succeeded, 1u);
  EXPECT_EQ(hosted.ports.starts, 2u);
  EXPECT_GT(hosted.checker.lost, 0u) << "the readiness of the workers, which they told again";
}

TEST(ControllerHost, AnEpochWhoseRecordWasLostIsNotUsedAgain) {
  Hosted hosted;
  hosted.host.journal().set_faults({.latency = Duration::milliseconds(300)});
  hosted.ports.at(1, [&] { hosted.host.crash(LeaderNumber{1}, {}); });
  // The second leader crashes as soon as its first record is handed over.
  hosted.ports.at(2, [&] {
    hosted.host.crash_next({.point = CrashPoint::AfterAppend, .loss = TailLoss::All});
  });
  hosted.run(30);
  ASSERT_EQ(hosted.checker.lives.size(), 3u);
  EXPECT_EQ(hosted.checker.lives[2].epoch, Epoch{3});
}

TEST(ControllerHost, AFailingStoreEndsTheLeaderAndItsSuccessorsUntilItIsMended) {
  Hosted hosted;
  hosted.ports.at(4, [&] { hosted.host.journal().set_faults({.appends_fail = true}); });
  hosted.ports.submit_at(5, job("a"));
  hosted.ports.at(20, [&] { hosted.host.journal().set_faults({}); });
  hosted.run(60);
  EXPECT_EQ(hosted.checker.lives.front().end, LeaderEnd::StoreFailed);
  EXPECT_GT(hosted.checker.failed_starts.size(), 3u);
  EXPECT_EQ(hosted.state().totals.succeeded, 1u);
  EXPECT_EQ(hosted.ports.accepted[1], 1u);
}

TEST(ControllerHost, LeadersWhoseClocksDifferSeeToTheirDeadlinesInTime) {
  // The second leader's clock is far behind what the first one has written down: its own time
  // stands still until it has caught up, and nothing is lost by it.
  for (const std::int64_t first_ahead : {-3, 0, 30}) {
    SCOPED_TRACE("the first clock is ahead by " + std::to_string(first_ahead) + " s");
    Hosted hosted;
    hosted.host.journal().set_faults({.latency = Duration::milliseconds(100)});
    hosted.ports.clocks_ahead[LeaderNumber{1}] = Duration::seconds(first_ahead);
    hosted.ports.submit_at(5, job("a").replicas(2));
    hosted.ports.at(10, [&] { hosted.host.crash(LeaderNumber{1}, {}); });
    hosted.ports.submit_at(20, job("b").replicas(2));
    hosted.run(120);
    EXPECT_EQ(hosted.checker.lives.size(), 2u);
    EXPECT_EQ(hosted.state().totals.succeeded, 2u);
    EXPECT_EQ(hosted.ports.starts, 4u);
  }
}

TEST(ControllerHost, StartsFromTheNewestSnapshot) {
  Hosted hosted(1, 10);
  for (int i = 0; i < 20; ++i) hosted.ports.submit_at(5 + i, job("j" + std::to_string(i)));
  hosted.ports.at(30, [&] { hosted.host.crash(LeaderNumber{1}, {}); });
  hosted.run(200);
  EXPECT_GT(hosted.checker.snapshots, 5u);
  EXPECT_EQ(hosted.state().totals.succeeded, 20u);
  EXPECT_EQ(hosted.ports.starts, 20u);
  hosted.checker.check_replays();
}

}  // namespace
}  // namespace orrery::tests
