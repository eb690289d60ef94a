// The arithmetic of ElasticFlow against what its published functions compute.
#include "policies/deadline_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace orrery::policies {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kSlot = 60;

/// Iterations a second on 1, 2, 4 and 8 GPUs.
const std::vector<SpeedColumn> kColumns{{1, 1.0}, {2, 1.8}, {4, 3.0}, {8, 4.0}};

DeadlineWork toy_work(double iterations, std::int64_t deadline_s) {
  return {kColumns, iterations, deadline_s};
}

constexpr ShareStep at(std::int64_t time_s, std::int32_t column) { return {time_s, column}; }

TEST(MinimumShare, IsTheSmallestColumnThatMeetsTheDeadline) {
  const SharePlan one = minimum_share(FreeProfile(8), 0, toy_work(600, 600), kSlot);
  EXPECT_THAT(one.steps, ElementsAre(at(0, 0)));
  EXPECT_EQ(one.real_end_s, 600);
  EXPECT_EQ(one.end_s, 600);
  EXPECT_TRUE(one.on_time);
  const SharePlan two = minimum_share(FreeProfile(8), 0, toy_work(600, 400), kSlot);
  EXPECT_THAT(two.steps, ElementsAre(at(0, 1)));
  EXPECT_EQ(two.real_end_s, 334);
  EXPECT_EQ(two.end_s, 360);
}

TEST(MinimumShare, WaitsForDevicesThatComeFreeLater) {
  FreeProfile free(8);
  const SharePlan first = minimum_share(free, 0, toy_work(600, 300), kSlot);
  EXPECT_THAT(first.steps, ElementsAre(at(0, 2)));
  EXPECT_EQ(first.real_end_s, 200);
  EXPECT_EQ(first.end_s, 240);
  take_share(free, first, kColumns);
  const SharePlan second = minimum_share(free, 0, toy_work(2000, 600), kSlot);
  EXPECT_THAT(second.steps, ElementsAre(at(0, 2), at(240, 3)));
  EXPECT_EQ(second.real_end_s, 560);
  EXPECT_EQ(second.end_s, 600);
  EXPECT_TRUE(first.on_time && second.on_time);
}

TEST(MinimumShare, RunsAsFastAsItCanWhereItIsLate) {
  FreeProfile free(8);
  take_share(free, minimum_share(free, 0, toy_work(600, 300), kSlot), kColumns);
  const SharePlan second = minimum_share(free, 0, toy_work(2400, 600), kSlot);
  EXPECT_EQ(second.real_end_s, 660);
  EXPECT_FALSE(second.on_time);
  take_share(free, second, kColumns);
  const SharePlan third = minimum_share(free, 0, toy_work(1000, 600), kSlot);
  EXPECT_EQ(third.real_end_s, 910);
  EXPECT_FALSE(third.on_time);
  const SharePlan alone = minimum_share(FreeProfile(8), 0, toy_work(3000, 600), kSlot);
  EXPECT_THAT(alone.steps, ElementsAre(at(0, 3)));
  EXPECT_EQ(alone.real_end_s, 750);
  EXPECT_EQ(alone.end_s, 780);
  EXPECT_FALSE(alone.on_time);
}

// By hand: one GPU makes 900 of the 1,000 iterations; two from 300 s on are enough, so until then
// it has one: 300, and 700 in 389 s.
TEST(MinimumShare, TakesALargerColumnAsLateAsItMay) {
  FreeProfile free(8);
  free.take(0, 300, 2);
  const SharePlan plan = minimum_share(free, 0, toy_work(1000, 900), kSlot);
  EXPECT_THAT(plan.steps, ElementsAre(at(0, 0), at(300, 1)));
  EXPECT_EQ(plan.real_end_s, 689);
  // Where nothing is free before, it idles.
  FreeProfile later(1);
  later.take(0, 300, 1);
  const SharePlan idle = minimum_share(later, 0, toy_work(600, 900), kSlot);
  EXPECT_THAT(idle.steps, ElementsAre(at(0, ShareStep::kIdle), at(300, 0)));
  EXPECT_TRUE(idle.on_time);
}

TEST(MinimumShare, NeverEndsWhereNothingComesFree) {
  FreeProfile free(8);
  free.take(0, kPlanNever, 8);
  const SharePlan plan = minimum_share(free, 0, toy_work(1, 600), kSlot);
  EXPECT_EQ(plan.real_end_s, kPlanNever);
  EXPECT_FALSE(plan.on_time);
  EXPECT_EQ(room_seconds(plan, kColumns), 0);
}

TEST(WholeRun, IsNotInterrupted) {
  const std::vector<SpeedColumn> four{{4, 1.0}};
  FreeProfile free(8);
  free.take(100, 300, 6);
  const SharePlan plan = whole_run(free, 0, {four, 150, 600}, kSlot);
  EXPECT_THAT(plan.steps, ElementsAre(at(0, ShareStep::kIdle), at(300, 0)));
  EXPECT_EQ(plan.real_end_s, 450);
  EXPECT_EQ(plan.end_s, 480);
  EXPECT_TRUE(plan.on_time);
  EXPECT_THAT(whole_run(free, 0, {four, 100, 600}, kSlot).steps, ElementsAre(at(0, 0)));
}

TEST(MarginalCost, IsDeviceTimeForEachDeviceAdded) {
  const FreeProfile free(8);
  const DeadlineWork work = toy_work(600, 900);
  const SharePlan plan = minimum_share(free, 0, work, kSlot);
  EXPECT_EQ(room_seconds(plan, kColumns), 600);
  EXPECT_DOUBLE_EQ(marginal_cost(free, 0, work, kSlot, plan, 1), 120);
}

TEST(FreeProfile, GivesBackWhatWasTaken) {
  FreeProfile free(8);
  const SharePlan plan = minimum_share(free, 0, toy_work(2000, 600), kSlot);
  take_share(free, plan, kColumns);
  EXPECT_LT(free.at(0), 8);
  take_share(free, plan, kColumns, -1);
  for (const auto& [time_s, room] : free.steps()) EXPECT_EQ(room, 8) << time_s;
}

TEST(PublishedOverhead, IsAsMeasured) {
  EXPECT_EQ(published_overhead_s(128, 1, false, false), 4);
  EXPECT_EQ(published_overhead_s(128, 4, false, false), 8);
  EXPECT_EQ(published_overhead_s(128, 8, false, true), 37);
  EXPECT_EQ(published_overhead_s(128, 8, true, false), 2);
  EXPECT_EQ(published_overhead_s(256, 8, false, true), 62);
}

}  // namespace
}  // namespace orrery::policies
