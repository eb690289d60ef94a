// Sizes that an entry program of RLinf asks to fit, found before anything starts.
#include <string>
#include <utility>

#include "core/placement/error_sink.hpp"
#include "core/placement/rank_text.hpp"
#include "scenarios/language/placement/document_placement.hpp"
#include "scenarios/language/placement/program_groups.hpp"

namespace orrery::scenarios {
namespace {

using placement::ComponentPlan;
using placement::ErrorKind;
using placement::PlacementErrors;
using placement::Plan;
using placement::Stage;
using placement::TextPosition;

/// Components that a program cannot do without.
std::vector<std::string> needed_by(const ProgramFacts& program) {
  switch (program.program) {
    case RlinfProgram::Embodied:
      if (program.use_reward_model && !program.is_standalone_reward && program.serves_reward)
        return {"actor", "rollout", "env", "reward", "reward_server"};
      if (program.use_reward_model && !program.is_standalone_reward)
        return {"actor", "rollout", "env", "reward"};
      return {"actor", "rollout", "env"};
    case RlinfProgram::EmbodiedEvaluation:
      return {"rollout", "env"};
    case RlinfProgram::FineTuning:
      return {"actor"};
    case RlinfProgram::Offline:
      if (program.evaluates) return {"actor", "rollout", "env"};
      return {"actor"};
    case RlinfProgram::Collection:
      return {"env"};
    case RlinfProgram::MultiAgent:
    case RlinfProgram::MultiAgentEvaluation:
      if (program.use_local_judge) return {std::string(kJudge)};
      return {};
    default:
      return {};  // Parallel sizes ask for theirs.
  }
}

class ProgramChecks {
 public:
  ProgramChecks(const PlacementDocument& document,
                const Plan& plan,
                PlacementErrors& errors,
                PlacementErrors& warnings)
      : document_(document),
        program_(*document.program),
        plan_(plan),
        errors_(errors, Stage::Resolve, "program " + std::string(to_string(program_.program))),
        warnings_(warnings, Stage::Resolve, "program " + std::string(to_string(program_.program))) {
  }

  void run() const {
    check_needed();
    check_refused();
    check_agent_loops();
    check_actor_sizes();
    if (program_.program == RlinfProgram::Embodied) check_worlds("train", program_.train_worlds);
    const bool has_worlds = program_.program == RlinfProgram::Embodied ||
                            program_.program == RlinfProgram::EmbodiedEvaluation ||
                            program_.program == RlinfProgram::Offline;
    if (has_worlds && program_.evaluates) check_worlds("eval", program_.evaluation_worlds);
    if (has_worlds && program_.decoupled) check_decoupled();
    check_batches();
  }

 private:
  std::int64_t processes(std::string_view component) const {
    const ComponentPlan* const found = find_component(plan_, component);
    return found == nullptr ? 0 : static_cast<std::int64_t>(found->processes.size());
  }

  TextPosition place_of_placement() const {
    return document_.rules.empty() ? TextPosition{} : document_.rules.front().components.at;
  }

  void check_needed() const {
    for (const std::string& component : needed_by(program_))
      if (!is_placed(document_.rules, component))
        errors_.add(ErrorKind::ComponentMissing,
                    component == kJudge && program_.local_judge ? program_.local_judge->at
                                                                : place_of_placement(),
                    {"no component " + component,
                     "the component " + component + ", which the program starts",
                     "place it, or choose another program with --program"});
  }

  void check_refused() const {
    if (program_.program == RlinfProgram::MultiAgent && program_.fixed_worker)
      errors_.add(ErrorKind::ProgramRefuses,
                  program_.fixed_worker->at,
                  {"rollout.use_fixed_worker in a training",
                   "one engine that is trained; two are for evaluations",
                   "write false"});
    if (program_.program == RlinfProgram::EmbodiedEvaluation) check_backend();
    if (program_.program == RlinfProgram::Coding) check_coding();
    const bool is_agent =
        program_.program == RlinfProgram::Agent || program_.program == RlinfProgram::Rstar2;
    if (is_agent && plan_.mode == placement::Mode::Auto && program_.auto_scheduler)
      warnings_.add(ErrorKind::ProgramRefuses,
                    program_.auto_scheduler->at,
                    {"cluster.auto_scheduler",
                     "a program with a dynamic scheduler, or pools that stay as they are",
                     "remove it"});
  }

