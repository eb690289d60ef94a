// Turns as pipelines over devices.
#include "sim/steps/pipeline_turn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/steps/loop_turn.hpp"
#include "sim/steps/streamed_turn.hpp"

namespace orrery::sim {
namespace {

using scenarios::LoopSpec;

LoopSpec random_loop(std::int32_t sequences, std::int32_t concurrent, double sigma) {
  LoopSpec loop;
  loop.sequences = sequences;
  loop.tokens_per_second = 50;
  loop.concurrent = concurrent;
  loop.length_median = 800;
  loop.length_sigma = sigma;
  loop.length_max = 8192;
  return loop;
}

/// Groups that end at these instants.
Generated groups_at(std::vector<double> ends) {
  Generated generated;
  generated.even_s = ends.front();
  generated.busy_s = ends.back();
  generated.ends = std::move(ends);
  return generated;
}

/// Parts of roles of their own, each on its own devices.
Pipeline apart(const std::vector<double>& seconds, std::int32_t micro_batches) {
  Pipeline pipeline;
  pipeline.micro_batches = micro_batches;
  for (std::size_t i = 0; i < seconds.size(); ++i)
    pipeline.parts.push_back({static_cast<std::int32_t>(i), seconds[i], 1U << i});
  return pipeline;
}

void share_all(Pipeline& pipeline) {
  for (PipelinePart& part : pipeline.parts) part.beside = (1U << pipeline.parts.size()) - 1;
}

TEST(PipelineTurn, OnePartAfterTheOtherIsTheSumOfTheParts) {
  const TurnPath path = pipeline_turn(apart({0, 4, 6}, 1), groups_at({2, 5, 10}));
  EXPECT_DOUBLE_EQ(path.seconds(), 20);
  EXPECT_DOUBLE_EQ(path.even_s, 2);
  EXPECT_DOUBLE_EQ(path.tail_s, 8);
  EXPECT_EQ(path.parts, (std::vector<double>{0, 4, 6}));
}

TEST(PipelineTurn, MicroBatchesGoOnBehindTheGroups) {
  // Groups at 2, 5, 10 and 11; training of 2 s each: 4, 7, 12, 14.
  const TurnPath path = pipeline_turn(apart({0, 8}, 4), groups_at({2, 5, 10, 11}));
  EXPECT_DOUBLE_EQ(path.seconds(), 14);
  EXPECT_EQ(path.parts, (std::vector<double>{0, 4})) << "it waits for the third group";
  EXPECT_DOUBLE_EQ(path.even_s + path.tail_s, 10);
}

TEST(PipelineTurn, RolesThatShareDevicesWaitForEachOtherAndPayForTheSwitch) {
  Pipeline pipeline = apart({0, 4, 6}, 2);
  share_all(pipeline);
  pipeline.switch_s = 3;
  const TurnPath path = pipeline_turn(pipeline, groups_at({2, 10}));
  EXPECT_DOUBLE_EQ(path.seconds(), 10 + 4 + 6 + 3 * 3.0);
  EXPECT_DOUBLE_EQ(path.switch_s, 9);
}

TEST(PipelineTurn, PartsOfOneRolePassNoDevicesOn) {
  Pipeline pipeline = apart({0, 4, 6}, 1);
  share_all(pipeline);
  pipeline.switch_s = 3;
  pipeline.parts[1].role = pipeline.parts[0].role;
  EXPECT_DOUBLE_EQ(pipeline_turn(pipeline, groups_at({10})).seconds(), 10 + 4 + 6 + 2 * 3.0);
}

TEST(PipelineTurn, ASwitchHidesBehindGenerationElsewhere) {
  // Inference and training share devices beside generation: the first switch is over long before.
  Pipeline pipeline = apart({0, 4, 6}, 2);
  pipeline.parts[1].beside = pipeline.parts[2].beside = 0b110;
  pipeline.switch_s = 3;
  const TurnPath path = pipeline_turn(pipeline, groups_at({5, 10}));
  EXPECT_DOUBLE_EQ(path.seconds(), 10 + 2 + 3 + 6);
  EXPECT_DOUBLE_EQ(path.switch_s, 3);
}

TEST(PipelineTurn, HandoverAndWeightsCount) {
  Pipeline pipeline = apart({0, 8}, 4);
  pipeline.handover_s = 0.5;
  pipeline.weights_s = 1.5;
  const TurnPath path = pipeline_turn(pipeline, groups_at({1, 1, 1, 1}));
  EXPECT_DOUBLE_EQ(path.seconds(), 1 + 8 + 4 * 0.5 + 1.5);
  EXPECT_DOUBLE_EQ(path.handover_s, 2);
}

TEST(PipelineTurn, IsAsLongAsTheLoopOneAfterTheOther) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random draw(seed);
    const LoopSpec loop = random_loop(static_cast<std::int32_t>(1 + draw.below(300)),
                                      static_cast<std::int32_t>(1 + draw.below(20)),
                                      draw.uniform(0, 2));
    const auto replicas = static_cast<std::int32_t>(1 + draw.below(8));
    Random one(seed);
    Random two(seed);
    const Generated generated =
        generate_groups(draw_sequences(loop, one), 1, replicas, loop.concurrent);
    const double seconds = generate_seconds(loop, replicas, two);
    EXPECT_NEAR(pipeline_turn(apart({0, 30}, 1), generated).seconds(), seconds + 30, 1e-9);
    EXPECT_LE(generated.even_s, seconds + 1e-9);
    EXPECT_LE(generated.busy_s, seconds + 1e-9);
  }
}

