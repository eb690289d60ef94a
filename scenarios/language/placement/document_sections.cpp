// What RLinf's own sections hold: parallel sizes of a model-parallel task, and names of worker
// groups.
#include <string>
#include <utility>

#include "scenarios/language/placement/document_placement.hpp"
#include "scenarios/language/placement/section_values.hpp"

namespace orrery::scenarios {
namespace {

std::vector<placement::ExtraEngine> read_engines(const SectionValues& values,
                                                 const ProgramFacts* program) {
  placement::ExtraEngine judge;
  judge.component = kJudge;
  judge.is_configured = values.has(kJudge);
  // One that nothing starts is only read.
  const bool starts = program == nullptr ? judge.is_configured : program->use_local_judge;
  if (!starts) return {};
  const std::string section(kJudge);
  values.read(section + ".tensor_parallel_size", judge.tensor);
  values.read(section + ".pipeline_parallel_size", judge.pipeline);
  values.read(section + ".dp_size", judge.replicas);
  return {judge};
}

}  // namespace

std::vector<KeyValue> read_group_names(DocumentReading& reading,
                                       const YamlNode& config,
                                       const Interpolation::Variable& variable) {
  const SectionValues reader(reading, config, variable);
  std::vector<KeyValue> out;
  for (const YamlEntry& section : config.entries) {
    if (!section.value.is_map() || value_of(section.value, "group_name") == nullptr) continue;
    std::string name;
    reader.read(section.key + ".group_name", name);
    if (!name.empty()) out.push_back({section.key, std::move(name)});
  }
  return out;
}

placement::ParallelSizes read_parallel_sizes(DocumentReading& reading,
                                             const YamlNode& config,
                                             const DocumentParts& parts,
                                             const Interpolation::Variable& variable,
                                             placement::PoolRules rules,
                                             const ProgramFacts* program) {
  const SectionValues reader(reading, config, variable);
  placement::ParallelSizes sizes;
  sizes.rules = rules;
  reader.read("actor.model.tensor_model_parallel_size", sizes.actor_tensor);
  reader.read("actor.model.context_parallel_size", sizes.actor_context);
  reader.read("actor.model.pipeline_model_parallel_size", sizes.actor_pipeline);
  reader.read("rollout.tensor_parallel_size", sizes.rollout_tensor);
  reader.read("rollout.pipeline_parallel_size", sizes.rollout_pipeline);
  // Without a section of its own, inference is cut as the actor is.
  std::string inference = "inference";
  if (!reader.has("inference") && reader.has("actor_inference")) inference = "actor_inference";
  if (!reader.has(inference)) {
    sizes.inference_tensor = sizes.actor_tensor;
    sizes.inference_context = sizes.actor_context;
  }
  sizes.inference_pipeline = sizes.actor_pipeline;
  reader.read(inference + ".model.tensor_model_parallel_size", sizes.inference_tensor);
  reader.read(inference + ".model.context_parallel_size", sizes.inference_context);
  reader.read(inference + ".model.pipeline_model_parallel_size", sizes.inference_pipeline);
  if (!reader.has("critic_inference"))
    reader.read("critic.model.tensor_model_parallel_size", sizes.critic_inference_tensor);
  reader.read("critic_inference.model.tensor_model_parallel_size", sizes.critic_inference_tensor);
  reader.read("algorithm.recompute_logprobs", sizes.recompute_logprobs);
  if (rules == placement::PoolRules::MultiAgent ||
      rules == placement::PoolRules::MultiAgentEvaluation)
    sizes.engines = read_engines(reader, program);
  if (rules == placement::PoolRules::MultiAgentEvaluation) {
    reader.read("rollout.use_fixed_worker", sizes.halves_rollout);
    if (sizes.halves_rollout)
      reader.read("rollout_fixed_worker.tensor_parallel_size", sizes.fixed_worker_tensor);
  }
  for (const YamlNode* cluster : {value_of(parts.root(), "cluster"), value_of(config, "cluster")}) {
    if (cluster == nullptr) continue;
    const SectionValues own(reading, *cluster, variable);
    own.read("auto_scheduler", sizes.auto_scheduler);
    own.read("use_pre_process_policy", sizes.use_pre_process_policy);
    if (value_of(parts.root(), "cluster") == value_of(config, "cluster")) break;
  }
  return sizes;
}

}  // namespace orrery::scenarios