  void check_backend() const {
    const auto& backend = program_.rollout_backend;
    if (!backend || backend->text == "huggingface" || backend->text == "sglang") return;
    errors_.add(ErrorKind::ProgramRefuses,
                backend->at,
                {"rollout.rollout_backend " + backend->text,
                 "huggingface or sglang in an embodied evaluation",
                 "write one of them"});
  }

  void check_coding() const {
    if (!plan_.components.empty() && plan_.mode != placement::Mode::Disaggregated)
      errors_.add(ErrorKind::ProgramRefuses,
                  place_of_placement(),
                  {"mode " + std::string(to_string(plan_.mode)),
                   "mode disaggregated",
                   "place actor, rollout and inference on devices of their own"});
    if (program_.training_backend && program_.training_backend->text != "megatron")
      errors_.add(ErrorKind::ProgramRefuses,
                  program_.training_backend->at,
                  {"actor.training_backend " + program_.training_backend->text,
                   "megatron",
                   "write megatron"});
    if (program_.recompute && !program_.recompute_logprobs)
      errors_.add(
          ErrorKind::ProgramRefuses,
          program_.recompute->at,
          {"algorithm.recompute_logprobs " + program_.recompute->text, "true", "write true"});
  }

  /// One loop for each engine; RLinf counts engines by all of their sizes and starts them by some.
  void check_agent_loops() const {
    const bool has_loops = program_.program == RlinfProgram::MultiAgent ||
                           program_.program == RlinfProgram::MultiAgentEvaluation ||
                           program_.program == RlinfProgram::Rstar2 ||
                           ((program_.program == RlinfProgram::Agent ||
                             program_.program == RlinfProgram::AgentEvaluation) &&
                            program_.has_agent_loop);
    const ComponentPlan* const rollout = find_component(plan_, "rollout");
    if (!has_loops || rollout == nullptr || !document_.sizes) return;
    std::int64_t devices = 0;
    for (const placement::Process& process : rollout->processes)
      devices += static_cast<std::int64_t>(process.devices.size());
    const std::int64_t engine =
        std::int64_t{document_.sizes->rollout_tensor} * document_.sizes->rollout_pipeline;
    if (devices / engine == processes("rollout")) return;
    errors_.add(ErrorKind::NotDivisible,
                place_of_placement(),
                {counted(processes("rollout"), "engine") + " of rollout, and " +
                     std::to_string(devices / engine) + " by its parallel sizes",
                 "one agent loop for each engine, by both counts",
                 "write rollout.pipeline_parallel_size: 1"});
  }

  void check_actor_sizes() const {
    if (!document_.sizes || document_.sizes->evaluates() || plan_.mode == placement::Mode::Auto)
      return;
    const placement::ParallelSizes& sizes = *document_.sizes;
    const std::int64_t actor = processes("actor");
    const std::int64_t replica =
        std::int64_t{sizes.actor_tensor} * sizes.actor_context * sizes.actor_pipeline;
    if (actor == 0 || actor % replica == 0) return;
    warnings_.add(
        ErrorKind::NotDivisible,
        place_of_placement(),
        {counted(actor, "device") + " of actor for replicas of " + std::to_string(replica),
         "a multiple of " + std::to_string(replica) + ", or " + std::to_string(actor % replica) +
             " of them are left over",
         "change the devices of actor or its parallel sizes"});
  }

