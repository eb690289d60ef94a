// Rules M1 and M2.
#include <gtest/gtest.h>

#include "tests/core/placement/placement_builders.hpp"

namespace orrery::placement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ParallelSizes sizes(std::int32_t actor, std::int32_t rollout) {
  ParallelSizes out;
  out.actor_tensor = actor;
  out.rollout_tensor = rollout;
  return out;
}

TEST(Collocated, RolloutKeepsTheStrideOfTheActor) {
  const auto rules = std::vector{rule("actor,rollout,reward", "0-7")};
  const ResolvedPools out = resolve_pools(cluster_of({8}), rules, sizes(4, 2));
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_EQ(out.plan.mode, Mode::Collocated);
  EXPECT_EQ(out.of("rollout"), "0@0:0,2 1@0:1,3 2@0:4,6 3@0:5,7");
  EXPECT_EQ(out.of("actor"), "0@0:0 1@0:1 2@0:2 3@0:3 4@0:4 5@0:5 6@0:6 7@0:7");
  // A rollout that is split wider than the actor is dense.
  EXPECT_EQ(resolve_pools(cluster_of({8}), rules, sizes(1, 4)).of("rollout"),
            "0@0:0,1,2,3 1@0:4,5,6,7");
}

TEST(Collocated, WhatSpeaksAgainstIt) {
  const Inventory one = cluster_of({8});
  EXPECT_THAT(resolve_pools(one, {rule("actor,rollout,reward", "0-5")}, sizes(3, 2)).told(),
              ElementsAre("parse tp_not_divisible@5:20"));
  EXPECT_THAT(resolve_pools(one, {rule("actor,rollout,reward", "0-5")}, sizes(4, 2)).told(),
              ElementsAre("parse not_divisible@5:20"));
  EXPECT_THAT(resolve_pools(one, {rule("actor,rollout,reward", "0-3")}, sizes(8, 1)).told(),
              ElementsAre("parse not_divisible@5:20", "parse not_divisible@5:20"));
  EXPECT_THAT(
      resolve_pools(one, {rule("actor,rollout,reward", "0-3"), rule("inference", "4")}, sizes(1, 1))
          .told(),
      ElementsAre("parse mode_ambiguous@5:20"));
  EXPECT_THAT(
      resolve_pools(cluster_of({4, 4}), {rule("actor,rollout,reward", "2-5")}, sizes(4, 4)).told(),
      ElementsAre("resolve process_spans_nodes@5:20"));
}

TEST(Disaggregated, PoolsOfTheirOwn) {
  ParallelSizes two = sizes(2, 2);
  two.rollout_pipeline = 2;
  const ResolvedPools out = resolve_pools(cluster_of({4, 8}),
                                          {rule("actor", "0-1"),
                                           rule("rollout, reward", "4-11"),
                                           rule("inference", "2"),
                                           rule("critic", "3")},
                                          two);
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_EQ(out.plan.mode, Mode::Disaggregated);
  EXPECT_EQ(out.of("rollout"), "0@1:0,1,2,3 1@1:4,5,6,7");
  EXPECT_EQ(out.of("reward"), "0@1:0 1@1:1 2@1:2 3@1:3 4@1:4 5@1:5 6@1:6 7@1:7");
  EXPECT_EQ(out.of("inference"), "0@0:2");
  EXPECT_EQ(out.of("critic"), "0@0:3");
}

TEST(Disaggregated, GroupsAndOtherComponentsAreKept) {
  Inventory inventory = cluster_of({4, 4});
  add_group(inventory, "a", {0});
  add_group(inventory, "b", {1});
  const ResolvedPools out = resolve_pools(inventory,
                                          {rule("actor", "0-1", "b"),
                                           rule("rollout", "0-1", "a"),
                                           rule("reward", "0,3", "a"),
                                           rule("env", "0-1:0-3", "node")},
                                          sizes(1, 2));
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_EQ(out.plan.mode, Mode::Disaggregated);
  EXPECT_EQ(out.of("actor"), "0@1:0 1@1:1");
  EXPECT_EQ(out.of("rollout"), "0@0:0,1");
  EXPECT_EQ(out.of("reward"), "0@0:0 1@0:3") << "as written, holes and all";
  EXPECT_EQ(out.of("env"), "0@0 1@0 2@1 3@1");
}

