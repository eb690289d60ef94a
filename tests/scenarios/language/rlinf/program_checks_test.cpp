// Sizes that an entry program asks to fit, each told at the key that is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/language/rlinf/memory_documents.hpp"

namespace orrery::scenarios {
namespace program_checks_tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const MemoryFiles kWorlds{
    {"run/d.yaml", R"(
defaults:
  - worlds/small@env.train
  - worlds/small@env.eval
  - model/policy@actor
runner: {task_type: embodied, val_check_interval: 5}
cluster: {component_placement: {"actor,rollout": 0-7, env: 0-3}}
rollout: {pipeline_stage_num: 2}
env: {eval: {total_num_envs: 8, group_size: 1}}
)"},
    {"run/worlds/small.yaml", "max_steps: 10\ntotal_num_envs: 64\ngroup_size: 8\n"},
    {"run/model/policy.yaml",
     "training_backend: fsdp\nmicro_batch_size: 2\nglobal_batch_size: 32\n"},
};

PlacedInMemory with(std::vector<std::string> overrides) {
  return placed_in_memory(kWorlds, "run/d.yaml", {.overrides = std::move(overrides)});
}

TEST(ProgramChecks, WorldsAreDividedByProcessesAndStagesIntoWholeGroups) {
  // 64 worlds on 4 processes of 2 stages: 8 each, one group of 8.
  const PlacedInMemory found = with({});
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.warnings, IsEmpty());
  EXPECT_THAT(with({"env.train.total_num_envs=66"}).findings,
              ElementsAre("env.train.total_num_envs=66:0 not_divisible"));
  EXPECT_THAT(with({"env.train.total_num_envs=32"}).findings,
              ElementsAre("env.train.total_num_envs=32:0 not_divisible"))
      << "4 each are no group of 8";
  EXPECT_THAT(with({"env.eval.total_num_envs=4"}).findings,
              ElementsAre("env.eval.total_num_envs=4:0 size_out_of_range"))
      << "none for a stage";
  EXPECT_THAT(with({"env.train.total_num_envs=0"}).findings,
              ElementsAre("env.train.total_num_envs=0:0 size_out_of_range"));
  // Evaluations that never happen have no worlds.
  EXPECT_THAT(with({"env.eval.total_num_envs=3", "runner.val_check_interval=-1"}).findings,
              IsEmpty());
}

TEST(ProgramChecks, AnErrorNamesTheFileOfItsKey) {
  MemoryFiles files = kWorlds;
  files["run/worlds/small.yaml"] = "max_steps: 10\ntotal_num_envs: 66\ngroup_size: 8\n";
  const PlacedInMemory found = placed_in_memory(files, "run/d.yaml");
  EXPECT_THAT(found.findings, ElementsAre("run/worlds/small.yaml:2 not_divisible"));
  EXPECT_THAT(found.messages.front(), HasSubstr("write 128"));
  files = kWorlds;
  files["run/model/policy.yaml"] =
      "training_backend: fsdp\nmicro_batch_size: 2\nglobal_batch_size: 40\n";
  EXPECT_THAT(placed_in_memory(files, "run/d.yaml").findings,
              ElementsAre("run/model/policy.yaml:3 not_divisible"));
}

TEST(ProgramChecks, StagesThatLeaveWorldsOverAreWarnedOf) {
  // RLinf takes the remainder of a remainder, which is 0: 5 worlds of a process, 2 in each stage.
  const PlacedInMemory found = with({"env.eval.total_num_envs=20"});
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.warnings, ElementsAre("env.eval.total_num_envs=20:0 not_divisible"));
}

TEST(ProgramChecks, ABatchIsSharedByTheProcessesOfTheActor) {
  // 8 processes of micro batches of 2: multiples of 16.
  EXPECT_THAT(with({"actor.global_batch_size=24"}).findings,
              ElementsAre("actor.global_batch_size=24:0 not_divisible"));
  EXPECT_THAT(with({"actor.global_batch_size=24", "actor.training_backend=megatron"}).findings,
              IsEmpty());
  EXPECT_THAT(with({"actor.micro_batch_size=0"}).findings,
              ElementsAre("actor.micro_batch_size=0:0 size_out_of_range"));
  EXPECT_THAT(with({"actor.global_batch_size=many"}).findings,
              ElementsAre("actor.global_batch_size=many:0 document"));
}

