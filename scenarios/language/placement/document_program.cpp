// The entry program of RLinf that a document is for, and what that program reads.
#include <algorithm>
#include <string>
#include <utility>

#include "scenarios/language/placement/document_placement.hpp"
#include "scenarios/language/placement/section_values.hpp"

namespace orrery::scenarios {
namespace {

struct Choice {
  RlinfProgram program = RlinfProgram::Reasoning;
  std::string reason;
};

/// Chooses by the type of the task and by what the document has for it.
class ProgramChoice {
 public:
  ProgramChoice(const SectionValues& values, const PlacementDocument& document)
      : values_(values), document_(document) {}

  /// Nothing where RLinf has no such type of task.
  std::optional<Choice> of(const std::string& task) const {
    const std::string because = "runner.task_type is " + task;
    if (task == "embodied") return embodied(because);
    if (task == "embodied_eval") return Choice{RlinfProgram::EmbodiedEvaluation, because};
    if (task == "sft") return Choice{RlinfProgram::FineTuning, because};
    if (task == "offline") return Choice{RlinfProgram::Offline, because};
    if (task == "coding_online_rl") return Choice{RlinfProgram::Coding, because};
    if (task != "reasoning" && task != "reasoning_eval") return std::nullopt;
    Choice choice = task == "reasoning" ? reasoning() : evaluation();
    choice.reason = choice.reason.empty() ? because : because + " and " + choice.reason;
    return choice;
  }

 private:
  /// Data are collected by worlds alone.
  Choice embodied(const std::string& because) const {
    const bool is_alone = is_placed(document_.rules, "env") &&
                          !is_placed(document_.rules, "actor") &&
                          !is_placed(document_.rules, "rollout");
    if (is_alone)
      return {RlinfProgram::Collection, because + " and neither actor nor rollout is placed"};
    return {RlinfProgram::Embodied, because};
  }

  Choice reasoning() const {
    if (values_.has("agentlightning"))
      return {RlinfProgram::AgentLightning, "agentlightning is there"};
    if (is_placed(document_.rules, kJudge))
      return {RlinfProgram::MultiAgent, std::string(kJudge) + " is placed"};
    if (placement::lies_strictly_inside(document_.inventory, document_.rules, "rollout", "actor"))
      return {RlinfProgram::MultiAgent, "rollout is on a part of actor's devices"};
    if (values_.has("agentloop.workflow"))
      return {RlinfProgram::MultiAgent, "agentloop.workflow is there"};
    // What rewards the answers says by which program they are made.
    for (const char* key : {"reward.reward_type", "data.type"})
      if (values_.has("agentloop") && is_rstar2(key))
        return {RlinfProgram::Rstar2, "agentloop is there and " + std::string(key) + " is rstar2"};
    if (values_.has("agentloop")) return {RlinfProgram::Agent, "agentloop is there"};
    return {RlinfProgram::Reasoning, {}};
  }

  Choice evaluation() const {
    if (values_.has("agentlightning"))
      return {RlinfProgram::AgentLightning, "agentlightning is there"};
    if (is_placed(document_.rules, kJudge))
      return {RlinfProgram::MultiAgentEvaluation, std::string(kJudge) + " is placed"};
    for (const char* key : {"rollout_judge",
                            "rollout_fixed_worker",
                            "agentloop.use_local_judge",
                            "agentloop.workflow"})
      if (values_.has(key))
        return {RlinfProgram::MultiAgentEvaluation, std::string(key) + " is there"};
    return {RlinfProgram::AgentEvaluation, {}};
  }

  bool is_rstar2(const char* key) const {
    const std::optional<PlacedWord> word = values_.word(key);
    return word && word->text == "rstar2";
  }

