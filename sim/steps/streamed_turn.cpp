#include "sim/steps/streamed_turn.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "core/base/invariant.hpp"
#include "sim/steps/loop_turn.hpp"

namespace orrery::sim {
namespace {

using placement::DynamicScheduler;
using placement::DynamicSettings;
using placement::InferenceAction;
using placement::PartialGroup;
using placement::RolloutAction;
using placement::RolloutDecision;
using scenarios::LoopSpec;
using scenarios::StreamScheduler;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// All rollout instances, up to one instant.
class Generation {
 public:
  Generation(const LoopSpec& loop, std::int32_t instances, Random& random)
      : group_size_(loop.stream->group),
        migrate_s_(loop.stream->migrate.in_seconds()),
        groups_left_(static_cast<std::size_t>(loop.sequences / group_size_), group_size_),
        instances_(static_cast<std::size_t>(instances), Instance{loop.concurrent, {}}),
        running_(loop.sequences) {
    for (std::int32_t i = 0; i < loop.sequences; ++i) {
      const std::int32_t instance = i / group_size_ % instances;
      sequences_.push_back({instance, sequence_seconds(loop, random)});
      instance_of(i).waiting.push_back(i);
    }
    for (Instance& instance : instances_) begin_waiting(instance, 0);
  }

  /// Sequences without their end.
  std::int64_t running() const { return running_; }

  /// When the next sequence has its end; `kNever` where none is left.
  double next() const { return ends_.empty() ? kNever : ends_.begin()->first; }

  /// Passes the next end, of which there is one. Returns the end of a group, if it was the last of
  /// one.
  std::optional<double> pass_next() {
    const auto [at, sequence] = *ends_.begin();
    ends_.erase(ends_.begin());
    sequences_[static_cast<std::size_t>(sequence)].ended = true;
    --running_;
    Instance& instance = instance_of(sequence);
    ++instance.free;
    begin_waiting(instance, at);
    if (--groups_left_[static_cast<std::size_t>(sequence / group_size_)] > 0) return std::nullopt;
    return at;
  }

  /// The instances from `first` on, as many as `leaving`, hand all that they have to those behind.
  void migrate(std::int32_t first, std::int32_t leaving, double now) {
    const std::int32_t stay = first + leaving;
    const auto all = static_cast<std::int32_t>(instances_.size());
    std::vector<std::int64_t> staying(static_cast<std::size_t>(all - stay), 0);
    // By instance, of each in the order of groups.
    std::vector<std::vector<PartialGroup>> left(static_cast<std::size_t>(leaving));
    for (std::int32_t g = 0; g < static_cast<std::int32_t>(groups_left_.size()); ++g) {
      const std::int32_t sequences = groups_left_[static_cast<std::size_t>(g)];
      if (sequences == 0) continue;
      const std::int32_t of = sequences_[static_cast<std::size_t>(g * group_size_)].instance;
      if (of >= stay)
        staying[static_cast<std::size_t>(of - stay)] += sequences;
      else
        left[static_cast<std::size_t>(of - first)].push_back({g, sequences});
    }
    std::vector<PartialGroup> groups;
    for (const auto& of_one : left) groups.insert(groups.end(), of_one.begin(), of_one.end());
    suspend(stay, now);
    const auto taken = placement::refill(staying, groups);
    for (std::size_t i = 0; i < taken.size(); ++i)
      for (const PartialGroup& group : taken[i])
        take_in(group.group, stay + static_cast<std::int32_t>(i));
    for (std::int32_t i = stay; i < all; ++i)
      begin_waiting(instances_[static_cast<std::size_t>(i)], now);
  }

 private:
  struct Sequence {
    std::int32_t instance = 0;
    double left_s = 0;  ///< When it begins, or goes on.
    bool ended = false;
  };

  struct Instance {
    std::int32_t free = 0;  ///< Slots.
    std::deque<std::int32_t> waiting;
  };

  Instance& instance_of(std::int32_t sequence) {
    return instances_[static_cast<std::size_t>(
        sequences_[static_cast<std::size_t>(sequence)].instance)];
  }

  void begin_waiting(Instance& instance, double now) {
    for (; instance.free > 0 && !instance.waiting.empty(); --instance.free) {
      const std::int32_t sequence = instance.waiting.front();
      instance.waiting.pop_front();
      ends_.insert({now + sequences_[static_cast<std::size_t>(sequence)].left_s, sequence});
    }
  }

  // What instances before `stay` generate goes on elsewhere with what is left.
  void suspend(std::int32_t stay, double now) {
    for (auto end = ends_.begin(); end != ends_.end();) {
      Sequence& sequence = sequences_[static_cast<std::size_t>(end->second)];
      if (sequence.instance >= stay) {
        ++end;
        continue;
      }
      sequence.left_s = end->first - now + migrate_s_;
      end = ends_.erase(end);
    }
  }

  void take_in(std::int32_t group, std::int32_t instance) {
    for (std::int32_t i = group * group_size_; i < (group + 1) * group_size_; ++i) {
      Sequence& sequence = sequences_[static_cast<std::size_t>(i)];
      sequence.instance = instance;
      if (!sequence.ended) instances_[static_cast<std::size_t>(instance)].waiting.push_back(i);
    }
  }

