// Which entry program a document is for, by which class its components are placed, and which groups
// are started. Expected places are worked out by hand from the rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/language/rlinf/memory_documents.hpp"

namespace orrery::scenarios {
namespace programs_tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- hybrid ----

constexpr std::string_view kEmbodied = R"(
runner: {task_type: embodied}
cluster:
  num_nodes: 1
  component_placement: {actor: 0-7, rollout: 4-7, "env,reward": 0-3}
actor: {group_name: ActorGroup}
env: {group_name: EnvGroup}
)";

TEST(Programs, AnEmbodiedTrainingStartsItsRewardModelWhereItHasOne) {
  const PlacedInMemory plain = placed_in_memory(kEmbodied);
  EXPECT_THAT(plain.findings, IsEmpty());
  EXPECT_EQ(plain.program, "embodied, for runner.task_type is embodied");
  EXPECT_EQ(plain.mode, "hybrid");
  EXPECT_THAT(plain.components(), ElementsAre("actor", "rollout", "env"));
  EXPECT_THAT(plain.not_started, ElementsAre("reward"));
  EXPECT_EQ(plain.group_name_of("env"), "EnvGroup");
  const std::string used = std::string(kEmbodied) + "reward: {use_reward_model: true}\n";
  EXPECT_EQ(placed_in_memory(used).of("reward"), "0@0:0 1@0:1 2@0:2 3@0:3");
  // One that robots ask by themselves has no processes here.
  EXPECT_THAT(
      placed_in_memory(used, {.overrides = {"+reward.standalone_realworld=true"}}).not_started,
      ElementsAre("reward"));
}

TEST(Programs, ARewardModelThatIsAskedByHttpBringsItsServers) {
  constexpr std::string_view kServed = R"(
runner: {task_type: embodied}
cluster:
  num_nodes: 1
  component_placement: {"actor,rollout,env": 0-3, reward: 0, reward_server: "4-7:0-1"}
reward: {use_reward_model: true, worker_type: api, api: {api_base: null}}
router_server_args: {group_name: Servers, router_group_name: Router, tensor_parallel_size: 2}
)";
  const PlacedInMemory found = placed_in_memory(kServed);
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.components(),
              ElementsAre("actor", "rollout", "env", "reward", "reward_server", "reward_router"));
  EXPECT_EQ(found.of("reward_server"), "0@0:4,5 1@0:6,7") << "as its text says";
  EXPECT_EQ(found.group_name_of("reward_server"), "Servers");
  EXPECT_EQ(found.of("reward_router"), "0@0");
  EXPECT_EQ(found.group_name_of("reward_router"), "Router");
  // With an address, somebody else serves it.
  EXPECT_THAT(
      placed_in_memory(kServed, {.overrides = {"reward.api.api_base=http://judge:80"}}).not_started,
      ElementsAre("reward_server"));
}

TEST(Programs, AnEmbodiedEvaluationStartsServersOnRolloutsDevices) {
  constexpr std::string_view kServed = R"(
runner: {task_type: embodied_eval}
cluster:
  num_nodes: 2
  node_groups: [{label: second, node_ranks: 1}]
  component_placement:
    "env,rollout": {node_group: second, placement: 0-3}
    actor: 0
rollout:
  rollout_backend: sglang
  sglang: {tensor_parallel_size: 2, group_name: Servers, launch_router: false}
)";
  const PlacedInMemory found = placed_in_memory(kServed, {.nodes = "4xH100:2"});
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.mode, "hybrid");
  EXPECT_THAT(found.components(), ElementsAre("env", "rollout", "sglang_server"));
  EXPECT_THAT(found.not_started, ElementsAre("actor"));
  EXPECT_EQ(found.of("rollout"), "0@1:0 1@1:1 2@1:2 3@1:3");
  EXPECT_EQ(found.of("sglang_server"), "0@1:0,1 1@1:2,3") << "in rollout's node group";
  EXPECT_THAT(
      placed_in_memory(kServed,
                       {.nodes = "4xH100:2", .overrides = {"rollout.sglang.launch_router=true"}})
          .components(),
      ElementsAre("env", "rollout", "sglang_server", "sglang_router"));
  EXPECT_THAT(
      placed_in_memory(kServed,
                       {.nodes = "4xH100:2", .overrides = {"rollout.rollout_backend=huggingface"}})
          .components(),
      ElementsAre("env", "rollout"));
  EXPECT_THAT(placed_in_memory(kServed,
                               {.nodes = "4xH100:2", .overrides = {"rollout.rollout_backend=vllm"}})
                  .findings,
              ElementsAre("rollout.rollout_backend=vllm:0 program_refuses"));
  EXPECT_THAT(
      placed_in_memory(
          kServed, {.nodes = "4xH100:2", .overrides = {"rollout.sglang.tensor_parallel_size=3"}})
          .findings,
      ElementsAre("d.yaml:7 not_divisible"));
}

