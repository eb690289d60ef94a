// Every rule of the dynamic scheduler of the components of one job.
#include "core/placement/dynamic_scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/base/random.hpp"

namespace orrery::placement {
namespace {

// 2 devices of an actor of width 2, 8 of rollout of width 2, 2 of inference; minibatches of 8
// groups of 4 sequences, 16 of which an instance generates at once.
DynamicSettings settings_of_12() {
  DynamicSettings settings;
  settings.actor = {1, 2};
  settings.rollout = {4, 2};
  settings.inference = {1, 2};
  settings.groups = 32;
  settings.group_size = 4;
  settings.minibatches = 4;
  settings.running_max = 16;
  settings.pre_process = false;
  settings.wait_before_last = false;
  return settings;
}

/// Owners as letters, by device.
std::string picture(const DynamicScheduler& scheduler) {
  std::string text;
  for (const DeviceOwner owner : scheduler.owners()) text += ".ari"[static_cast<int>(owner)];
  return text;
}

constexpr RolloutDecision kNothing{};

TEST(ActorSizes, ShareTheGroupsOfAMinibatchEvenly) {
  DynamicSettings settings = settings_of_12();
  EXPECT_EQ(valid_actor_sizes(settings), (std::vector{1, 2, 4})) << "6 do not share 8 groups";
  settings.minibatches = 2;
  EXPECT_EQ(valid_actor_sizes(settings), (std::vector{1, 2, 4})) << "8 need 16 devices";
  settings.actor.width = 1;
  settings.actor.instances = 2;
  EXPECT_EQ(valid_actor_sizes(settings), (std::vector{1, 2, 4, 8}));
  settings.groups = 24;
  EXPECT_EQ(valid_actor_sizes(settings), (std::vector{1, 2, 3, 4, 6, 12}));
  settings.minibatches = 5;
  EXPECT_TRUE(valid_actor_sizes(settings).empty());
}

TEST(PreProcess, RolloutBeginsWithTheActorsDevices) {
  DynamicSettings settings = settings_of_12();
  settings.pre_process = true;
  DynamicScheduler scheduler(settings);
  EXPECT_EQ(scheduler.rollout_live(), 5);
  EXPECT_EQ(picture(scheduler), "rrrrrrrrrrii");
  EXPECT_FALSE(scheduler.is_hand_over_due(128));
  EXPECT_FALSE(scheduler.is_hand_over_due(65));
  EXPECT_TRUE(scheduler.is_hand_over_due(64)) << "half of all";
  EXPECT_EQ(scheduler.hand_over(), 1);
  EXPECT_EQ(scheduler.rollout_first(), 1);
  EXPECT_EQ(picture(scheduler), "aarrrrrrrrii");
  EXPECT_EQ(scheduler.actor_instances(), 1);
  EXPECT_EQ(scheduler.count(DeviceOwner::Free), 0);
}

TEST(PreProcess, OneInstanceStaysWhereRolloutHasOne) {
  DynamicSettings settings = settings_of_12();
  settings.pre_process = true;
  settings.actor = {2, 4};
  settings.rollout = {1, 2};
  settings.inference = {};
  DynamicScheduler scheduler(settings);
  EXPECT_EQ(scheduler.rollout_live(), 5);
  EXPECT_EQ(scheduler.hand_over(), 4);
  EXPECT_EQ(picture(scheduler), "aaaaaaaarr");
}

TEST(Rollout, KeepsWhatIsFilledAndGivesUpNoMoreThanTheActorCanUse) {
  DynamicScheduler scheduler(settings_of_12());
  // 64 sequences fill all four instances.
  EXPECT_EQ(scheduler.rollout(0, 64), kNothing);
  EXPECT_EQ(scheduler.inference(0, false), InferenceAction::Keep);
  EXPECT_EQ(scheduler.actor(0), 1);
  // 17 fill two: two could go, the next sizes are 2, of one instance, and 4, of three.
  EXPECT_EQ(scheduler.rollout(1, 17), (RolloutDecision{RolloutAction::Migrate, 1}));
  EXPECT_EQ(picture(scheduler), "aa..rrrrrrii");
  scheduler.inference(1, false);
  EXPECT_EQ(scheduler.actor(1), 2);
  EXPECT_EQ(picture(scheduler), "aaaarrrrrrii");
  // 16 fill one: two could go, and the actor can use both.
  EXPECT_EQ(scheduler.rollout(2, 16), (RolloutDecision{RolloutAction::Migrate, 2}));
  scheduler.inference(2, false);
  EXPECT_EQ(scheduler.actor(2), 4);
  EXPECT_EQ(picture(scheduler), "aaaaaaaarrii");
  EXPECT_EQ(scheduler.rollout_first(), 3) << "the lowest leave first";
}

TEST(Rollout, TheLastInstanceStaysAsLongAsSomethingRuns) {
  DynamicSettings settings = settings_of_12();
  settings.rollout.instances = 1;
  DynamicScheduler scheduler(settings);
  EXPECT_EQ(scheduler.rollout(0, 1), kNothing);
  EXPECT_EQ(scheduler.rollout(1, 0), (RolloutDecision{RolloutAction::Finish, 1}));
  EXPECT_EQ(scheduler.rollout(1, 0), kNothing) << "none is left";
}

TEST(Rollout, MoreThanTheInstancesHoldIsNoReasonToGrow) {
  DynamicScheduler scheduler(settings_of_12());
  EXPECT_EQ(scheduler.rollout(0, 1000), kNothing);
  EXPECT_EQ(scheduler.rollout_live(), 4);
}

TEST(Rollout, AnActorThatCannotGrowByItGetsNothing) {
  DynamicSettings settings = settings_of_12();
  settings.groups = 12;  // 3 of a minibatch: sizes 1 and 3.
  DynamicScheduler scheduler(settings);
  EXPECT_EQ(scheduler.rollout(0, 33), kNothing) << "one could go, two are needed";
  EXPECT_EQ(scheduler.rollout(0, 32), (RolloutDecision{RolloutAction::Migrate, 2}));
}

TEST(Rollout, WholeInstancesGoWhereTheActorNeedsPartOfOne) {
  DynamicSettings settings = settings_of_12();
  settings.actor = {2, 1};
  settings.rollout = {2, 4};
  settings.inference = {};
  settings.groups = 24;  // 6 of a minibatch: sizes 1, 2, 3 and 6.
  settings.running_max = 64;
  DynamicScheduler scheduler(settings);
  EXPECT_EQ(scheduler.rollout(0, 9), (RolloutDecision{RolloutAction::Migrate, 1}));
  EXPECT_EQ(scheduler.actor(0), 6);
  EXPECT_EQ(picture(scheduler), "aaaaaarrrr");
  settings.groups = 12;  // Sizes 1 and 3.
  settings.actor = {1, 1};
  DynamicScheduler wasteful(settings);
  EXPECT_EQ(wasteful.rollout(0, 9), (RolloutDecision{RolloutAction::Migrate, 1}));
  EXPECT_EQ(wasteful.actor(0), 3);
  EXPECT_EQ(picture(wasteful), "aaa..rrrr") << "two are left over";
}

TEST(Rollout, WithoutAnythingRunningAllEnd) {
  DynamicScheduler scheduler(settings_of_12());
  EXPECT_EQ(scheduler.rollout(0, 0), (RolloutDecision{RolloutAction::Finish, 4}));
  EXPECT_EQ(picture(scheduler), "aa........ii");
  scheduler.inference(0, false);
  EXPECT_EQ(scheduler.actor(0), 4) << "8 of the 10 are within a valid size";
  EXPECT_EQ(picture(scheduler), "aaaaaaaa..ii");
}

TEST(Rollout, WaitsBeforeTheLastMinibatchWhereSettingsSaySo) {
  DynamicSettings settings = settings_of_12();
  settings.wait_before_last = true;
  DynamicScheduler scheduler(settings);
  EXPECT_EQ(scheduler.rollout(1, 100), kNothing);
  EXPECT_EQ(scheduler.rollout(2, 100), (RolloutDecision{RolloutAction::WaitForFinish, 4}));
  EXPECT_EQ(scheduler.inference(2, false), InferenceAction::WaitForFinish);
  EXPECT_EQ(scheduler.actor(2), 4);
}

TEST(Rollout, FinishComesBeforeWaiting) {
  DynamicSettings settings = settings_of_12();
  settings.wait_before_last = true;
  EXPECT_EQ(DynamicScheduler(settings).rollout(2, 0), (RolloutDecision{RolloutAction::Finish, 4}));
}

TEST(Inference, IsReleasedWholeOnceItIsDone) {
  DynamicScheduler scheduler(settings_of_12());
  EXPECT_EQ(scheduler.inference(0, false), InferenceAction::Keep);
  EXPECT_EQ(scheduler.inference(1, true), InferenceAction::Release);
  EXPECT_EQ(picture(scheduler), "aarrrrrrrr..");
  EXPECT_EQ(scheduler.inference(2, true), InferenceAction::Keep) << "it is gone";
  EXPECT_EQ(scheduler.actor(2), 2) << "devices that do not lie next to the actor count as well";
  EXPECT_EQ(picture(scheduler), "aarrrrrrrraa");
}

TEST(Inference, WaitsForItsEndWhereRolloutHasNoneLeft) {
  DynamicSettings settings = settings_of_12();
  settings.wait_before_last = true;
  DynamicScheduler scheduler(settings);
  EXPECT_EQ(scheduler.inference(0, true), InferenceAction::Keep) << "not even if it is done";
  scheduler.rollout(1, 0);
  EXPECT_EQ(scheduler.inference(1, false), InferenceAction::WaitForFinish);
  EXPECT_EQ(scheduler.count(DeviceOwner::Free), 10);
}

TEST(Actor, TakesTheLargestSizeThatFits) {
  DynamicScheduler scheduler(settings_of_12());
  scheduler.rollout(0, 48);  // One instance goes.
  EXPECT_EQ(scheduler.count(DeviceOwner::Free), 2);
  EXPECT_EQ(scheduler.actor(0), 2);
  EXPECT_EQ(scheduler.actor(1), 2) << "less than one replica is free";
}

TEST(Actor, LeftoversOfEarlierMinibatchesCount) {
  DynamicSettings settings = settings_of_12();
  settings.inference = {2, 1};
  DynamicScheduler scheduler(settings);
  scheduler.rollout(0, 48);
  EXPECT_EQ(scheduler.actor(0), 2);
  EXPECT_EQ(scheduler.inference(1, true), InferenceAction::Release);
  EXPECT_EQ(scheduler.actor(1), 2) << "3 is no size";
  EXPECT_EQ(scheduler.count(DeviceOwner::Free), 2);
  // Rollout reckons without what is free already: 2 instances could go, and 4 devices are needed.
  EXPECT_EQ(scheduler.rollout(2, 16), (RolloutDecision{RolloutAction::Migrate, 2}));
  EXPECT_EQ(scheduler.actor(2), 4);
  EXPECT_EQ(scheduler.count(DeviceOwner::Free), 2);
}

TEST(Actor, StaysAtItsLargestSizeWhileDevicesAreFree) {
  DynamicSettings settings = settings_of_12();
  settings.minibatches = 8;  // Sizes 1, 2 and 4.
  DynamicScheduler scheduler(settings);
  scheduler.rollout(0, 0);
  EXPECT_EQ(scheduler.actor(0), 4);
  scheduler.inference(1, true);
  EXPECT_EQ(scheduler.count(DeviceOwner::Free), 4);
  EXPECT_EQ(scheduler.actor(1), 4);
}

TEST(Last, EverythingEndsAndTheActorIsAsItBegan) {
  DynamicScheduler scheduler(settings_of_12());
  scheduler.rollout(1, 16);
  scheduler.inference(1, false);
  ASSERT_EQ(scheduler.actor(1), 4);
  EXPECT_EQ(scheduler.rollout(3, 0), (RolloutDecision{RolloutAction::Finish, 1}));
  EXPECT_EQ(scheduler.inference(3, true), InferenceAction::WaitForFinish);
  EXPECT_EQ(scheduler.actor(3), 1);
  EXPECT_EQ(picture(scheduler), "aa..........");
}

TEST(Last, AStepOfOneMinibatchMovesNothing) {
  DynamicSettings settings = settings_of_12();
  settings.minibatches = 1;
  settings.wait_before_last = true;
  DynamicScheduler scheduler(settings);
  EXPECT_EQ(scheduler.rollout(0, 0).action, RolloutAction::Finish);
  EXPECT_EQ(scheduler.actor(0), 1);
}

using Groups = std::vector<PartialGroup>;
using Shares = std::vector<Groups>;

TEST(Refill, EachTakesFromTheHeadUntilItHasItsPart) {
  const std::vector<std::int64_t> staying{2, 6, 1};
  const Groups groups{{3, 2}, {7, 2}, {8, 4}, {9, 1}};
  // 18 sequences, 6 each.
  EXPECT_EQ(refill(staying, groups), (Shares{{{3, 2}, {7, 2}}, {}, {{8, 4}, {9, 1}}}));
}

TEST(Refill, AGroupMayGoBeyondThePart) {
  const std::vector<std::int64_t> staying{3, 0, 0};
  const Groups groups{{0, 4}, {1, 4}, {2, 1}};
  // 12 sequences, 4 each.
  EXPECT_EQ(refill(staying, groups), (Shares{{{0, 4}}, {{1, 4}}, {{2, 1}}}));
}

TEST(Refill, TheLastTakesTheRestEvenBeyondItsPart) {
  const std::vector<std::int64_t> staying{9, 1};
  EXPECT_EQ(refill(staying, Groups{{0, 4}, {1, 4}}), (Shares{{}, {{0, 4}, {1, 4}}}));
  EXPECT_EQ(refill(std::vector<std::int64_t>{5}, Groups{{0, 4}}), (Shares{{{0, 4}}}));
}

TEST(Refill, ThereIsAShareForEachEvenWhereNothingIsLeft) {
  const std::vector<std::int64_t> staying{0, 0, 0};
  EXPECT_EQ(refill(staying, Groups{{0, 5}}), (Shares{{{0, 5}}, {}, {}}));
  EXPECT_EQ(refill(staying, Groups{}), (Shares{{}, {}, {}}));
}

// Random steps: no device is lost or held twice, the actor has a valid size, instances only leave.
TEST(Steps, KeepTheirDevices) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random draw(seed);
    const auto number = [&](std::uint64_t low, std::uint64_t high) {
      return static_cast<std::int32_t>(low + draw.below(high - low + 1));
    };
    DynamicSettings settings;
    settings.rollout = {number(1, 8), number(1, 4)};
    settings.actor = {number(1, 4), settings.rollout.width * number(1, 2)};
    settings.inference = {number(0, 2), number(1, 4)};
    settings.minibatches = number(1, 6);
    settings.groups = settings.minibatches * settings.actor.instances * number(1, 6);
    settings.group_size = number(1, 8);
    settings.running_max = number(1, 40);
    settings.pre_process = draw.below(2) == 0;
    settings.wait_before_last = draw.below(2) == 0;
    const auto sizes = valid_actor_sizes(settings);
    DynamicScheduler scheduler(settings);
    std::int64_t running = std::int64_t{settings.groups} * settings.group_size;
    if (settings.pre_process) {
      running /= 2;
      ASSERT_TRUE(scheduler.is_hand_over_due(running));
      scheduler.hand_over();
    }
    for (std::int32_t m = 0; m < settings.minibatches; ++m) {
      running =
          m + 1 == settings.minibatches
              ? 0
              : static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(running) + 1));
      const std::int32_t first = scheduler.rollout_first();
      const std::int32_t size = scheduler.actor_instances();
      const RolloutDecision decision = scheduler.rollout(m, running);
      EXPECT_EQ(scheduler.rollout_first(), first + decision.leaving);
      if (decision.action == RolloutAction::Migrate) {
        EXPECT_GE(std::int64_t{scheduler.rollout_live()} * settings.running_max, running);
      }
      scheduler.inference(m, running == 0);
      const std::int32_t now = scheduler.actor(m);
      EXPECT_TRUE(std::binary_search(sizes.begin(), sizes.end(), now)) << now;
      EXPECT_TRUE(now >= size || m + 1 == settings.minibatches);
      EXPECT_EQ(scheduler.count(DeviceOwner::Actor), std::int64_t{now} * settings.actor.width);
      EXPECT_EQ(scheduler.count(DeviceOwner::Rollout),
                std::int64_t{scheduler.rollout_live()} * settings.rollout.width);
      EXPECT_EQ(static_cast<std::int64_t>(scheduler.owners().size()), settings.devices());
    }
    EXPECT_EQ(scheduler.actor_instances(), settings.actor.instances);
  }
}

}  // namespace
}  // namespace orrery::placement