  std::int32_t group_size_;
  double migrate_s_;
  std::vector<std::int32_t> groups_left_;  // [group]: sequences without their end.
  std::vector<Instance> instances_;
  std::int64_t running_;
  std::vector<Sequence> sequences_;
  std::set<std::pair<double, std::int32_t>> ends_;  // Of sequences that are generated now.
};

/// A turn from rollout to the actor, up to one instant.
class Turn {
 public:
  Turn(const LoopSpec& loop, const StreamedRoles& roles, Random& random)
      : loop_(loop),
        roles_(roles),
        settings_(dynamic_settings(loop, roles)),
        groups_(loop.sequences / loop.stream->group) {
    std::int32_t rollout = roles.rollout.instances;
    if (loop.stream->scheduler == StreamScheduler::Dynamic && may_be_dynamic(settings_)) {
      scheduler_.emplace(settings_);
      rollout = scheduler_->rollout_live();
    }
    generation_.emplace(loop, rollout, random);
    actor_ = roles.actor.instances;
  }

  StreamedTurn run() {
    if (scheduler_ && settings_.pre_process) hand_over();
    const std::int32_t groups = groups_ / settings_.minibatches;
    for (std::int32_t m = 0; m < settings_.minibatches; ++m) {
      train(m * groups, (m + 1) * groups);
      if (scheduler_) decide(m);
    }
    turn_.seconds = now_;
    return std::move(turn_);
  }

 private:
  // The scheduler looks once a second.
  void hand_over() {
    while (!scheduler_->is_hand_over_due(generation_->running())) pass_next();
    pass_to(std::ceil(generated_s()));
    const RolloutDecision leave{RolloutAction::Migrate, scheduler_->hand_over()};
    migrate(leave.leaving);
    turn_.decisions.push_back({now_, -1, leave, InferenceAction::Keep, actor_});
  }

  // Groups by the order in which they come.
  void train(std::int32_t first, std::int32_t end) {
    const double group_s =
        roles_.train_s / groups_ * roles_.actor.instances / static_cast<double>(actor_);
    for (std::int32_t g = first; g < end; ++g) {
      while (static_cast<std::size_t>(g) >= arrivals_.size()) pass_next();
      now_ = std::max(now_, arrivals_[static_cast<std::size_t>(g)]) + group_s;
    }
  }

  void decide(std::int32_t minibatch) {
    pass_to(now_);
    TurnDecision decision;
    decision.at = now_;
    decision.minibatch = minibatch;
    decision.rollout = scheduler_->rollout(minibatch, generation_->running());
    if (decision.rollout.action == RolloutAction::Migrate) migrate(decision.rollout.leaving);
    if (decision.rollout.action == RolloutAction::WaitForFinish) wait_for_generation();
    const bool all_seen = generation_->running() == 0 && inferred_ <= now_;
    decision.inference = scheduler_->inference(minibatch, all_seen);
    if (decision.inference == InferenceAction::WaitForFinish) {
      wait_for_generation();
      now_ = std::max(now_, inferred_);
    }
    decision.actor = scheduler_->actor(minibatch);
    if (decision.actor != actor_) now_ += loop_.stream->resize.in_seconds();
    actor_ = decision.actor;
    turn_.decisions.push_back(decision);
  }

  // After the scheduler's decision.
  void migrate(std::int32_t leaving) {
    generation_->migrate(scheduler_->rollout_first() - leaving, leaving, now_);
  }

  void wait_for_generation() {
    while (generation_->running() > 0) pass_next();
    now_ = std::max(now_, generated_s());
  }

  void pass_to(double now) {
    while (generation_->next() <= now) pass_next();
    now_ = now;
  }

  void pass_next() {
    turn_.generated_s = generation_->next();
    const std::optional<double> group = generation_->pass_next();
    if (!group) return;
    if (roles_.inference.instances > 0)
      inferred_ = std::max(inferred_, *group) + roles_.inference_s / groups_;
    else
      inferred_ = *group;
    arrivals_.push_back(inferred_);
  }

  // Of what is generated up to now.
  double generated_s() const { return turn_.generated_s; }

  const LoopSpec& loop_;
  const StreamedRoles& roles_;
  DynamicSettings settings_;
  std::int32_t groups_;
  std::optional<DynamicScheduler> scheduler_;
  std::optional<Generation> generation_;
  std::vector<double> arrivals_;  // Of groups at the actor.
  double inferred_ = 0;           // The last of them.
  std::int32_t actor_ = 1;        // Its instances.
  double now_ = 0;                // Where the actor is.
  StreamedTurn turn_;
};

}  // namespace

bool may_be_dynamic(const DynamicSettings& settings) {
  const auto sizes = placement::valid_actor_sizes(settings);
  return std::binary_search(sizes.begin(), sizes.end(), settings.actor.instances) &&
         (!settings.pre_process || settings.actor.devices() % settings.rollout.width == 0);
}

DynamicSettings dynamic_settings(const LoopSpec& loop, const StreamedRoles& roles) {
  DynamicSettings settings;
  settings.actor = roles.actor;
  settings.rollout = roles.rollout;
  settings.inference = roles.inference;
  settings.groups = loop.sequences / loop.stream->group;
  settings.group_size = loop.stream->group;
  settings.minibatches = loop.stream->minibatches;
  settings.running_max = loop.concurrent;
  settings.pre_process = loop.stream->pre_process;
  settings.wait_before_last = loop.stream->wait_before_last;
  return settings;
}

StreamedTurn streamed_turn(const LoopSpec& loop, const StreamedRoles& roles, Random& random) {
  invariant(loop.stream.has_value(), "the parts of the loop go on at once");
  return Turn(loop, roles, random).run();
}

}  // namespace orrery::sim