TEST(ProgramChecks, ABatchOfAReasoningTaskIsMadeOfWhatIsGenerated) {
  constexpr std::string_view kReasoning = R"(
runner: {task_type: reasoning}
cluster: {component_placement: {"actor,rollout,reward": 0-7}}
actor: {training_backend: fsdp}
data: {rollout_batch_size: 16}
algorithm: {group_size: 4, n_minibatches: 2, training_batch_size_per_gpu: 4}
)";
  // 16 x 4 / 2 sequences in a minibatch, 8 x 4 at a time.
  EXPECT_THAT(placed_in_memory(kReasoning).findings, IsEmpty());
  EXPECT_THAT(placed_in_memory(kReasoning, {.overrides = {"algorithm.n_minibatches=4"}}).findings,
              ElementsAre("d.yaml:5 not_divisible"));
  EXPECT_THAT(placed_in_memory(kReasoning, {.overrides = {"algorithm.n_minibatches=0"}}).findings,
              ElementsAre("algorithm.n_minibatches=0:0 size_out_of_range"));
}

TEST(ProgramChecks, AnActorThatItsSizesLeaveOverIsWarnedOf) {
  constexpr std::string_view kReasoning = R"(
runner: {task_type: reasoning}
cluster: {component_placement: {"actor,rollout,reward": 0-5}}
actor: {model: {tensor_model_parallel_size: 2, pipeline_model_parallel_size: 2}}
)";
  const PlacedInMemory found = placed_in_memory(kReasoning);
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.warnings, ElementsAre("d.yaml:3 not_divisible"));
}

TEST(ProgramChecks, DecoupledWorldsAreAsManyAsRolloutsAndHaveNoStages) {
  constexpr std::string_view kDecoupled = R"(
runner: {task_type: embodied_eval, enable_decoupled_mode: true}
cluster: {component_placement: {env: 0-3, rollout: 4-5}}
rollout: {pipeline_stage_num: 1}
env: {eval: {total_num_envs: 4}}
)";
  EXPECT_THAT(placed_in_memory(kDecoupled).findings, IsEmpty());
  EXPECT_THAT(placed_in_memory(kDecoupled,
                               {.overrides = {"cluster.component_placement.env=0-1",
                                              "cluster.component_placement.rollout=2-5",
                                              "rollout.pipeline_stage_num=2"}})
                  .findings,
              ElementsAre("d.yaml:2 size_out_of_range",
                          "rollout.pipeline_stage_num=2:0 size_out_of_range"));
}

TEST(ProgramChecks, EvaluationsHaveNoBatchesOfAnActor) {
  EXPECT_THAT(placed_in_memory("runner: {task_type: embodied_eval}\n"
                               "cluster: {component_placement: {\"env,rollout\": 0-3}}\n"
                               "env: {eval: {total_num_envs: 6}}\n"
                               "actor: {training_backend: fsdp, micro_batch_size: 3, "
                               "global_batch_size: 7}\n")
                  .findings,
              ElementsAre("d.yaml:3 not_divisible"));
}

TEST(ProgramChecks, WhatCannotBeToldStopsOnlyWhatNeedsIt) {
  constexpr std::string_view kUnset = R"(
runner: {task_type: embodied}
cluster: {component_placement: {"actor,rollout,env": 0-3}}
actor: {model: {model_path: "${oc.env:NOWHERE}/policy"}, group_name: "${oc.env:NAMED}"}
env: {train: {total_num_envs: "${multiply:${env.each},4}"}, each: 2}
)";
  const PlacedInMemory found = placed_in_memory(kUnset, {.variables = {{"NAMED", "Trainers"}}});
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.group_name_of("actor"), "Trainers");
  EXPECT_THAT(
      placed_in_memory(
          kUnset, {.overrides = {"env.each=${oc.env:COUNT}"}, .variables = {{"NAMED", "Trainers"}}})
          .messages,
      ElementsAre(HasSubstr("COUNT is not set")));
}

}  // namespace program_checks_tests
}  // namespace orrery::scenarios