TEST(Programs, WorldsAloneCollectData) {
  const PlacedInMemory found = placed_in_memory(R"(
runner: {task_type: embodied}
cluster:
  num_nodes: 2
  component_placement:
    env: {node_group: arm, placement: 0}
    reward: {node_group: "4090", placement: 0}
  node_groups:
    - {label: "4090", node_ranks: 0}
    - label: arm
      node_ranks: 1
      hardware: {type: Franka, configs: [{robot_ip: 10.0.0.2, node_rank: 1}]}
reward: {use_reward_model: true, standalone_realworld: true}
)",
                                                {.nodes = "1xRTX4090,0"});
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.program,
            "collect, for runner.task_type is embodied and neither actor nor rollout is placed");
  EXPECT_EQ(found.of("env"), "0@1:0") << "the arm of node 1";
  EXPECT_THAT(found.not_started, ElementsAre("reward"));
}

TEST(Programs, FineTuningStartsTheActorAlone) {
  const PlacedInMemory found = placed_in_memory(
      "runner: {task_type: sft}\ncluster: {component_placement: {\"actor,env,rollout\": all}}\n");
  EXPECT_EQ(found.program, "sft, for runner.task_type is sft");
  EXPECT_THAT(found.components(), ElementsAre("actor"));
  EXPECT_THAT(found.not_started, ElementsAre("env", "rollout"));
}

TEST(Programs, AnOfflineTrainingStartsWorldsWhereItEvaluates) {
  const auto components = [](const std::string& runner) {
    return placed_in_memory("runner: {task_type: offline" + runner +
                            "}\ncluster: {component_placement: {\"actor,env,rollout\": 0}}\n")
        .components();
  };
  EXPECT_THAT(components(""), ElementsAre("actor"));
  EXPECT_THAT(components(", val_check_interval: -1"), ElementsAre("actor"));
  EXPECT_THAT(components(", val_check_interval: 5"), ElementsAre("actor", "env", "rollout"));
  EXPECT_THAT(components(", val_check_interval: 0, only_eval: true"),
              ElementsAre("actor", "env", "rollout"));
}

// ---- pools of one training ----

constexpr std::string_view kReasoning = R"(
runner: {task_type: reasoning}
cluster:
  num_nodes: 1
  component_placement: {actor: 0-1, rollout: 2-5, inference: 6-7, reward: 2-5}
rollout: {tensor_parallel_size: 2}
algorithm: {recompute_logprobs: true}
inference: {group_name: InferenceGroup}
)";

TEST(Programs, AReasoningTrainingStartsItsPools) {
  const PlacedInMemory found = placed_in_memory(kReasoning);
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.program, "reasoning, for runner.task_type is reasoning");
  EXPECT_EQ(found.mode, "disaggregated");
  EXPECT_THAT(found.components(), ElementsAre("actor", "rollout", "inference", "reward"));
  EXPECT_EQ(found.of("rollout"), "0@0:2,3 1@0:4,5");
  EXPECT_EQ(found.group_name_of("inference"), "InferenceGroup");
}