TEST(Disaggregated, WhatSpeaksAgainstIt) {
  const Inventory one = cluster_of({8});
  const auto told = [&](const char* actor, const char* rollout, const char* inference) {
    return resolve_pools(one,
                         {rule("actor", actor),
                          rule("rollout,reward", rollout),
                          rule("inference", inference)},
                         sizes(1, 2))
        .told();
  };
  EXPECT_THAT(told("0-3", "3-6", "7"), ElementsAre("parse mode_ambiguous@5:20"));
  EXPECT_THAT(told("0-3", "4-5", "5-6"), ElementsAre("parse mode_ambiguous@5:20"));
  EXPECT_THAT(told("0-1,3", "4-5", "7"), ElementsAre("parse component_gpus_not_contiguous@5:24"));
  EXPECT_THAT(told("0-1", "2-4", "7"), ElementsAre("parse not_divisible@5:20"));
  EXPECT_THAT(told("0-1", "2-3:0", "7"), ElementsAre("parse process_ranks_unsupported@5:24"));
  ParallelSizes wide = sizes(1, 2);
  wide.inference_tensor = 2;
  wide.recompute_logprobs = false;
  EXPECT_THAT(
      resolve_pools(
          one, {rule("actor", "0"), rule("rollout,reward", "2-3"), rule("inference", "7")}, wide)
          .told(),
      ElementsAre("parse inference_tp_too_large@5:20", "parse inference_without_recompute@5:20"));
}

TEST(Modes, SharedDevicesAreSeenAcrossGroups) {
  Inventory inventory = cluster_of({4, 4});
  add_group(inventory, "a", {0, 1});
  add_group(inventory, "b", {1});
  // Ranks 4-5 of a are ranks 0-1 of b.
  const auto rules =
      std::vector{rule("actor", "4-5", "a"), rule("rollout", "0-1", "b"), rule("reward", "0")};
  EXPECT_EQ(resolve_pools(inventory, rules, sizes(1, 1)).plan.mode, Mode::Collocated);
  const ResolvedPools overlap =
      resolve_pools(inventory,
                    {rule("actor", "3-5", "a"), rule("rollout", "0-1", "b"), rule("reward", "0")},
                    sizes(1, 1));
  EXPECT_THAT(overlap.told(), ElementsAre("parse mode_ambiguous@5:20"));
  EXPECT_THAT(overlap.errors[0].found, HasSubstr("Accelerator 0 of node 1"));
}

TEST(Modes, ComponentsThatMustBeThere) {
  const Inventory one = cluster_of({8});
  EXPECT_THAT(resolve_pools(one, {rule("rollout,reward", "0-3")}, sizes(1, 1)).told(),
              ElementsAre("parse actor_missing@3:5"));
  EXPECT_THAT(resolve_pools(one, {rule("actor,rollout", "0-3")}, sizes(1, 1)).told(),
              ElementsAre("parse reward_missing@3:5"));
  EXPECT_THAT(resolve_pools(one, {rule("actor,reward", "0-3")}, sizes(1, 1)).told(),
              ElementsAre("parse mode_ambiguous@3:5"));
  EXPECT_THAT(
      resolve_pools(one, {}, sizes(1, 1)).told(),
      ElementsAre(
          "parse actor_missing@0:0", "parse reward_missing@0:0", "parse mode_ambiguous@0:0"));
  // A text that cannot be read hides no component.
  EXPECT_THAT(
      resolve_pools(one, {rule("actor", "x"), rule("rollout,reward", "0-3")}, sizes(1, 1)).told(),
      ElementsAre("parse rank_format@5:20"));
  EXPECT_THAT(resolve_pools(one, {rule("actor,rollout,reward", "0-3")}, sizes(0, 1)).told(),
              ElementsAre("parse not_divisible@3:5"));
}