TEST(PipelineTurn, IsAsLongAsTheStreamedTurnGroupByGroup) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random draw(seed);
    const auto group = static_cast<std::int32_t>(1 + draw.below(4));
    const auto groups = static_cast<std::int32_t>(1 + draw.below(60));
    LoopSpec loop = random_loop(
        group * groups, static_cast<std::int32_t>(1 + draw.below(10)), draw.uniform(0, 2));
    loop.stream.emplace();
    loop.stream->group = group;
    StreamedRoles roles;
    roles.actor.instances = 2;
    roles.rollout.instances = static_cast<std::int32_t>(1 + draw.below(6));
    roles.inference.instances = 1;
    roles.train_s = draw.uniform(1, 200);
    roles.inference_s = draw.uniform(1, 100);
    Random one(seed);
    Random two(seed);
    const Generated generated =
        generate_groups(draw_sequences(loop, one), group, roles.rollout.instances, loop.concurrent);
    const Pipeline pipeline = apart({0, roles.inference_s, roles.train_s}, groups);
    EXPECT_NEAR(pipeline_turn(pipeline, generated).seconds(),
                streamed_turn(loop, roles, two).seconds,
                1e-6);
  }
}

// The path is followed back correctly where its terms are the turn, and no turn is shorter than
// what any of its parts needs.
TEST(PipelineTurn, ItsPathAddsUpAndIsBoundedByItsParts) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random draw(seed);
    Pipeline pipeline;
    const std::size_t parts = 2 + draw.below(3);
    std::vector<std::uint32_t> devices;
    for (std::size_t i = 0; i < parts; ++i) {
      pipeline.parts.push_back({static_cast<std::int32_t>(i), draw.uniform(0, 20), 0});
      devices.push_back(static_cast<std::uint32_t>(1 + draw.below(15)));
    }
    for (std::size_t i = 0; i < parts; ++i)
      for (std::size_t j = 0; j < parts; ++j)
        if ((devices[i] & devices[j]) != 0) pipeline.parts[i].beside |= 1U << j;
    pipeline.micro_batches = static_cast<std::int32_t>(1 + draw.below(8));
    pipeline.switch_s = draw.uniform(0, 5);
    pipeline.handover_s = draw.uniform(0, 1);
    std::vector<double> ends;
    for (int i = 0; i < 12; ++i) ends.push_back(draw.uniform(0, 60));
    std::sort(ends.begin(), ends.end());
    const double generated = ends.back();
    const TurnPath path = pipeline_turn(pipeline, groups_at(std::move(ends)));
    double all = generated;
    for (std::size_t i = 1; i < parts; ++i) {
      const double own = pipeline.parts[i].seconds + pipeline.micro_batches * pipeline.handover_s;
      EXPECT_GE(path.seconds(), own - 1e-9);
      EXPECT_LE(path.parts[i], pipeline.parts[i].seconds + 1e-9);
      all += own;
    }
    EXPECT_GE(path.seconds(), generated - 1e-9);
    EXPECT_LE(path.seconds(), all + static_cast<double>(parts) * pipeline.switch_s + 1e-9);
    Pipeline dearer = pipeline;
    dearer.switch_s += 1;
    EXPECT_GE(pipeline_turn(dearer, groups_at({generated})).seconds(),
              pipeline_turn(pipeline, groups_at({generated})).seconds() - 1e-9);
  }
}

}  // namespace
}  // namespace orrery::sim
