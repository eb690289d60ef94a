// Rules M4 to M6: engines of several agents within the actor's devices.
#include <gtest/gtest.h>

#include "tests/core/placement/placement_builders.hpp"

namespace orrery::placement {
namespace multi_agent_tests {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ResolvedPools resolve(const std::vector<PlacementRule>& rules,
                      const ParallelSizes& sizes,
                      const Inventory& inventory = cluster_of({8})) {
  return resolve_pools(inventory, rules, sizes);
}

ExtraEngine judge(std::int32_t tensor, std::int32_t pipeline = 0, std::int32_t replicas = 0) {
  return {"rollout_judge", true, tensor, pipeline, replicas};
}

ParallelSizes sizes(std::int32_t actor, std::int32_t rollout, std::vector<ExtraEngine> engines) {
  ParallelSizes out;
  out.rules = PoolRules::MultiAgent;
  out.actor_tensor = actor;
  out.rollout_tensor = rollout;
  out.engines = std::move(engines);
  return out;
}

ParallelSizes evaluation(std::int32_t rollout, std::vector<ExtraEngine> engines) {
  ParallelSizes out = sizes(1, rollout, std::move(engines));
  out.rules = PoolRules::MultiAgentEvaluation;
  return out;
}

TEST(MultiAgent, IsCollocatedWhateverOverlaps) {
  const ResolvedPools out =
      resolve({rule("actor,reward", "0-7"), rule("rollout", "0-3")}, sizes(1, 2, {}));
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_EQ(out.plan.mode, Mode::Collocated);
  EXPECT_EQ(out.of("rollout"), "0@0:0,1 1@0:2,3");
  EXPECT_EQ(out.of("actor"), "0@0:0 1@0:1 2@0:2 3@0:3 4@0:4 5@0:5 6@0:6 7@0:7");
  EXPECT_EQ(out.of("reward"), out.of("actor"));
  // Devices that no engine has are only warned of.
  EXPECT_THAT(out.warned(), ElementsAre("parse rollout_outside_actor@5:20"));
  EXPECT_THAT(out.plan.warnings[0].found, HasSubstr("Accelerator 4-7 of node 0"));
}

TEST(MultiAgent, AnEngineBesideRolloutHasRolloutsWidthAndStride) {
  const ResolvedPools out =
      resolve({rule("actor,reward", "0-7"), rule("rollout", "0-3"), rule("rollout_judge", "4-7")},
              sizes(4, 2, {judge(2)}));
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_THAT(out.warned(), IsEmpty());
  EXPECT_EQ(out.of("rollout"), "0@0:0,2 1@0:1,3") << "the actor's 4 by 2 are 2 apart";
  EXPECT_EQ(out.of("rollout_judge"), "0@0:4,6 1@0:5,7");
}

TEST(MultiAgent, AnEnginesOwnSizesOnlyHaveToDivide) {
  const auto rules = std::vector{
      rule("actor,reward", "0-7"), rule("rollout", "0-3"), rule("rollout_judge", "4-7")};
  const ResolvedPools wider = resolve(rules, sizes(1, 1, {judge(2)}));
  EXPECT_THAT(wider.told(), IsEmpty());
  EXPECT_EQ(wider.of("rollout_judge"), "0@0:4 1@0:5 2@0:6 3@0:7") << "rollout's width of 1";
  EXPECT_THAT(wider.warned(), ElementsAre("parse not_divisible@5:20"));
  EXPECT_THAT(wider.plan.warnings[0].found, HasSubstr("engines of 2 devices"));
  EXPECT_THAT(resolve(rules, sizes(1, 1, {judge(3)})).told(),
              ElementsAre("parse not_divisible@5:20"));
  EXPECT_THAT(resolve(rules, sizes(1, 1, {judge(0, 3, 8)})).told(),
              ElementsAre("parse not_divisible@5:20", "parse not_divisible@5:20"));
}

TEST(MultiAgent, AnEngineNeedsASectionOfItsName) {
  ExtraEngine unknown = judge(0);
  unknown.is_configured = false;
  const auto rules = std::vector{rule("actor,reward,rollout", "0-7"), rule("rollout_judge", "0-1")};
  EXPECT_THAT(resolve(rules, sizes(1, 1, {unknown})).told(),
              ElementsAre("parse engine_not_configured@5:20"));
  // One that nothing starts follows its text.
  EXPECT_THAT(resolve(rules, sizes(1, 1, {})).told(), IsEmpty());
}

TEST(MultiAgent, WhatSpeaksAgainstIt) {
  const auto told = [](std::vector<PlacementRule> rules, ParallelSizes with) {
    return resolve(rules, with).told();
  };
  EXPECT_THAT(
      told({rule("actor", "0-7"), rule("reward", "0-3"), rule("rollout", "0-3")}, sizes(1, 1, {})),
      ElementsAre("parse actor_reward_differ@5:20"));
  EXPECT_THAT(told({rule("actor,reward", "0-3"), rule("rollout", "2-5")}, sizes(1, 1, {})),
              ElementsAre("parse rollout_outside_actor@5:20"));
  EXPECT_THAT(told({rule("actor,reward,rollout", "0-3"), rule("rollout_judge", "3-4")},
                   sizes(1, 1, {judge(1)})),
              ElementsAre("parse rollout_outside_actor@5:20"));
  EXPECT_THAT(
      told({rule("actor,reward,rollout", "0-3"), rule("inference", "4-7")}, sizes(1, 1, {})),
      ElementsAre("parse mode_ambiguous@5:20"));
  ParallelSizes dynamic = sizes(1, 1, {});
  dynamic.auto_scheduler = true;
  EXPECT_THAT(told({rule("actor,reward,rollout", "0-3")}, dynamic),
              ElementsAre("parse mode_ambiguous@5:20"));
}

TEST(MultiAgent, ComponentsOfNoCommonNameShareNothing) {
  const auto with = [](const char* other) {
    return resolve({rule("actor,reward,rollout", "0-7"),
                    rule("rollout_judge", "0-3"),
                    rule("rollout_planner", other)},
                   sizes(1, 1, {judge(1)}))
        .told();
  };
  EXPECT_THAT(with("4-7"), IsEmpty());
  EXPECT_THAT(with("3-7"), ElementsAre("parse exclusive_overlap@5:20"));
}

TEST(MultiAgent, GroupsAreKept) {
  Inventory inventory = cluster_of({4, 4});
  add_group(inventory, "second", {1});
  const ResolvedPools out = resolve({rule("actor,reward", "0-3", "second"),
                                     rule("rollout", "0-1", "second"),
                                     rule("rollout_judge", "2-3", "second")},
                                    sizes(1, 1, {judge(1)}),
                                    inventory);
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_EQ(out.of("rollout_judge"), "0@1:2 1@1:3");
}

TEST(MultiAgentEvaluation, NeedsNoActorAndHasItsEngines) {
  const ResolvedPools out = resolve({rule("rollout,reward", "0-3"), rule("rollout_judge", "4-7")},
                                    evaluation(2, {judge(2)}));
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_EQ(out.of("rollout"), "0@0:0,1 1@0:2,3");
  EXPECT_EQ(out.of("rollout_judge"), "0@0:4,5 1@0:6,7");
}

TEST(MultiAgentEvaluation, AFixedWorkerHasTheSecondHalf) {
  ParallelSizes two = evaluation(2, {});
  two.halves_rollout = true;
  two.fixed_worker_tensor = 2;
  const auto rules = std::vector{rule("rollout,reward", "0-7")};
  const ResolvedPools out = resolve(rules, two);
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_THAT(out.warned(), IsEmpty());
  EXPECT_EQ(out.of("rollout"), "0@0:0,1 1@0:2,3");
  EXPECT_EQ(out.of("rollout_fixed_worker"), "0@0:4,5 1@0:6,7");
  two.fixed_worker_tensor = 4;
  const ResolvedPools unlike = resolve(rules, two);
  EXPECT_EQ(unlike.of("rollout_fixed_worker"), "0@0:4,5 1@0:6,7") << "rollout's width";
  EXPECT_THAT(unlike.warned(), ElementsAre("parse not_divisible@5:20"));
  two.fixed_worker_tensor = 3;
  EXPECT_THAT(resolve(rules, two).told(), ElementsAre("parse not_divisible@5:20"));
  ParallelSizes one = evaluation(1, {});
  one.halves_rollout = true;
  EXPECT_THAT(resolve({rule("rollout,reward", "0-4")}, one).told(),
              ElementsAre("parse not_divisible@5:20"));
}

TEST(MultiAgent, LyingStrictlyInsideIsAboutDevices) {
  Inventory inventory = cluster_of({4, 4});
  add_group(inventory, "second", {1});
  const auto inside = [&](const char* inner, const char* inner_group, const char* outer) {
    return lies_strictly_inside(
        inventory, {rule("rollout", inner, inner_group), rule("actor", outer)}, "rollout", "actor");
  };
  EXPECT_TRUE(inside("0-1", "second", "4-7"));
  EXPECT_FALSE(inside("0-3", "second", "4-7")) << "the same devices";
  EXPECT_FALSE(inside("0-1", "second", "0-3"));
  EXPECT_FALSE(inside("0-9", "second", "4-7")) << "not sound";
  EXPECT_FALSE(lies_strictly_inside(inventory, {rule("actor", "0")}, "rollout", "actor"));
}

}  // namespace multi_agent_tests
}  // namespace orrery::placement