TEST(Modes, ProcessRanksAreRefusedWhereTheModeDecides) {
  const Inventory one = cluster_of({8});
  EXPECT_THAT(
      resolve_pools(
          one,
          {rule("actor,rollout", "0-3"), rule("reward", "4:0-1,5:2"), rule("env", "6-7:0-3")},
          sizes(1, 1))
          .told(),
      ElementsAre("parse process_ranks_unsupported@5:22"));
  // Told once for a rule, after what speaks against the mode.
  EXPECT_THAT(
      resolve_pools(one, {rule("actor,rollout,reward,env", "0-5:0-11")}, sizes(4, 2)).told(),
      ElementsAre("parse not_divisible@5:20", "parse process_ranks_unsupported@5:24"));
}

TEST(Modes, NodesAreNoDevices) {
  EXPECT_THAT(
      resolve_pools(cluster_of({0, 0}), {rule("actor,rollout,reward", "0-1")}, sizes(1, 1)).told(),
      ElementsAre("resolve no_hardware@5:20"));
}

ParallelSizes dynamic(std::int32_t rollout, bool pre_process) {
  ParallelSizes out = sizes(1, rollout);
  out.auto_scheduler = true;
  out.use_pre_process_policy = pre_process;
  return out;
}

ParallelSizes evaluation(std::int32_t rollout) {
  ParallelSizes out = sizes(1, rollout);
  out.rules = PoolRules::Evaluation;
  return out;
}

TEST(Evaluation, NeedsNoActorAndPacksRolloutFromItsFirstDeviceOn) {
  const auto rules = std::vector{rule("rollout,reward", "2-5")};
  const ResolvedPools out = resolve_pools(cluster_of({8}), rules, evaluation(2));
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_EQ(out.plan.mode, Mode::Collocated);
  EXPECT_EQ(out.of("rollout"), "0@0:2,3 1@0:4,5");
  EXPECT_EQ(out.of("reward"), "0@0:2 1@0:3 2@0:4 3@0:5");
}

TEST(Evaluation, LooksAtNoOtherPool) {
  const auto rules = std::vector{
      rule("rollout,reward", "0-3"), rule("actor", "2-5"), rule("rollout_judge", "4-7")};
  const ResolvedPools out = resolve_pools(cluster_of({8}), rules, evaluation(4));
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_EQ(out.of("rollout"), "0@0:0,1,2,3");
  EXPECT_EQ(out.of("actor"), "0@0:2 1@0:3 2@0:4 3@0:5");
}

TEST(Evaluation, WhatSpeaksAgainstIt) {
  const Inventory one = cluster_of({8});
  EXPECT_THAT(resolve_pools(one, {rule("rollout", "0-3")}, evaluation(1)).told(),
              ElementsAre("parse reward_missing@3:5"));
  EXPECT_THAT(resolve_pools(one, {rule("rollout,reward", "0-4")}, evaluation(2)).told(),
              ElementsAre("parse not_divisible@5:20"));
}

TEST(Disaggregated, ACriticHasDevicesOfItsOwn) {
  const auto rules = std::vector{rule("actor", "0-1"),
                                 rule("rollout,reward", "2-3"),
                                 rule("inference", "4-5"),
                                 rule("critic", "5-6")};
  EXPECT_THAT(resolve_pools(cluster_of({8}), rules, sizes(1, 1)).told(),
              ElementsAre("parse mode_ambiguous@5:20"));
}

TEST(Auto, AnInferencePoolIsJudgedAsInOtherModes) {
  ParallelSizes wide = sizes(1, 1);
  wide.auto_scheduler = true;
  wide.recompute_logprobs = false;
  const auto rules =
      std::vector{rule("actor", "0-3"), rule("rollout,reward", "4-6"), rule("inference", "7")};
  EXPECT_THAT(resolve_pools(cluster_of({8}), rules, wide).told(),
              ElementsAre("parse inference_without_recompute@5:20"));
}

