// Engines of several agents within the actor's devices (rules M4 to M6): they are collocated
// whatever overlaps, rollout's engine gives the others their width, and an evaluation may halve it.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/placement/mode_choice.hpp"

namespace orrery::placement {
namespace {

/// Components that may share devices with all others.
bool is_shared(std::string_view name) {
  return name == kActor || name == kRollout || name == kReward || name == kInference;
}

}  // namespace

std::optional<ModePlan> ModeChoice::multi_agent() {
  if (sizes_.auto_scheduler && !critic_)
    tell(ErrorKind::ModeAmbiguous,
         actor_->at(),
         {"auto_scheduler in a placement of several agents",
          "engines within the actor's devices, which none of them leaves",
          "remove cluster.auto_scheduler"});
  check_reward_beside_actor();
  check_rollouts_within_actor();
  check_exclusive();
  auto plan = collocated();
  if (plan) add_engines(*plan);
  if (!sound_) return std::nullopt;
  return plan;
}

void ModeChoice::check_reward_beside_actor() {
  const ReadRule* const reward = rules_.find(kReward);
  if (reward == nullptr || !reward->is_sound()) {
    sound_ = false;
    return;
  }
  const std::vector<DeviceSpan> trains = actor_->devices();
  const std::vector<DeviceSpan> judges = devices_of(*reward);
  if (trains == judges) return;
  tell(ErrorKind::ActorRewardDiffer,
       reward->rule->placement->at,
       {"reward on " + describe_devices(judges) + " and actor on " + describe_devices(trains),
        "the same devices for both where several agents are trained",
        "place them under one key, actor,reward"});
}

void ModeChoice::check_rollouts_within_actor() {
  const std::vector<DeviceSpan> trains = actor_->devices();
  std::vector<DeviceSpan> idle = trains;
  for (const ReadRule& rule : rules_.rules) {
    if (!rule.is_sound()) continue;
    for (const std::string& name : rule.names) {
      if (!name.starts_with(kRollout)) continue;
      const std::vector<DeviceSpan> generates = devices_of(rule);
      idle = without(idle, generates);
      const std::vector<DeviceSpan> outside = without(generates, trains);
      if (outside.empty()) continue;
      tell(ErrorKind::RolloutOutsideActor,
           rule.rule->placement->at,
           {name + " on " + describe_devices(outside) + ", which actor has not",
            "engines within the actor's devices: " + describe_devices(trains),
            "move " + name + " or enlarge actor and reward"});
    }
  }
  if (!sound_ || idle.empty()) return;
  warnings_.add(ErrorKind::RolloutOutsideActor,
                rollout_->at(),
                {"no engine on " + describe_devices(idle) + ", which actor has",
                 "engines on all of the actor's devices, or these idle while others generate",
                 "enlarge rollout"});
}

void ModeChoice::check_exclusive() {
  struct Holder {
    const std::string* name;
    std::vector<DeviceSpan> devices;
  };

  std::vector<Holder> holders;
  for (const ReadRule& rule : rules_.rules) {
    if (!rule.is_sound()) continue;
    for (const std::string& name : rule.names) {
      if (is_shared(name)) continue;
      const Holder here{&name, devices_of(rule)};
      for (const Holder& other : holders) {
        const auto shared = shared_device(other.devices, here.devices);
        if (!shared) continue;
        tell(ErrorKind::ExclusiveOverlap,
             rule.rule->placement->at,
             {*shared + " of " + *other.name + " and of " + name,
              "devices of its own for each component other than actor, rollout, reward and "
              "inference",
              "move " + name});
        break;
      }
      holders.push_back(here);
    }
  }
}

void ModeChoice::add_engines(ModePlan& plan) {
  for (const ExtraEngine& engine : sizes_.engines) add_engine(engine, plan);
}

void ModeChoice::add_engine(const ExtraEngine& engine, ModePlan& plan) {
  const ReadRule* const rule = rules_.find(engine.component);
  if (rule == nullptr) return;
  const auto pool = pool_of(engine.component, rule);
  if (!pool) return;
  if (!engine.is_configured)
    tell(ErrorKind::EngineNotConfigured,
         pool->at(),
         {engine.component + " placed, and no section of its name",
          "a section with its model and its sizes",
          "add " + engine.component + ": to the document"});
  const Packing& rollout = plan.rollout->packing;
  if (!check_engine_sizes(engine, *pool) ||
      !check_engines(*pool, rollout.stride, rollout.per_process))
    return;
  plan.engines.emplace(
      engine.component,
      PackingPlan{&pool->selection(), {pool->ranks, rollout.per_process, rollout.stride}});
  const std::int64_t own = std::int64_t{std::max(engine.tensor, 1)} * std::max(engine.pipeline, 1);
  if (own == rollout.per_process) return;
  warnings_.about(engine.component)
      .add(ErrorKind::NotDivisible,
           pool->at(),
           {"sizes of its own for engines of " + counted(own, "device") +
                ", and rollout's engines of " + std::to_string(rollout.per_process),
            "equal ones, for it is placed with rollout's",
            "write the same sizes for both"});
}

bool ModeChoice::check_engine_sizes(const ExtraEngine& engine, const DevicePool& pool) {
  const std::pair<const char*, std::int32_t> sizes[]{
      {"tensor_parallel_size", engine.tensor},
      {"pipeline_parallel_size", engine.pipeline},
      {"dp_size", engine.replicas},
  };
  bool divides = true;
  for (const auto& [name, size] : sizes) {
    if (size == 0 || pool.ranks.count() % size == 0) continue;
    divides = false;
    tell(ErrorKind::NotDivisible,
         pool.at(),
         {counted(pool.ranks.count(), "device") + " of " + pool.name + " for its " + name + " of " +
              std::to_string(size),
          "a multiple of " + std::to_string(size) + " devices",
          "change the devices of " + pool.name + " or its " + name});
  }
  return divides;
}

void ModeChoice::halve_rollout(ModePlan& plan) {
  const std::int64_t devices = rollout_->ranks.count();
  const std::int64_t half = devices / 2;
  const auto least =
      std::lcm(std::int64_t{sizes_.rollout_tensor}, std::int64_t{sizes_.fixed_worker_tensor});
  if (devices % 2 != 0 || half % sizes_.rollout_tensor != 0 ||
      half % sizes_.fixed_worker_tensor != 0) {
    tell(ErrorKind::NotDivisible,
         rollout_->at(),
         {counted(devices, "device") + " of rollout for two halves, of engines of " +
              std::to_string(sizes_.rollout_tensor) + " and " +
              std::to_string(sizes_.fixed_worker_tensor),
          "a number of devices whose half both tensor parallel sizes divide, for example " +
              std::to_string(2 * least),
          "change the devices of rollout, or the sizes of rollout and " +
              std::string(kFixedWorker)});
    return;
  }
  PackingPlan second = *plan.rollout;
  plan.rollout->packing.resources.last -= half;
  second.packing.resources.first += half;
  plan.fixed_worker = second;
  if (sizes_.fixed_worker_tensor == sizes_.rollout_tensor) return;
  warnings_.about(std::string(kFixedWorker))
      .add(ErrorKind::NotDivisible,
           rollout_->at(),
           {"a tensor parallel size of " + std::to_string(sizes_.fixed_worker_tensor) +
                ", and rollout's of " + std::to_string(sizes_.rollout_tensor),
            "equal ones, for it is placed with rollout's",
            "write the same size for both"});
}

}  // namespace orrery::placement
