// What RLinf's own sections hold: parallel sizes of a model-parallel task, and names of worker
// groups.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "scenarios/language/placement/document_placement.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kSizeMax = 1'048'576;

/// The value at a path of keys like "actor.model"; null where there is none.
const YamlNode* at_path(const YamlNode& root, std::string_view path) {
  const YamlNode* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = value_of(*node, path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

class SectionsReader {
 public:
  SectionsReader(DocumentReading& reading,
                 const YamlNode& config,
                 const Interpolation::Variable& variable)
      : reading_(reading), config_(config), values_(config, variable) {}

  bool has(std::string_view path) const { return values_.has(path); }

  void read(std::string_view path, std::int32_t& to) const {
    const std::optional<YamlNode> node = at(path);
    if (!node) return;
    const auto value = parse_whole(*node);
    if (value && *value >= 1 && *value <= kSizeMax) {
      to = static_cast<std::int32_t>(*value);
      return;
    }
    reading_.fail(place_of(*node),
                  {std::string(path), describe(*node), "a whole number from 1", "correct it"});
  }

  void read(std::string_view path, std::string& to) const {
    const std::optional<YamlNode> node = at(path);
    if (!node) return;
    if (node->is_scalar())
      to = node->scalar;
    else
      reading_.fail(place_of(*node), {std::string(path), describe(*node), "a text", "correct it"});
  }

  void read(std::string_view path, bool& to) const {
    const std::optional<YamlNode> node = at(path);
    if (!node) return;
    const auto value = parse_truth(*node);
    if (value)
      to = *value;
    else
      reading_.fail(place_of(*node),
                    {std::string(path), describe(*node), "true or false", "correct it"});
  }

 private:
  /// The value, if there is one and what it refers to can be told.
  std::optional<YamlNode> at(std::string_view path) const {
    Result<YamlNode> value = values_.at(path);
    if (value) {
      if (value.value().is_null()) return std::nullopt;
      return std::move(value).value();
    }
    const YamlNode* written = at_path(config_, path);
    const Error& error = value.errors().front();
    reading_.add_document(place_of(written == nullptr ? config_ : *written),
                          error.subject + ": " + error.message);
    return std::nullopt;
  }

  DocumentReading& reading_;
  const YamlNode& config_;
  Interpolation values_;
};

}  // namespace

bool is_model_parallel_task(std::string_view task_type) {
  // Which class an entry script of RLinf makes is not in its files; these are the types whose
  // scripts make the model-parallel one.
  static constexpr std::string_view kTypes[]{"reasoning", "reasoning_eval", "coding_online_rl"};
  return std::find(std::begin(kTypes), std::end(kTypes), task_type) != std::end(kTypes);
}

std::vector<KeyValue> read_group_names(DocumentReading& reading,
                                       const YamlNode& config,
                                       const Interpolation::Variable& variable) {
  const SectionsReader reader(reading, config, variable);
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
                                             const Interpolation::Variable& variable) {
  const SectionsReader reader(reading, config, variable);
  placement::ParallelSizes sizes;
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
  for (const YamlNode* root : {&parts.root(), &config}) {
    const YamlNode* task = at_path(*root, "runner.task_type");
    if (task != nullptr && task->is_scalar()) sizes.evaluation = task->scalar == "reasoning_eval";
  }
  for (const YamlNode* cluster : {value_of(parts.root(), "cluster"), value_of(config, "cluster")}) {
    if (cluster == nullptr) continue;
    const SectionsReader own(reading, *cluster, variable);
    own.read("auto_scheduler", sizes.auto_scheduler);
    own.read("use_pre_process_policy", sizes.use_pre_process_policy);
    if (value_of(parts.root(), "cluster") == value_of(config, "cluster")) break;
  }
  return sizes;
}

}  // namespace orrery::scenarios