TEST(Programs, ACriticIsStartedWhereItIsUsed) {
  constexpr std::string_view kCritic = R"(
runner: {task_type: reasoning}
cluster:
  component_placement:
    {actor: 0-1, "rollout,reward": 2-3, actor_inference: 4, critic_inference: 5, critic: 6-7}
critic: {use_critic_model: true}
)";
  EXPECT_THAT(
      placed_in_memory(kCritic).components(),
      ElementsAre("actor", "rollout", "reward", "actor_inference", "critic_inference", "critic"));
  EXPECT_THAT(
      placed_in_memory(kCritic, {.overrides = {"critic.use_critic_model=false"}}).not_started,
      ElementsAre("critic_inference", "critic"));
}

TEST(Programs, TheDynamicModeHasASchedulerOnTheFirstNode) {
  const PlacedInMemory found =
      placed_in_memory(kReasoning, {.overrides = {"+cluster.auto_scheduler=true"}});
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.mode, "auto");
  EXPECT_EQ(found.of("dynamic_scheduler"), "0@0");
  EXPECT_EQ(found.group_name_of("dynamic_scheduler"), "DynamicScheduler");
  EXPECT_EQ(found.of("actor"), "0@0:0 1@0:1 2@0:2 3@0:3 4@0:4 5@0:5 6@0:6 7@0:7");
}

TEST(Programs, OnlineCodingHasAServerAndARouterOnTheFirstDevice) {
  const PlacedInMemory found =
      placed_in_memory(kReasoning, {.overrides = {"runner.task_type=coding_online_rl"}});
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.components(),
              ElementsAre("actor", "rollout", "inference", "online_router", "server_rollout"));
  EXPECT_EQ(found.of("online_router"), "0@0:0");
  EXPECT_THAT(found.not_started, ElementsAre("reward"));
  EXPECT_THAT(placed_in_memory(kReasoning,
                               {.overrides = {"runner.task_type=coding_online_rl",
                                              "+actor.training_backend=fsdp",
                                              "~cluster.component_placement.inference",
                                              "algorithm.recompute_logprobs=false"}})
                  .findings,
              ElementsAre("+actor.training_backend=fsdp:0 program_refuses",
                          "algorithm.recompute_logprobs=false:0 program_refuses"));
  EXPECT_THAT(placed_in_memory("runner: {task_type: coding_online_rl}\n"
                               "cluster: {component_placement: {\"actor,rollout,reward\": 0-3}}\n")
                  .findings,
              ElementsAre("d.yaml:2 program_refuses"));
}

TEST(Programs, AgentLightningHasAHelperOnTheFirstDeviceAndNeedsItsActor) {
  constexpr std::string_view kLightning = R"(
runner: {task_type: reasoning}
agentlightning: {n_runners: 4}
cluster: {component_placement: {"actor,rollout,reward": 0-3}}
)";
  const PlacedInMemory found = placed_in_memory(kLightning);
  EXPECT_THAT(found.program, HasSubstr("agentlightning, for"));
  EXPECT_THAT(found.components(), ElementsAre("actor", "rollout", "agentlightning_rollout"));
  EXPECT_EQ(found.of("agentlightning_rollout"), "0@0:0");
  EXPECT_EQ(found.group_name_of("agentlightning_rollout"), "AgentLightningRolloutWorker");
  EXPECT_THAT(
      placed_in_memory("runner: {task_type: reasoning_eval}\nagentlightning: {n_runners: 4}\n"
                       "cluster: {component_placement: {\"rollout,reward\": 0-3}}\n")
          .findings,
      ElementsAre("d.yaml:3 actor_missing"));
}

// ---- agents ----

