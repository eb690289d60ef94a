#include "sim/reports/timeline.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/reports/recorded.hpp"

namespace orrery::sim {
namespace {

using tests::grant;
using tests::job;
using tests::on;
using tests::operator+;

TEST(Timeline, AJobThatIsLeftAloneHasOneSegment) {
  Recorded run({tests::nodes_of(2, 4)});
  const JobId id = run.come(job("a").replicas(3).devices(2));
  run.wait_s(5);
  run.plan(grant(id, 3, {on(0, 2), on(1, 1)}));
  run.tell();
  run.wait_s(1);
  run.settle();
  run.tell();
  run.wait_s(10);
  for (std::uint32_t rank = 0; rank < 3; ++rank) run.succeed(id, rank);
  run.tell();
  run.wait_s(4);
  EXPECT_EQ(run.segments(), "0#1 5-16 0:15 1:3\n");
  EXPECT_EQ(run.timeline.segment_count(id), 1U);
  const std::vector<SeriesPoint> use{{Instant{5'000'000'000}, 6, 6},
                                     {Instant{16'000'000'000}, 0, 0}};
  EXPECT_EQ(run.timeline.devices_in_use().points(), use);
  const std::vector<SeriesPoint> queue{{Instant{0}, 1, 1}, {Instant{5'000'000'000}, 0, 0}};
  EXPECT_EQ(run.timeline.queue_length().points(), queue);
  EXPECT_EQ(static_cast<double>(run.timeline.device_time().in_use), 66e9);
  std::vector<JobPhase> phases;
  for (const PhaseRow& row : run.timeline.phases()) phases.push_back(row.phase);
  EXPECT_EQ(
      phases,
      (std::vector{JobPhase::Pending, JobPhase::Starting, JobPhase::Running, JobPhase::Succeeded}));
}

TEST(Timeline, WhatIsTakenBackIsNeverTwoJobs) {
  Recorded run({tests::nodes_of(1, 4)});
  const JobId first = run.come(job("first").replicas(4).preemptible());
  run.plan(grant(first, 4));
  run.settle();
  run.tell();
  const JobId second = run.come(job("second").replicas(2));
  run.wait_s(10);
  run.plan(grant(first, 0) + grant(second, 2));  // The first still drains: its claim waits.
  run.tell();
  EXPECT_EQ(run.row(first).devices_held, 4);
  run.wait_s(3);
  run.settle();
  run.tell();
  run.wait_s(7);
  EXPECT_EQ(run.segments(), "0#1 0-10 0:15\n1#1 10-20 0:3\n");
}

TEST(Timeline, EveryChangeOfTheDevicesBeginsASegment) {
  Recorded run({tests::nodes_of(3, 2)});
  const JobId id = run.come(job("grows").elastic(1, 6));
  run.plan(grant(id, 1, {on(0, 1)}));
  run.settle();
  run.tell();
  run.wait_s(10);
  run.plan(grant(id, 3, {on(0, 1), on(1, 2)}));
  run.tell();
  run.settle();
  run.tell();
  run.wait_s(10);
  run.plan(grant(id, 0));
  run.settle();
  run.tell();
  run.wait_s(10);
  run.plan(grant(id, 2, {on(2, 2)}));
  run.settle();
  run.tell();
  run.wait_s(10);
  EXPECT_EQ(run.segments(), "0#1 0-10 0:1\n0#2 10-20 0:1 1:3\n0#3 30-40 2:3\n");
  const auto segments = run.timeline.segments();
  EXPECT_EQ(segments[1].generation, Generation{2});
  EXPECT_EQ(segments[1].reason, Reason::Rescaled);
}

TEST(Timeline, ANodeThatIsOutOfContactIsUnavailable) {
  Recorded run({tests::nodes_of(2, 4)});
  run.wait_s(10);
  run.node_down(1);
  run.tell();
  run.wait_s(20);
  run.node_up(1);
  run.tell();
  run.wait_s(10);
  run.timeline.close(run.now);
  ASSERT_EQ(run.timeline.nodes().size(), 2U);
  EXPECT_EQ(run.timeline.nodes()[0].condition, NodeCondition::Silent);
  EXPECT_EQ(run.timeline.nodes()[1].condition, NodeCondition::Up);
  EXPECT_EQ(static_cast<double>(run.timeline.device_time().unavailable), 80e9);
}

TEST(Timeline, SharesOfADeviceCountItOnce) {
  Recorded run({tests::nodes_of(1, 1)});
  const JobId a = run.come(job("a").share(300));
  const JobId b = run.come(job("b").share(500));
  run.plan(grant(a, 1) + grant(b, 1));
  run.settle();
  run.tell();
  run.wait_s(10);
  EXPECT_EQ(run.segments(), "0#1 0-10 0:1*300\n1#1 0-10 0:1*500\n");
  EXPECT_EQ(run.timeline.devices_in_use().points().front().value, 1);
}

TEST(Timeline, FromItsEndInTheWorldOnNothingIsAJobs) {
  Recorded run({tests::nodes_of(2, 4)});
  const JobId id = run.come(job("two").replicas(2));
  run.plan(grant(id, 2, {on(0, 2)}));
  run.settle();
  run.tell();
  run.wait_s(4);
  run.node_down(1);
  run.tell();
  // Both workers end at 5 s, of which the controller hears at 6 and at 7 s.
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    run.wait_s(rank == 0 ? 2 : 1);
    run.succeed(id, rank);
    run.tell_late(Instant::zero() + Duration::seconds(5));
  }
  run.wait_s(3);
  EXPECT_EQ(run.segments(), "0#1 0-5 0:3\n");
  EXPECT_EQ(run.timeline.segment_count(id), 1U);
  for (const DeviceTime* time :
       {&run.timeline.device_time(), &run.timeline.device_time_at_last_end()}) {
    EXPECT_EQ(static_cast<double>(time->in_use), 10e9);
    EXPECT_EQ(static_cast<double>(time->computing), 10e9);
  }
  EXPECT_EQ(static_cast<double>(run.timeline.device_time_at_last_end().unavailable), 4e9);
}

TEST(Timeline, BeyondItsLimitsItKeepsTotalsAndSaysSo) {
  Recorded run({tests::nodes_of(1, 2)}, {.segments_max = 1});
  for (const char* name : {"a", "b", "c"}) {
    const JobId id = run.come(job(name));
    run.plan(grant(id, 1));
    run.settle();
    run.tell();
    run.wait_s(10);
    run.succeed(id, 0);
    run.tell();
  }
  EXPECT_EQ(run.segments(), "0#1 0-10 0:1\n");
  EXPECT_EQ(run.timeline.segments_left_out(), 2U);
  EXPECT_FALSE(run.timeline.is_complete());
}

TEST(Timeline, OfManyPlansEverySecondIsKept) {
  Timeline timeline({}, {.plans_max = 8});
  for (int i = 0; i < 20; ++i)
    timeline.planned(Instant{i}, PlanTrigger::Period, 1, Duration::zero());
  EXPECT_EQ(timeline.plan_stride(), 4U);
  ASSERT_FALSE(timeline.plans().empty());
  for (const PlanRow& plan : timeline.plans()) EXPECT_EQ(plan.at.ns % 4, 0);
}

}  // namespace
}  // namespace orrery::sim