TEST(Auto, ActorRunsEverywhere) {
  const auto rules = std::vector{rule("actor", "0-3"),
                                 rule("rollout", "4-9"),
                                 rule("inference", "10-11"),
                                 rule("reward", "4")};
  const ResolvedPools out = resolve_pools(cluster_of({8, 4}), rules, dynamic(2, false));
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_EQ(out.plan.mode, Mode::Auto);
  EXPECT_EQ(out.of("actor"),
            "0@0:0 1@0:1 2@0:2 3@0:3 4@0:4 5@0:5 6@0:6 7@0:7 8@1:0 9@1:1 10@1:2 11@1:3");
  EXPECT_EQ(out.of("rollout"), "0@0:4,5 1@0:6,7 2@1:0,1");
  EXPECT_EQ(out.of("inference"), "0@1:2 1@1:3");
  // At first rollout has the actor's devices too.
  EXPECT_EQ(resolve_pools(cluster_of({8, 4}), rules, dynamic(2, true)).of("rollout"),
            "0@0:0,1 1@0:2,3 2@0:4,5 3@0:6,7 4@1:0,1");
}

TEST(Auto, GroupsThatHoldTheCluster) {
  Inventory inventory = cluster_of({2, 0, 2});
  add_group(inventory, "all", {0, 1, 2});
  add_group(inventory, "first", {0});
  add_group(inventory, "last", {2});
  const ResolvedPools kept = resolve_pools(
      inventory,
      {rule("actor", "0-1", "all"), rule("rollout", "2-3", "all"), rule("reward", "0")},
      dynamic(2, false));
  EXPECT_THAT(kept.told(), IsEmpty());
  EXPECT_THAT(kept.plan.components.at(0).groups, ElementsAre("all"));
  EXPECT_EQ(kept.of("actor"), "0@0:0 1@0:1 2@2:0 3@2:1");
  const ResolvedPools joined = resolve_pools(
      inventory,
      {rule("actor", "0-1", "first"), rule("rollout", "0-1", "last"), rule("reward", "0")},
      dynamic(2, false));
  EXPECT_THAT(joined.told(), IsEmpty());
  EXPECT_EQ(joined.of("rollout"), "0@2:0,1");
  EXPECT_THAT(joined.plan.components.at(0).groups, ElementsAre("cluster"));
}

TEST(Auto, WhatSpeaksAgainstIt) {
  const Inventory one = cluster_of({8});
  const auto told = [&](const char* actor, const char* rollout, bool pre) {
    return resolve_pools(
               one, {rule("actor", actor), rule("rollout,reward", rollout)}, dynamic(2, pre))
        .told();
  };
  EXPECT_THAT(told("0-3", "4-7", true), IsEmpty());
  EXPECT_THAT(told("4-7", "0-3", false), ElementsAre("parse auto_order@5:20"));
  EXPECT_THAT(told("0-3", "4-5", false), ElementsAre("parse auto_order@5:20"));
  EXPECT_THAT(told("0-3", "5-7", false), ElementsAre("parse auto_order@5:20"));
  EXPECT_THAT(told("0-7", "0-7", false), ElementsAre("parse auto_order@5:20"));
  EXPECT_THAT(told("0-4", "4-7", false), ElementsAre("parse mode_ambiguous@5:20"));
  EXPECT_THAT(told("0-2", "3-7", false), ElementsAre("parse not_divisible@5:20"));
  EXPECT_THAT(told("0-2", "3-7", true),
              ElementsAre("parse not_divisible@5:20", "parse not_divisible@5:20"));
}

TEST(Auto, RobotsAreNoClusterToCover) {
  Inventory inventory = cluster_of({0, 0});
  add_robots(inventory, "robots", {0, 1}, {0, 1});
  const auto told = [&](const char* rollout_group) {
    return resolve_pools(inventory,
                         {rule("actor", "0", "robots"), rule("rollout,reward", "1", rollout_group)},
                         dynamic(1, false))
        .told();
  };
  EXPECT_THAT(told("robots"), ElementsAre("parse auto_order@5:20"));
  EXPECT_THAT(told(""), testing::Not(IsEmpty()));
}

TEST(Auto, ACriticKeepsItOff) {
  const ResolvedPools out =
      resolve_pools(cluster_of({8}),
                    {rule("actor", "0-3"), rule("rollout,reward", "4-6"), rule("critic", "7")},
                    dynamic(1, false));
  EXPECT_THAT(out.told(), IsEmpty());
  EXPECT_EQ(out.plan.mode, Mode::Disaggregated);
}

}  // namespace
}  // namespace orrery::placement