TEST(Programs, AnAgentHasALoopForEachEngineOnItsNodeAndATool) {
  constexpr std::string_view kAgent = R"(
runner: {task_type: reasoning}
agentloop: {group_name: Loops}
cluster: {component_placement: {"actor,rollout,reward": 0-7}}
rollout: {tensor_parallel_size: 2}
)";
  const PlacedInMemory found = placed_in_memory(kAgent, {.nodes = "4xH100:2"});
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.program, "agent, for runner.task_type is reasoning and agentloop is there");
  EXPECT_THAT(found.components(), ElementsAre("actor", "rollout", "agentloop", "search"));
  EXPECT_EQ(found.of("rollout"), "0@0:0,1 1@0:2,3 2@1:0,1 3@1:2,3");
  EXPECT_EQ(found.of("agentloop"), "0@0 1@0 2@1 3@1");
  EXPECT_EQ(found.group_name_of("agentloop"), "Loops");
  EXPECT_EQ(found.of("search"), "0@0");
  // Engines are counted by all sizes, and started by one where they share the actor's devices.
  EXPECT_THAT(placed_in_memory(
                  kAgent, {.nodes = "4xH100:2", .overrides = {"+rollout.pipeline_parallel_size=2"}})
                  .findings,
              ElementsAre("d.yaml:4 not_divisible"));
}

TEST(Programs, Rstar2IsAnAgentWithARewardGroupAndItsOwnTools) {
  constexpr std::string_view kDocument = R"(
runner: {task_type: reasoning}
agentloop: {group_name: Loops}
cluster: {component_placement: {"actor,rollout,reward": 0-7}}
rollout: {tensor_parallel_size: 2}
reward: {group_name: Rewards, use_reward_model: false, reward_type: rstar2}
)";
  const PlacedInMemory found = placed_in_memory(kDocument, {.nodes = "4xH100:2"});
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.program,
            "rstar2, for runner.task_type is reasoning and agentloop is there and "
            "reward.reward_type is rstar2");
  EXPECT_THAT(found.components(),
              ElementsAre("actor", "rollout", "reward", "agentloop", "http_tools"));
  EXPECT_THAT(found.not_started, IsEmpty());
  EXPECT_EQ(found.of("reward"), "0@0:0 1@0:1 2@0:2 3@0:3 4@1:0 5@1:1 6@1:2 7@1:3");
  EXPECT_EQ(found.group_name_of("reward"), "Rewards");
  EXPECT_EQ(found.of("agentloop"), "0@0 1@0 2@1 3@1");
  EXPECT_EQ(found.of("http_tools"), "0@0");
  EXPECT_EQ(found.group_name_of("http_tools"), "HttpToolWorker");
  // Its data say it as well; without either it is another agent, and without a loop none.
  const std::vector<std::string> by_data{"reward.reward_type=math", "+data.type=rstar2"};
  EXPECT_THAT(placed_in_memory(kDocument, {.nodes = "4xH100:2", .overrides = by_data}).program,
              HasSubstr("rstar2, for"));
  EXPECT_THAT(
      placed_in_memory(kDocument, {.nodes = "4xH100:2", .overrides = {"reward.reward_type=math"}})
          .program,
      HasSubstr("agent, for"));
  EXPECT_THAT(
      placed_in_memory(kDocument, {.nodes = "4xH100:2", .overrides = {"~agentloop"}}).program,
      HasSubstr("reasoning, for"));
  EXPECT_THAT(
      placed_in_memory(kDocument,
                       {.nodes = "4xH100:2", .overrides = {"+rollout.pipeline_parallel_size=2"}})
          .findings,
      ElementsAre("d.yaml:4 not_divisible"));
}

TEST(Programs, Rstar2StartsItsInferenceApartFromTheActor) {
  constexpr std::string_view kDocument = R"(
runner: {task_type: reasoning}
agentloop: {group_name: Loops}
cluster: {component_placement: {rollout: 0-3, inference: 4-5, actor: 6-7, reward: 0-3}}
algorithm: {recompute_logprobs: true}
data: {type: rstar2}
)";
  const PlacedInMemory found = placed_in_memory(kDocument);
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.mode, "disaggregated");
  EXPECT_THAT(found.components(),
              ElementsAre("rollout", "inference", "actor", "reward", "agentloop", "http_tools"));
}

