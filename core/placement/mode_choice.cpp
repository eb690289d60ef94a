#include "core/placement/mode_choice.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace orrery::placement {

ModeChoice::ModeChoice(const Inventory& inventory,
                       const ReadRules& rules,
                       const ParallelSizes& sizes,
                       PlacementErrors& errors,
                       PlacementErrors& warnings)
    : inventory_(inventory),
      rules_(rules),
      sizes_(sizes),
      errors_(errors, Stage::Parse, "model-parallel placement"),
      warnings_(warnings, Stage::Parse, "model-parallel placement") {}

void ModeChoice::tell(ErrorKind kind, TextPosition at, ErrorWords words) {
  sound_ = false;
  errors_.add(kind, at, std::move(words));
}

std::int64_t ModeChoice::engine_size() const {
  return std::int64_t{sizes_.rollout_tensor} * sizes_.rollout_pipeline;
}

const ReadRule* ModeChoice::inference_rule() const {
  const ReadRule* rule = rules_.find(kInference);
  return rule != nullptr ? rule : rules_.find(kActorInference);
}

bool ModeChoice::judges(const ReadRule& rule, std::string_view name) const {
  const bool is_engine = std::ranges::any_of(
      sizes_.engines, [&](const ExtraEngine& engine) { return engine.component == name; });
  if (name == kRollout || name == kReward || is_engine) return true;
  // In an evaluation every other component follows its text: none trains.
  if (sizes_.evaluates()) return false;
  const bool is_inference = name == kInference || name == kActorInference;
  return name == kActor || name == kCritic || name == kCriticInference ||
         (is_inference && inference_rule() == &rule);
}

std::optional<ModePlan> ModeChoice::choose() {
  check_presence();
  check_sizes();
  read_pools();
  if (sizes_.evaluates()) return evaluated();
  if (!sound_ || !actor_ || !rollout_) return std::nullopt;
  if (sizes_.rules == PoolRules::MultiAgent) return multi_agent();
  // As in RLinf, a critic keeps the dynamic mode off.
  if (sizes_.auto_scheduler && !critic_) return automatic();
  if (same_devices(*actor_, *rollout_)) return collocated();
  return disaggregated();
}

void ModeChoice::check_presence() {
  const TextPosition at =
      rules_.rules.empty() ? TextPosition{} : rules_.rules.front().rule->components.at;
  if (rules_.find(kActor) == nullptr && !sizes_.evaluates()) {
    tell(ErrorKind::ActorMissing,
         at,
         {"no component actor", "the component actor", "place actor on the devices that train"});
  }
  if (rules_.find(kReward) == nullptr) {
    tell(ErrorKind::RewardMissing,
         at,
         {"no component reward", "the component reward", "place reward, for example with rollout"});
  }
  if (rules_.find(kRollout) == nullptr) {
    tell(ErrorKind::ModeAmbiguous,
         at,
         {"no component rollout",
          "the component rollout, whose devices select the mode",
          "place rollout on the devices of actor or on others"});
  }
}

void ModeChoice::check_sizes() {
  const std::array sizes{sizes_.actor_tensor,
                         sizes_.actor_context,
                         sizes_.actor_pipeline,
                         sizes_.rollout_tensor,
                         sizes_.rollout_pipeline,
                         sizes_.inference_tensor,
                         sizes_.inference_context,
                         sizes_.inference_pipeline,
                         sizes_.critic_inference_tensor};
  const std::int32_t least = *std::min_element(sizes.begin(), sizes.end());
  if (least >= 1) return;
  tell(ErrorKind::NotDivisible,
       rules_.rules.empty() ? TextPosition{} : rules_.rules.front().rule->components.at,
       {"a parallel size of " + std::to_string(least),
        "parallel sizes of at least 1",
        "correct the size"});
}

std::optional<DevicePool> ModeChoice::pool_of(std::string_view name, const ReadRule* rule) {
  if (rule == nullptr) return std::nullopt;
  if (!rule->is_sound()) {
    sound_ = false;
    return std::nullopt;
  }
  // One rule for several pools is told about once.
  if (std::find(with_hole_.begin(), with_hole_.end(), rule) != with_hole_.end()) {
    return std::nullopt;
  }
  auto pool = read_pool(std::string(name), *rule, errors_.about(rule->subject));
  if (!pool) {
    sound_ = false;
    with_hole_.push_back(rule);
  }
  return pool;
}

void ModeChoice::read_pools() {
  if (!sizes_.evaluates()) actor_ = pool_of(kActor, rules_.find(kActor));
  rollout_ = pool_of(kRollout, rules_.find(kRollout));
  if (sizes_.evaluates()) return;
  inference_ = pool_of(kInference, inference_rule());
  critic_inference_ = pool_of(kCriticInference, rules_.find(kCriticInference));
  critic_ = pool_of(kCritic, rules_.find(kCritic));
}

std::vector<const DevicePool*> ModeChoice::pools() const {
  std::vector<const DevicePool*> out;
  for (const auto* pool : {&actor_, &rollout_, &inference_, &critic_inference_, &critic_}) {
    if (pool->has_value()) out.push_back(&**pool);
  }
  return out;
}