  void check_worlds(const std::string& use, const WorldCounts& worlds) const {
    if (!worlds.total) return;
    const std::string key = "env." + use + ".total_num_envs";
    const TextPosition at = worlds.total->at;
    const std::int64_t total = worlds.total->value;
    const std::int64_t stages = program_.stages ? program_.stages->value : 1;
    const std::int64_t group = worlds.group ? worlds.group->value : 1;
    const std::int64_t workers = processes("env");
    if (!check_least(key, *worlds.total) ||
        (program_.stages && !check_least("rollout.pipeline_stage_num", *program_.stages)) ||
        (worlds.group && !check_least("env." + use + ".group_size", *worlds.group)) || workers == 0)
      return;
    if (total % workers != 0) {
      errors_.add(ErrorKind::NotDivisible,
                  at,
                  {key + " " + std::to_string(total) + " for " + counted(workers, "env process"),
                   "a multiple of " + std::to_string(workers),
                   "write " + std::to_string(rounded_up(total, workers * stages * group))});
      return;
    }
    const std::int64_t each = total / workers / stages;
    if (each == 0 || each % group != 0) {
      errors_.add(each == 0 ? ErrorKind::SizeOutOfRange : ErrorKind::NotDivisible,
                  at,
                  {key + " " + std::to_string(total) + ", which is " + std::to_string(each) +
                       " for each of " + counted(workers, "env process") + " and each of " +
                       counted(stages, "stage"),
                   "at least one group of " + std::to_string(group) + " and whole groups",
                   "write " + std::to_string(rounded_up(total, workers * stages * group))});
      return;
    }
    if (total / workers % stages != 0)
      warnings_.add(ErrorKind::NotDivisible,
                    at,
                    {key + " " + std::to_string(total) + " for " + counted(workers, "env process") +
                         " of " + counted(stages, "stage"),
                     "a multiple of " + std::to_string(workers * stages) +
                         ", or some are left out of every stage",
                     "write " + std::to_string(rounded_up(total, workers * stages * group))});
  }

  /// Worlds that wait for no other keep every process of rollout busy, and have no stages.
  void check_decoupled() const {
    const std::int64_t worlds = processes("env");
    const std::int64_t rollouts = processes("rollout");
    if (worlds > 0 && rollouts > worlds)
      errors_.add(ErrorKind::SizeOutOfRange,
                  program_.decoupled->at,
                  {counted(rollouts, "rollout process") + " for " + counted(worlds, "env process"),
                   "at least as many env processes where runner.enable_decoupled_mode is on",
                   "place more env processes or fewer of rollout"});
    if (program_.stages && program_.stages->value > 1)
      errors_.add(ErrorKind::SizeOutOfRange,
                  program_.stages->at,
                  {"rollout.pipeline_stage_num " + std::to_string(program_.stages->value),
                   "1 where runner.enable_decoupled_mode is on",
                   "write 1"});
  }

  bool check_least(const std::string& key, const PlacedNumber& number) const {
    constexpr std::int64_t kMost = std::int64_t{1} << 20;
    if (number.value >= 1 && number.value <= kMost) return true;
    errors_.add(ErrorKind::SizeOutOfRange,
                number.at,
                {key + " " + std::to_string(number.value),
                 "a whole number from 1 to " + std::to_string(kMost),
                 "correct it"});
    return false;
  }

  void check_batches() const {
    if (!program_.global_batch) return;
    const std::int64_t micro = program_.micro_batch ? program_.micro_batch->value : 1;
    if (!check_batch("the global batch", *program_.global_batch) ||
        (program_.micro_batch && !check_batch("the micro batch", *program_.micro_batch)))
      return;
    const bool is_sharded = program_.training_backend && program_.training_backend->text == "fsdp";
    const std::int64_t actor = processes("actor");
    if (!is_sharded || actor == 0 || plan_.mode == placement::Mode::Auto) return;
    std::int64_t step = 0;
    const bool fits = !__builtin_mul_overflow(micro, actor, &step);
    if (fits && program_.global_batch->value % step == 0) return;
    errors_.add(
        ErrorKind::NotDivisible,
        program_.global_batch->at,
        {"a global batch of " + std::to_string(program_.global_batch->value) + " for " +
             counted(actor, "actor process") + " of micro batches of " + std::to_string(micro),
         fits ? "a multiple of " + std::to_string(step) : "a smaller micro batch",
         "change a batch or the devices of actor"});
  }

  bool check_batch(const std::string& what, const PlacedNumber& number) const {
    if (number.value >= 1) return true;
    errors_.add(ErrorKind::SizeOutOfRange,
                number.at,
                {what + " of " + std::to_string(number.value),
                 "at least 1",
                 "correct the sizes that it is made of"});
    return false;
  }

  static std::string counted(std::int64_t count, const std::string& what) {
    return placement::counted(count, what);
  }

  static std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
    return (value + step - 1) / step * step;
  }

  const PlacementDocument& document_;
  const ProgramFacts& program_;
  const Plan& plan_;
  placement::ErrorSink errors_;
  placement::ErrorSink warnings_;
};

}  // namespace

void check_program(const PlacementDocument& document,
                   const Plan& plan,
                   PlacementErrors& errors,
                   PlacementErrors& warnings) {
  ProgramChecks(document, plan, errors, warnings).run();
}

}  // namespace orrery::scenarios