TEST(Programs, AnEvaluationOfAnAgentStartsNoReward) {
  const PlacedInMemory found = placed_in_memory(
      "runner: {task_type: reasoning_eval}\nagentloop: {group_name: Loops}\n"
      "cluster: {component_placement: {\"rollout,reward\": 4-7}}\n"
      "rollout: {tensor_parallel_size: 4}\n");
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.program, "agent-eval, for runner.task_type is reasoning_eval");
  EXPECT_THAT(found.components(), ElementsAre("rollout", "agentloop", "search"));
  EXPECT_EQ(found.of("rollout"), "0@0:4,5,6,7");
  EXPECT_THAT(found.not_started, ElementsAre("reward"));
}

const MemoryFiles kAgents{
    {"base.yaml", R"(
defaults: [override hydra/job_logging: stdout]
runner: {task_type: reasoning}
cluster: {num_nodes: 1, component_placement: {"actor,reward": all, rollout: all}}
agentloop: {group_name: Loops, workflow: mas}
rollout: {group_name: Engines, tensor_parallel_size: 1}
)"},
    {"judged.yaml", R"(
defaults: [base]
cluster:
  component_placement: {rollout: 0-3, rollout_judge: 4-7}
agentloop: {use_local_judge: true}
rollout: {tensor_parallel_size: 2}
actor: {model: {tensor_model_parallel_size: 4}}
rollout_judge: {group_name: Judges, tensor_parallel_size: 2}
)"},
    {"twice.yaml", "defaults: [judged]\nrunner: {val_check_interval: 3}\n"},
    {"evaluated.yaml", R"(
defaults: [base]
runner: {task_type: reasoning_eval}
rollout: {use_fixed_worker: true}
rollout_fixed_worker: {group_name: Workers, tensor_parallel_size: 1}
)"},
};

TEST(Programs, SeveralAgentsAreCollocatedAndHaveToolsOnEachNode) {
  const PlacedInMemory found = placed_in_memory(kAgents, "base.yaml", {.nodes = "4xH100"});
  EXPECT_EQ(found.program,
            "multi-agent, for runner.task_type is reasoning and agentloop.workflow is there");
  EXPECT_EQ(found.mode, "collocated");
  EXPECT_THAT(found.components(), ElementsAre("actor", "rollout", "agentloop", "search", "access"));
  EXPECT_EQ(found.of("agentloop"), "0@0 1@0 2@0 3@0");
  EXPECT_EQ(found.of("search"), "32 processes");
  EXPECT_EQ(found.group_name_of("access"), "access");
}

TEST(Programs, RolloutOnAPartOfActorIsOneOfSeveralAgents) {
  constexpr std::string_view kPart =
      "runner: {task_type: reasoning}\n"
      "cluster: {component_placement: {\"actor,reward\": 0-7, rollout: 0-3}}\n";
  const PlacedInMemory found = placed_in_memory(kPart);
  EXPECT_EQ(found.program,
            "multi-agent, for runner.task_type is reasoning and rollout is on a part of actor's "
            "devices");
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.warnings, ElementsAre("d.yaml:2 rollout_outside_actor"));
  // Another program is asked for by name.
  EXPECT_THAT(placed_in_memory(kPart, {.program = RlinfProgram::Reasoning}).findings,
              ElementsAre("d.yaml:2 mode_ambiguous"));
}

