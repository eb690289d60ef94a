// Turns whose parts go on at once, with times that can be worked out on paper.
#include "sim/steps/streamed_turn.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/steps/loop_turn.hpp"

namespace orrery::sim {
namespace {

using placement::InferenceAction;
using placement::RolloutAction;
using scenarios::LoopSpec;
using scenarios::StreamScheduler;

LoopSpec loop_of(std::int32_t sequences, std::int32_t group, std::int32_t minibatches) {
  LoopSpec loop;
  loop.sequences = sequences;
  loop.tokens_per_second = 1;
  loop.concurrent = 1;
  loop.length_median = 10;
  loop.length_max = 1000;
  loop.stream.emplace();
  loop.stream->group = group;
  loop.stream->minibatches = minibatches;
  return loop;
}

StreamedTurn turn_of(const LoopSpec& loop, const StreamedRoles& roles, std::uint64_t seed = 1) {
  Random random(seed);
  return streamed_turn(loop, roles, random);
}

TEST(StreamedTurn, PartsGoOnAtOnce) {
  StreamedRoles roles;
  roles.actor = {1, 1};
  roles.rollout = {1, 1};
  roles.train_s = 12;  // 3 s a group.
  // Groups come at 10, 20, 30 and 40 s: training waits for each.
  EXPECT_DOUBLE_EQ(turn_of(loop_of(4, 1, 2), roles).seconds, 43);
  roles.train_s = 60;  // 15 s a group: only the first is waited for.
  EXPECT_DOUBLE_EQ(turn_of(loop_of(4, 1, 2), roles).seconds, 70);
  EXPECT_DOUBLE_EQ(turn_of(loop_of(4, 1, 2), roles).generated_s, 40);
}

TEST(StreamedTurn, GroupsGoThroughInferenceOneAfterTheOther) {
  StreamedRoles roles;
  roles.actor = {1, 1};
  roles.rollout = {2, 1};
  roles.inference = {1, 1};
  roles.train_s = 4;
  roles.inference_s = 16;  // 4 s a group.
  // Two groups at 10 s, two at 20 s; through inference at 14, 18, 24 and 28 s.
  EXPECT_DOUBLE_EQ(turn_of(loop_of(4, 1, 1), roles).seconds, 29);
}

TEST(StreamedTurn, AGroupGoesOnWhenItsLastSequenceEnds) {
  StreamedRoles roles;
  roles.actor = {1, 1};
  roles.rollout = {2, 1};
  roles.train_s = 2;
  // Each instance generates both sequences of its group, one after the other.
  EXPECT_DOUBLE_EQ(turn_of(loop_of(4, 2, 1), roles).seconds, 22);
}

TEST(StreamedTurn, WithoutASchedulerNothingIsDecided) {
  StreamedRoles roles;
  roles.actor = {1, 1};
  roles.rollout = {4, 1};
  roles.train_s = 8;
  LoopSpec loop = loop_of(8, 1, 4);
  EXPECT_TRUE(turn_of(loop, roles).decisions.empty());
  loop.stream->scheduler = StreamScheduler::Dynamic;
  EXPECT_FALSE(turn_of(loop, roles).decisions.empty());
  roles.actor.instances = 3;  // Do not share the 2 groups of a minibatch.
  EXPECT_FALSE(may_be_dynamic(dynamic_settings(loop, roles)));
  EXPECT_TRUE(turn_of(loop, roles).decisions.empty());
}

/// Four instances of one slot, one device of the actor; 8 groups of one sequence of 10 s.
LoopSpec dynamic_loop() {
  LoopSpec loop = loop_of(8, 1, 2);
  loop.stream->scheduler = StreamScheduler::Dynamic;
  loop.stream->pre_process = false;
  loop.stream->wait_before_last = false;
  return loop;
}

StreamedRoles dynamic_roles() {
  StreamedRoles roles;
  roles.actor = {1, 1};
  roles.rollout = {4, 1};
  roles.train_s = 80;  // 10 s a group on one device.
  return roles;
}

TEST(DynamicTurn, TheActorGrowsOntoWhatRolloutGivesUp) {
  // Four groups at 10 s, four at 20 s. The first minibatch is trained at 50 s; nothing runs any
  // more, so the second has 4 of the 5 devices: 2.5 s a group.
  const StreamedTurn turn = turn_of(dynamic_loop(), dynamic_roles());
  EXPECT_DOUBLE_EQ(turn.seconds, 60);
  EXPECT_DOUBLE_EQ(turn.generated_s, 20);
  ASSERT_EQ(turn.decisions.size(), 2u);
  EXPECT_DOUBLE_EQ(turn.decisions[0].at, 50);
  EXPECT_EQ(turn.decisions[0].rollout.action, RolloutAction::Finish);
  EXPECT_EQ(turn.decisions[0].rollout.leaving, 4);
  EXPECT_EQ(turn.decisions[0].actor, 4);
  EXPECT_EQ(turn.decisions[1].actor, 1);
  EXPECT_DOUBLE_EQ(turn_of(loop_of(8, 1, 2), dynamic_roles()).seconds, 90) << "without";
}

TEST(DynamicTurn, ChangesOfSizeTakeTheActorTheirTime) {
  LoopSpec loop = dynamic_loop();
  loop.stream->resize = Duration::seconds(3);
  EXPECT_DOUBLE_EQ(turn_of(loop, dynamic_roles()).seconds, 60 + 2 * 3) << "to 4, and back to 1";
}

TEST(DynamicTurn, MigratedSequencesGoOnWhereTheyWere) {
  LoopSpec loop = dynamic_loop();
  loop.concurrent = 2;
  loop.sequences = 4;
  loop.stream->minibatches = 2;
  loop.length_median = 16;
  StreamedRoles roles = dynamic_roles();
  roles.rollout = {2, 1};
  roles.actor = {1, 1};
  roles.train_s = 8;  // 2 s a group.
  loop.stream->pre_process = true;
  loop.stream->migrate = Duration::seconds(5);
  // Three instances, of which the first has two sequences. All four run until 16 s; the scheduler
  // looks at that second, and finds nothing.
  EXPECT_DOUBLE_EQ(turn_of(loop, roles).decisions[0].at, 16);
  // With one slot the fourth sequence begins at 16 s on the first instance. It moves at once to
  // the last (2 // 2 is nobody's part), and begins there as if it had begun 5 s later.
  loop.concurrent = 1;
  const StreamedTurn turn = turn_of(loop, roles);
  ASSERT_EQ(turn.decisions.size(), 3u);
  EXPECT_DOUBLE_EQ(turn.decisions[0].at, 16);
  EXPECT_EQ(turn.decisions[0].rollout.leaving, 1);
  EXPECT_DOUBLE_EQ(turn.generated_s, 16 + 16 + 5);
  // The second minibatch has the devices that are left: sizes are 1 and 2.
  EXPECT_EQ(turn.decisions[1].rollout.action, RolloutAction::Migrate);
  EXPECT_EQ(turn.decisions[1].actor, 2);
  EXPECT_DOUBLE_EQ(turn.seconds, 37 + 1);
}

TEST(DynamicTurn, ActorWaitsBeforeItsLastMinibatch) {
  LoopSpec loop = dynamic_loop();
  loop.stream->wait_before_last = true;
  StreamedRoles roles = dynamic_roles();
  roles.train_s = 8;  // 1 s a group.
  roles.inference = {1, 1};
  roles.inference_s = 8;
  // Groups are through inference at 11 to 14 s and 21 to 24 s; the first minibatch at 15 s.
  const StreamedTurn turn = turn_of(loop, roles);
  EXPECT_DOUBLE_EQ(turn.decisions[0].at, 15);
  EXPECT_EQ(turn.decisions[0].rollout.action, RolloutAction::WaitForFinish);
  EXPECT_EQ(turn.decisions[0].inference, InferenceAction::WaitForFinish);
  EXPECT_EQ(turn.decisions[0].actor, 4);
  EXPECT_DOUBLE_EQ(turn.seconds, 24 + 4 * 0.25);
}

TEST(DynamicTurn, LengthsAreThoseOfTheStaticTurn) {
  LoopSpec loop = loop_of(64, 4, 4);
  loop.length_sigma = 1;
  Random once(7);
  Random again(7);
  StreamedRoles roles = dynamic_roles();
  streamed_turn(loop, roles, once);
  loop.stream->scheduler = StreamScheduler::Dynamic;
  streamed_turn(loop, roles, again);
  EXPECT_EQ(once.bits(), again.bits()) << "as many numbers are drawn";
}

// Random loops: every group is trained after it was generated, work is not lost, and with ideal
// moves the actor never has less than without them once rollout has ended.
TEST(DynamicTurn, StaysWithinItsBounds) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random draw(seed);
    const auto number = [&](std::uint64_t low, std::uint64_t high) {
      return static_cast<std::int32_t>(low + draw.below(high - low + 1));
    };
    StreamedRoles roles;
    roles.rollout = {number(1, 6), number(1, 2)};
    roles.actor = {number(1, 3), 2};
    roles.inference = {number(0, 2), 1};
    roles.train_s = draw.uniform(1, 100);
    roles.inference_s = draw.uniform(0, 50);
    const std::int32_t minibatches = number(1, 5);
    const std::int32_t group = number(1, 4);
    LoopSpec loop =
        loop_of(minibatches * roles.actor.instances * number(1, 4) * group, group, minibatches);
    loop.concurrent = number(1, 8);
    loop.length_sigma = 1;
    loop.stream->scheduler = StreamScheduler::Dynamic;
    loop.stream->pre_process = draw.below(2) == 0;
    loop.stream->wait_before_last = draw.below(2) == 0;
    const StreamedTurn turn = turn_of(loop, roles, seed);
    ASSERT_TRUE(may_be_dynamic(dynamic_settings(loop, roles)));
    ASSERT_EQ(turn.decisions.size(),
              static_cast<std::size_t>(minibatches) + (loop.stream->pre_process ? 1 : 0));
    Random again(seed);
    double longest = 0;
    double tokens_s = 0;
    for (std::int32_t i = 0; i < loop.sequences; ++i) {
      const double seconds = sequence_seconds(loop, again);
      longest = std::max(longest, seconds);
      tokens_s += seconds;
    }
    const std::int32_t devices = roles.actor.instances * roles.actor.width +
                                 roles.rollout.instances * roles.rollout.width +
                                 roles.inference.instances * roles.inference.width;
    const double fastest = roles.train_s * roles.actor.instances * roles.actor.width / devices;
    EXPECT_GE(turn.generated_s, longest - 1e-9);
    EXPECT_LE(turn.generated_s, tokens_s + 1e-9);
    EXPECT_GE(turn.seconds, std::max(turn.generated_s, fastest) - 1e-9);
    double at = 0;
    for (const TurnDecision& decision : turn.decisions) {
      EXPECT_GE(decision.at, at);
      at = decision.at;
    }
    EXPECT_EQ(turn.decisions.back().actor, roles.actor.instances);
  }
}

}  // namespace
}  // namespace orrery::sim
