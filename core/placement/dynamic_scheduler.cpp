#include "core/placement/dynamic_scheduler.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/invariant.hpp"

namespace orrery::placement {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::vector<std::int32_t> valid_actor_sizes(const DynamicSettings& settings) {
  std::vector<std::int32_t> sizes;
  if (settings.groups % settings.minibatches != 0) return sizes;
  const std::int32_t groups = settings.groups / settings.minibatches;
  const std::int64_t most =
      std::min<std::int64_t>(groups, settings.devices() / settings.actor.width);
  for (std::int32_t size = 1; size <= most; ++size)
    if (groups % size == 0) sizes.push_back(size);
  return sizes;
}

DynamicScheduler::DynamicScheduler(const DynamicSettings& settings)
    : settings_(settings), actor_sizes_(valid_actor_sizes(settings)) {
  invariant(settings.rollout.instances > 0, "rollout has an instance");
  actor_instances_ = settings.actor.instances;
  invariant(std::binary_search(actor_sizes_.begin(), actor_sizes_.end(), actor_instances_),
            "the actor begins with a size that it may have");
  const auto append = [this](std::int64_t devices, DeviceOwner owner) {
    owners_.insert(owners_.end(), static_cast<std::size_t>(devices), owner);
  };
  append(settings.actor.devices(),
         settings.pre_process ? DeviceOwner::Rollout : DeviceOwner::Actor);
  append(settings.rollout.devices(), DeviceOwner::Rollout);
  append(settings.inference.devices(), DeviceOwner::Inference);
  rollout_all_ = settings.rollout.instances;
  if (!settings.pre_process) return;
  invariant(settings.actor.devices() % settings.rollout.width == 0,
            "rollout instances fill the actor's devices");
  rollout_all_ += static_cast<std::int32_t>(settings.actor.devices() / settings.rollout.width);
}

bool DynamicScheduler::is_hand_over_due(std::int64_t running) const {
  return 2 * running <= std::int64_t{settings_.groups} * settings_.group_size;
}

std::int32_t DynamicScheduler::hand_over() {
  invariant(settings_.pre_process && rollout_first_ == 0, "rollout has the actor's devices");
  const std::int32_t leaving = rollout_all_ - settings_.rollout.instances;
  end_rollout(leaving, DeviceOwner::Actor);
  return leaving;
}

RolloutDecision DynamicScheduler::rollout(std::int32_t minibatch, std::int64_t running) {
  const std::int32_t live = rollout_live();
  if (live == 0) return {};
  RolloutDecision decision{RolloutAction::Finish, live};
  if (is_last(minibatch) || running == 0) {
    // The last minibatch had all sequences, so nothing runs behind it either.
  } else if (settings_.wait_before_last && is_second_last(minibatch)) {
    decision.action = RolloutAction::WaitForFinish;
  } else {
    decision.leaving = leaving_of(running);
    decision.action = decision.leaving > 0 ? RolloutAction::Migrate : RolloutAction::Keep;
  }
  end_rollout(decision.leaving, DeviceOwner::Free);
  return decision;
}

InferenceAction DynamicScheduler::inference(std::int32_t minibatch, bool done) {
  const std::int64_t devices = count(DeviceOwner::Inference);
  if (devices == 0) return InferenceAction::Keep;
  InferenceAction action = InferenceAction::Keep;
  if (is_last(minibatch)) {
    action = InferenceAction::WaitForFinish;
  } else if (!settings_.wait_before_last) {
    if (done) action = InferenceAction::Release;
  } else if (is_second_last(minibatch) || rollout_live() == 0) {
    action = InferenceAction::WaitForFinish;
  }
  if (action != InferenceAction::Keep) pass_on(DeviceOwner::Inference, DeviceOwner::Free, devices);
  return action;
}

std::int32_t DynamicScheduler::actor(std::int32_t minibatch) {
  if (is_last(minibatch)) {
    // Back to where it began; the higher devices are given back.
    pass_on(DeviceOwner::Actor, DeviceOwner::Free, count(DeviceOwner::Actor));
    pass_on(DeviceOwner::Free, DeviceOwner::Actor, settings_.actor.devices());
    actor_instances_ = settings_.actor.instances;
    return actor_instances_;
  }
  const std::int32_t growth = largest_growth(count(DeviceOwner::Free));
  pass_on(DeviceOwner::Free, DeviceOwner::Actor, std::int64_t{growth} * settings_.actor.width);
  actor_instances_ += growth;
  return actor_instances_;
}

std::int64_t DynamicScheduler::count(DeviceOwner owner) const {
  return std::count(owners_.begin(), owners_.end(), owner);
}

// Instances that the actor gains at most where it gets so many devices more; 0 where no valid size
// is within reach, or it has the largest.
std::int32_t DynamicScheduler::largest_growth(std::int64_t devices) const {
  const std::int64_t reach = actor_instances_ + devices / settings_.actor.width;
  const auto beyond = std::upper_bound(actor_sizes_.begin(), actor_sizes_.end(), reach);
  return *std::prev(beyond) - actor_instances_;
}

// Rollout keeps the instances that what runs fills, one at least, and gives up no more of the
// others than the actor can use.
std::int32_t DynamicScheduler::leaving_of(std::int64_t running) const {
  const std::int32_t live = rollout_live();
  if (live <= 1) return 0;
  const std::int64_t kept = std::min<std::int64_t>(live, divide_up(running, settings_.running_max));
  const std::int64_t most = live - kept;
  const std::int32_t growth = largest_growth(most * settings_.rollout.width);
  return static_cast<std::int32_t>(
      divide_up(std::int64_t{growth} * settings_.actor.width, settings_.rollout.width));
}

void DynamicScheduler::end_rollout(std::int32_t instances, DeviceOwner next) {
  rollout_first_ += instances;
  pass_on(DeviceOwner::Rollout, next, std::int64_t{instances} * settings_.rollout.width);
}

// The lowest of the devices.
void DynamicScheduler::pass_on(DeviceOwner from, DeviceOwner to, std::int64_t devices) {
  for (DeviceOwner& owner : owners_) {
    if (devices == 0) return;
    if (owner != from) continue;
    owner = to;
    --devices;
  }
  invariant(devices == 0, "as many devices are passed on as there are");
}

std::vector<std::vector<PartialGroup>> refill(std::span<const std::int64_t> staying,
                                              std::span<const PartialGroup> groups) {
  invariant(!staying.empty(), "an instance stays");
  std::int64_t running = std::accumulate(staying.begin(), staying.end(), std::int64_t{0});
  for (const PartialGroup& group : groups) running += group.sequences;
  const std::int64_t target = running / static_cast<std::int64_t>(staying.size());
  std::vector<std::vector<PartialGroup>> taken(staying.size());
  std::size_t head = 0;
  for (std::size_t i = 0; i + 1 < staying.size(); ++i) {
    for (std::int64_t own = staying[i]; own < target && head < groups.size(); ++head) {
      taken[i].push_back(groups[head]);
      own += groups[head].sequences;
    }
  }
  taken.back().assign(groups.begin() + static_cast<std::ptrdiff_t>(head), groups.end());
  return taken;
}

}  // namespace orrery::placement