TEST(Programs, ADocumentWithALocalJudgeOnItsOwnDevices) {
  const PlacedInMemory found = placed_in_memory(kAgents, "twice.yaml");
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.program,
            "multi-agent, for runner.task_type is reasoning and rollout_judge is placed");
  EXPECT_THAT(found.components(),
              ElementsAre("actor", "rollout", "rollout_judge", "agentloop", "search", "access"));
  EXPECT_EQ(found.of("rollout"), "0@0:0,2 1@0:1,3");
  EXPECT_EQ(found.of("rollout_judge"), "0@0:4,6 1@0:5,7");
  EXPECT_EQ(found.group_name_of("rollout_judge"), "Judges");
  EXPECT_EQ(found.of("agentloop"), "0@0 1@0");
  // Not used, it is placed and not started.
  EXPECT_THAT(
      placed_in_memory(kAgents, "twice.yaml", {.overrides = {"agentloop.use_local_judge=false"}})
          .not_started,
      ElementsAre("reward", "rollout_judge"));
  EXPECT_THAT(
      placed_in_memory(
          kAgents, "twice.yaml", {.overrides = {"~cluster.component_placement.rollout_judge"}})
          .findings,
      ElementsAre("judged.yaml:5 component_missing"));
  EXPECT_THAT(
      placed_in_memory(kAgents, "twice.yaml", {.overrides = {"+rollout.use_fixed_worker=true"}})
          .findings,
      ElementsAre("+rollout.use_fixed_worker=true:0 program_refuses"));
}

TEST(Programs, AnEvaluationWithAFixedWorkerHalvesRollout) {
  const PlacedInMemory found = placed_in_memory(kAgents, "evaluated.yaml");
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.program,
            "multi-agent-eval, for runner.task_type is reasoning_eval and rollout_fixed_worker is "
            "there");
  EXPECT_THAT(found.components(),
              ElementsAre("rollout", "rollout_fixed_worker", "agentloop", "search", "access"));
  EXPECT_EQ(found.of("rollout"), "0@0:0 1@0:1 2@0:2 3@0:3");
  EXPECT_EQ(found.of("rollout_fixed_worker"), "0@0:4 1@0:5 2@0:6 3@0:7");
  EXPECT_EQ(found.group_name_of("rollout"), "Engines");
  EXPECT_EQ(found.group_name_of("rollout_fixed_worker"), "Workers");
  EXPECT_EQ(found.of("agentloop"), "0@0 1@0 2@0 3@0") << "one for each planner";
  EXPECT_EQ(placed_in_memory(kAgents, "evaluated.yaml", {.overrides = {"+tools.online=true"}})
                .of("search"),
            "0@0");
}

// ---- choice ----

TEST(Programs, WithoutATypeAllThatIsPlacedIsStarted) {
  const PlacedInMemory found =
      placed_in_memory("cluster: {component_placement: {llm: 0-3, \"actor,env\": 4-7}}\n");
  EXPECT_EQ(found.program, "");
  EXPECT_THAT(found.components(), ElementsAre("llm", "actor", "env"));
  const MemoryWords hybrid{.mode = PlacementMode::Hybrid};
  EXPECT_THAT(placed_in_memory(kReasoning, hybrid).components(),
              ElementsAre("actor", "rollout", "inference", "reward"));
  EXPECT_EQ(placed_in_memory(kReasoning, hybrid).program, "") << "a mode has no program";
}

TEST(Programs, AnUnknownTypeIsRefusedWithTheKnownOnes) {
  const PlacedInMemory found =
      placed_in_memory("runner: {task_type: reasonning}\ncluster: {component_placement: {a: 0}}\n");
  EXPECT_THAT(found.findings, ElementsAre("d.yaml:1 document"));
  EXPECT_THAT(found.messages.front(), HasSubstr("coding_online_rl"));
  EXPECT_THAT(placed_in_memory("runner: {task_type: reasonning}\n"
                               "cluster: {component_placement: {env: 0}}\n",
                               {.program = RlinfProgram::Collection})
                  .findings,
              IsEmpty());
}

TEST(Programs, WhatAProgramStartsHasToBePlaced) {
  EXPECT_THAT(placed_in_memory("runner: {task_type: embodied}\n"
                               "cluster:\n"
                               "  component_placement: {actor: 0}\n")
                  .findings,
              ElementsAre("d.yaml:3 component_missing", "d.yaml:3 component_missing"));
}

}  // namespace programs_tests
}  // namespace orrery::scenarios