bool ModeChoice::check_disjoint() {
  const std::vector<const DevicePool*> all = pools();
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      const auto shared = shared_device(*all[a], *all[b]);
      if (!shared) continue;
      tell(ErrorKind::ModeAmbiguous,
           all[b]->at(),
           {*shared + " in the pools of " + all[a]->name + " and " + all[b]->name,
            "actor and rollout on the same devices (collocated), or no device in two pools "
            "(disaggregated)",
            "move " + all[b]->name + " to devices of its own, or rollout onto all of actor's"});
      return false;
    }
  }
  return true;
}

bool ModeChoice::check_inference() {
  const auto fits = [&](const std::optional<DevicePool>& pool, std::int32_t tensor) {
    if (!pool || tensor <= pool->ranks.count()) return;
    tell(ErrorKind::InferenceTpTooLarge,
         pool->at(),
         {"a tensor parallel size of " + std::to_string(tensor) + " for " +
              counted(pool->ranks.count(), "device") + " of " + pool->name,
          "a tensor parallel size of at most " + std::to_string(pool->ranks.count()),
          "give " + pool->name + " more devices or lower its tensor parallel size"});
  };
  fits(inference_, sizes_.inference_tensor);
  fits(critic_inference_, sizes_.critic_inference_tensor);
  if (inference_ && !sizes_.recompute_logprobs) {
    tell(ErrorKind::InferenceWithoutRecompute,
         inference_->at(),
         {"an inference pool although log-probabilities are not recomputed",
          "recompute_logprobs, or no inference pool",
          "remove the inference pool or set algorithm.recompute_logprobs: true"});
  }
  return sound_;
}

bool ModeChoice::check_tensor_fits() {
  if (sizes_.actor_tensor <= actor_->ranks.count()) return true;
  tell(ErrorKind::NotDivisible,
       actor_->at(),
       {"a tensor parallel size of " + std::to_string(sizes_.actor_tensor) + " for " +
            counted(actor_->ranks.count(), "device") + " of actor",
        "at least as many devices as the tensor parallel size",
        "give actor more devices or lower its tensor parallel size"});
  return false;
}

bool ModeChoice::check_engines(const DevicePool& pool, std::int64_t stride, std::int64_t engine) {
  if (pool.ranks.count() % (engine * stride) == 0) return true;
  tell(ErrorKind::NotDivisible,
       pool.at(),
       {counted(pool.ranks.count(), "device") + " of " + pool.name + " for engines of " +
            std::to_string(engine) + " at stride " + std::to_string(stride),
        "a multiple of " + std::to_string(engine * stride) + " devices",
        "change the devices of " + pool.name + " or the parallel sizes of rollout"});
  return false;
}

std::optional<ModePlan> ModeChoice::evaluated() {
  const std::int64_t engine = sizes_.rollout_tensor;
  if (!sound_ || !rollout_ || !check_engines(*rollout_, 1, engine)) return std::nullopt;
  ModePlan plan;
  plan.mode = Mode::Collocated;
  plan.rollout = PackingPlan{&rollout_->selection(), {rollout_->ranks, engine, 1}};
  if (sizes_.rules == PoolRules::MultiAgentEvaluation) {
    add_engines(plan);
    if (sizes_.halves_rollout) halve_rollout(plan);
  }
  if (!sound_) return std::nullopt;
  return plan;
}

std::optional<ModePlan> ModeChoice::collocated() {
  for (const auto* pool : {&inference_, &critic_inference_}) {
    if (!pool->has_value()) continue;
    tell(ErrorKind::ModeAmbiguous,
         (*pool)->at(),
         {"an inference pool although actor and rollout share their devices",
          "no inference pool (collocated), or disjoint pools (disaggregated)",
          "remove the inference pool or move rollout to devices of its own"});
  }
  const std::int64_t actor = sizes_.actor_tensor;
  const std::int64_t rollout = sizes_.rollout_tensor;
  const bool strided = actor > rollout;
  check_tensor_fits();
  if (strided && actor % rollout != 0) {
    tell(ErrorKind::TpNotDivisible,
         rollout_->at(),
         {"a tensor parallel size of " + std::to_string(actor) + " for actor and of " +
              std::to_string(rollout) + " for rollout",
          "a size for actor that is a multiple of that for rollout, for weights stay in place",
          "change one of the tensor parallel sizes"});
    return std::nullopt;
  }
  // Engine i takes every (actor / rollout)-th device, so that each holds its shard already.
  const std::int64_t stride = strided ? actor / rollout : 1;
  if (!check_engines(*rollout_, stride, rollout) || !sound_) return std::nullopt;
  ModePlan plan;
  plan.mode = Mode::Collocated;
  plan.rollout = PackingPlan{&rollout_->selection(), {rollout_->ranks, rollout, stride}};
  return plan;
}

std::optional<ModePlan> ModeChoice::disaggregated() {
  if (!check_disjoint()) return std::nullopt;
  check_inference();
  check_tensor_fits();
  check_engines(*rollout_, 1, engine_size());
  if (!sound_) return std::nullopt;
  ModePlan plan;
  plan.mode = Mode::Disaggregated;
  plan.rollout = PackingPlan{&rollout_->selection(), {rollout_->ranks, engine_size(), 1}};
  return plan;
}

}  // namespace orrery::placement