  const SectionValues& values_;
  const PlacementDocument& document_;
};

ServerWords read_servers(const SectionValues& values, const std::string& section) {
  ServerWords out;
  out.has_server = true;
  out.has_router = true;
  std::int32_t tensor = 1;
  std::int32_t pipeline = 1;
  values.read(section + ".launch_server", out.has_server);
  values.read(section + ".launch_router", out.has_router);
  values.read(section + ".group_name", out.server_name);
  values.read(section + ".router_group_name", out.router_name);
  values.read(section + ".tensor_parallel_size", tensor);
  values.read(section + ".pipeline_parallel_size", pipeline);
  constexpr std::int32_t kDevicesMax = 1'048'576;
  out.devices = pipeline > kDevicesMax / tensor ? kDevicesMax : tensor * pipeline;
  return out;
}

void read_reward(const SectionValues& values, ProgramFacts& facts) {
  std::string kind = "model";
  std::string base;
  values.read("reward.use_reward_model", facts.use_reward_model);
  values.read("reward.standalone_realworld", facts.is_standalone_reward);
  values.read("reward.worker_type", kind);
  values.read("reward.api.api_base", base);
  facts.serves_reward = facts.use_reward_model && kind == "api" && base.empty();
}

void read_switches(const SectionValues& values, ProgramFacts& facts) {
  values.read("critic.use_critic_model", facts.use_critic_model);
  values.read("runner.only_eval", facts.only_evaluates);
  values.read("algorithm.recompute_logprobs", facts.recompute_logprobs);
  facts.recompute = values.word("algorithm.recompute_logprobs");
  const std::optional<PlacedNumber> interval = values.number("runner.val_check_interval");
  facts.evaluates = facts.only_evaluates || (interval && interval->value > 0);
  read_reward(values, facts);
  facts.has_agent_loop = values.has("agentloop");
  facts.local_judge = values.if_on("agentloop.use_local_judge");
  facts.use_local_judge = facts.local_judge.has_value();
  values.read("tools.online", facts.tools_are_online);
  facts.fixed_worker = values.if_on("rollout.use_fixed_worker");
  facts.auto_scheduler = values.if_on("cluster.auto_scheduler");
  facts.training_backend = values.word("actor.training_backend");
  facts.rollout_backend = values.word("rollout.rollout_backend");
}

/// Batches of tasks that generate are made of what is generated.
void read_generated_batches(const SectionValues& values, ProgramFacts& facts) {
  const std::optional<PlacedNumber> prompts = values.number("data.rollout_batch_size");
  const std::optional<PlacedNumber> group = values.number("algorithm.group_size");
  const std::optional<PlacedNumber> parts = values.number("algorithm.n_minibatches");
  facts.micro_batch = values.number("algorithm.training_batch_size_per_gpu");
  if (!facts.micro_batch) facts.micro_batch = PlacedNumber{1, {}};
  if (!prompts || !group) return;
  std::int64_t sequences = 0;
  if (__builtin_mul_overflow(prompts->value, group->value, &sequences)) return;
  const std::int64_t minibatches = parts ? parts->value : 1;
  facts.global_batch = PlacedNumber{minibatches > 0 ? sequences / minibatches : 0,
                                    minibatches > 0 || !parts ? prompts->at : parts->at};
}

void read_counts(const SectionValues& values, ProgramFacts& facts) {
  facts.stages = values.number("rollout.pipeline_stage_num");
  facts.decoupled = values.if_on("runner.enable_decoupled_mode");
  facts.train_worlds = {values.number("env.train.total_num_envs"),
                        values.number("env.train.group_size")};
  facts.evaluation_worlds = {values.number("env.eval.total_num_envs"),
                             values.number("env.eval.group_size")};
  switch (facts.program) {
    case RlinfProgram::Embodied:
    case RlinfProgram::FineTuning:
    case RlinfProgram::Offline:
      facts.global_batch = values.number("actor.global_batch_size");
      facts.micro_batch = values.number("actor.micro_batch_size");
      return;
    case RlinfProgram::EmbodiedEvaluation:
    case RlinfProgram::AgentEvaluation:
    case RlinfProgram::MultiAgentEvaluation:
    case RlinfProgram::Collection:
      return;  // Nothing trains.
    default:
      read_generated_batches(values, facts);
  }
}

}  // namespace

bool is_placed(const std::vector<placement::PlacementRule>& rules, std::string_view name) {
  return std::ranges::any_of(rules, [&](const placement::PlacementRule& rule) {
    std::string_view rest = rule.components.text;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      std::string_view one = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      const std::size_t first = std::min(one.find_first_not_of(' '), one.size());
      one.remove_prefix(first);
      if (one.substr(0, one.find_last_not_of(' ') + 1) == name) return true;
    }
    return false;
  });
}

placement::PoolRules pool_rules_of(RlinfProgram program) {
  switch (program) {
    case RlinfProgram::AgentEvaluation:
      return placement::PoolRules::Evaluation;
    case RlinfProgram::MultiAgent:
      return placement::PoolRules::MultiAgent;
    case RlinfProgram::MultiAgentEvaluation:
      return placement::PoolRules::MultiAgentEvaluation;
    default:
      return placement::PoolRules::Training;
  }
}

bool is_model_parallel(RlinfProgram program) {
  switch (program) {
    case RlinfProgram::Embodied:
    case RlinfProgram::EmbodiedEvaluation:
    case RlinfProgram::FineTuning:
    case RlinfProgram::Offline:
    case RlinfProgram::Collection:
      return false;
    default:
      return true;
  }
}

std::optional<ProgramFacts> read_program(DocumentReading& reading,
                                         const YamlNode& config,
                                         const PlacementContext& context,
                                         const PlacementDocument& document) {
  const SectionValues values(reading, config, context.sources.variable);
  std::optional<Choice> choice;
  if (context.program) {
    choice = Choice{*context.program, "--program says so"};
  } else {
    const std::optional<PlacedWord> task = values.word("runner.task_type");
    if (!task) return std::nullopt;
    choice = ProgramChoice(values, document).of(task->text);
    if (!choice) {
      reading.fail(task->at,
                   {"runner.task_type",
                    task->text,
                    "embodied, embodied_eval, reasoning, reasoning_eval, coding_online_rl, sft or "
                    "offline",
                    "correct it, or say with --program or --mode how it is placed"});
      return std::nullopt;
    }
  }
  ProgramFacts facts;
  facts.program = choice->program;
  facts.reason = std::move(choice->reason);
  read_switches(values, facts);
  read_counts(values, facts);
  if (facts.program == RlinfProgram::EmbodiedEvaluation) {
    facts.only_evaluates = facts.evaluates = true;
    facts.servers = read_servers(values, "rollout.sglang");
  } else if (facts.serves_reward) {
    facts.servers = read_servers(values, "router_server_args");
  }
  return facts;
}

}  // namespace orrery::scenarios
