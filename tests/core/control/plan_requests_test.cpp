// When plans are asked for: by what happens, and once a period.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "core/base/random.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

TEST(PlanRequests, EachSubmissionIsAskedForOnce) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId a = h.submit(job("a"));
  const JobId b = h.submit(job("b"));
  for (const JobId id : {a, b}) {
    const auto request = h.controller.take_plan_request();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->trigger, PlanTrigger::Submission);
    EXPECT_EQ(request->job, id);
  }
  const auto capacity = h.controller.take_plan_request();  // The nodes were declared.
  ASSERT_TRUE(capacity);
  EXPECT_EQ(capacity->trigger, PlanTrigger::Capacity);
  EXPECT_FALSE(h.controller.take_plan_request());
}

TEST(PlanRequests, ManyEndsOfOneInstantAreOneRequest) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId a = h.running(job("a"), 1);
  const JobId b = h.running(job("b"), 1);
  h.submit(job("waiting").replicas(4));
  while (h.controller.take_plan_request()) {
  }
  h.succeed(a, 0);
  h.succeed(b, 0);
  EXPECT_EQ(h.controller.take_plan_request()->trigger, PlanTrigger::Completion);
  EXPECT_FALSE(h.controller.take_plan_request());
}

TEST(PlanRequests, WhatAnEndedJobStillHeldIsRoomForThoseWhoWait) {
  ControllerHarness h({nodes_of(1, 2)});
  const JobId a = h.running(job("a").follower("watcher", 1).clean(CleanPodPolicy::None), 1);
  h.submit(job("waiting").replicas(2));
  h.succeed(a, 0);
  ASSERT_EQ(h.phase(a), JobPhase::Succeeded);
  while (h.controller.take_plan_request()) {
  }
  h.succeed(a, 1);
  const auto request = h.controller.take_plan_request();
  ASSERT_TRUE(request) << "the watcher was still running when its job had ended";
  EXPECT_EQ(request->trigger, PlanTrigger::Capacity);
}

TEST(PlanRequests, WithoutWaitingOrResizableJobsNoPlanIsAsked) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId a = h.running(job("a"), 1);
  h.running(job("b"), 1);
  while (h.controller.take_plan_request()) {
  }
  h.succeed(a, 0);
  EXPECT_FALSE(h.controller.take_plan_request());
}

TEST(PlanRequests, CyclesFallOnMultiplesOfThePeriodWhileThereAreJobs) {
  Settings settings;
  settings.plan_period = Duration::seconds(60);
  ControllerHarness h({nodes_of(1, 4)}, settings);
  EXPECT_TRUE(h.controller.next_deadline().is_never());
  h.now = Instant::zero() + Duration::seconds(90);
  const JobId id = h.submit(job("a"));
  EXPECT_EQ(h.controller.next_deadline(), Instant::zero() + Duration::seconds(120));
  h.pass(Duration::seconds(30));
  EXPECT_EQ(h.controller.next_deadline(), Instant::zero() + Duration::seconds(180));
  h.step(StopRequested{0, id});
  EXPECT_TRUE(h.controller.next_deadline().is_never());
}

// --- cycles under clocks that are never exactly at the multiple ---

struct CycleHarness : ControllerHarness {
  CycleHarness() : ControllerHarness({nodes_of(1, 4)}, settings()) {}

  static Settings settings() {
    Settings made;
    made.plan_period = kPeriod;
    return made;
  }

  // As a driver on a real clock does: it waits for the deadline and looks at the time after that.
  void wake(Duration late) {
    now = std::max(now, controller.next_deadline()) + late;
    while (controller.next_deadline() <= now) step(TimeReached{});
  }

  // How many cycles the policy is asked for now.
  int cycles() {
    int asked = 0;
    while (const auto request = controller.take_plan_request())
      asked += request->trigger == PlanTrigger::Period ? 1 : 0;
    return asked;
  }

  static constexpr Duration kPeriod = Duration::seconds(60);
};

TEST(Cycles, FireOncePerPeriodHoweverLateTheClockIsLookedAt) {
  constexpr std::uint64_t kSeed = 20261122;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  CycleHarness h;
  // Real instants are counted from 1970 and never on a multiple.
  h.now = Instant{1'795'000'000'123'456'789};
  h.submit(job("waiting").replicas(4));
  EXPECT_EQ(h.cycles(), 0);
  const std::int64_t first = h.now.ns / CycleHarness::kPeriod.ns + 1;
  for (std::int64_t k = 0; k < 500; ++k) {
    const Instant multiple{(first + k) * CycleHarness::kPeriod.ns};
    // Something else happens just before the multiple, at it, or between it and the wake.
    h.now = multiple + Duration{random.between(-2'000, 2'000)};
    h.step(QuotasDeclared{{}});
    h.wake(Duration{random.between(1, 900'000)});
    EXPECT_GE(h.now, multiple);
    ASSERT_EQ(h.cycles(), 1) << "period " << k << ", looked at " << (h.now - multiple).ns
                             << " ns after the multiple";
    ASSERT_EQ(h.controller.next_deadline(), multiple + CycleHarness::kPeriod);
  }
}

TEST(Cycles, AWakeThatIsPeriodsLateAsksOnceAndGoesOnAtTheNextMultiple) {
  CycleHarness h;
  h.now = Instant::zero() + Duration::seconds(61);
  h.submit(job("waiting").replicas(4));
  EXPECT_EQ(h.cycles(), 0);
  h.wake(Duration::seconds(200));
  EXPECT_EQ(h.now, Instant::zero() + Duration::seconds(320));
  EXPECT_EQ(h.cycles(), 1);
  EXPECT_EQ(h.controller.next_deadline(), Instant::zero() + Duration::seconds(360));
}

TEST(Cycles, AJobAfterAnIdleStretchWaitsForTheNextMultiple) {
  CycleHarness h;
  const JobId first = h.submit(job("first").replicas(4));
  h.wake(Duration{5});
  EXPECT_EQ(h.cycles(), 1);
  h.step(StopRequested{0, first});
  h.now = Instant::zero() + Duration::seconds(1000) + Duration{7};
  h.submit(job("second").replicas(4));
  EXPECT_EQ(h.cycles(), 0);
  EXPECT_EQ(h.controller.next_deadline(), Instant::zero() + Duration::seconds(1020));
}

// A fold of the same records, and a snapshot in the middle, have the same cycle in front of them.
TEST(Cycles, SurviveASnapshotBetweenTheMultipleAndTheWake) {
  CycleHarness h;
  h.now = Instant::zero() + Duration::seconds(90);
  h.submit(job("waiting").replicas(4));
  EXPECT_EQ(h.cycles(), 0);
  h.now = Instant::zero() + Duration::seconds(120) + Duration{1};
  h.step(QuotasDeclared{{}});
  ByteWriter bytes;
  h.controller.state().save(bytes);
  Controller taken_over;
  ByteReader in(bytes.bytes());
  ASSERT_TRUE(taken_over.load(in, kRecordVersion));
  EXPECT_EQ(taken_over.next_deadline(), Instant::zero() + Duration::seconds(120));
  Commands out;
  taken_over.step({h.now, h.now, Origin::Reaction, TimeReached{}}, out);
  (void)taken_over.take_plan_request();
  EXPECT_EQ(taken_over.next_deadline(), Instant::zero() + Duration::seconds(180));
  h.step(TimeReached{});
  EXPECT_EQ(taken_over.digest(), h.controller.digest());
}

}  // namespace
}  // namespace orrery::tests
