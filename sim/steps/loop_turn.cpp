#include "sim/steps/loop_turn.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "core/base/math.hpp"
#include "sim/steps/gang.hpp"
#include "sim/steps/loop_stages.hpp"
#include "sim/steps/streamed_turn.hpp"

namespace orrery::sim {
namespace {

using scenarios::LoopSpec;

constexpr std::int64_t kMeanSequences = 60'000;
constexpr std::int64_t kMeanTurnsMin = 64;
constexpr std::int64_t kMeanTurnsMax = 1'024;
constexpr std::uint64_t kMeanSeed = 1;

Random lengths_of_turn(std::uint64_t seed, std::uint64_t turn) {
  return Random::stream(seed, "steps.lengths." + std::to_string(turn));
}

// When the slots of one replica have generated its sequences, handed out in their order.
class Replica {
 public:
  explicit Replica(std::int32_t slots) : slots_(static_cast<std::size_t>(slots)) {}

  void generate(double seconds) {
    double begin = 0;
    if (busy_until_.size() == slots_) {
      begin = busy_until_.top();
      busy_until_.pop();
    }
    busy_until_.push(begin + seconds);
    end_ = std::max(end_, begin + seconds);
  }

  double end() const { return end_; }

 private:
  std::size_t slots_;
  std::priority_queue<double, std::vector<double>, std::greater<>> busy_until_;
  double end_ = 0;
};

// The workers of a role, and how much faster they are than the fewest.
struct RoleShare {
  std::vector<GangMember> members;
  double speed = 1;
};

RoleShare role_of(const CycleInputs& inputs, const std::string& name) {
  RoleShare share;
  const auto& roles = inputs.spec.roles;
  for (std::size_t r = 0; r < roles.size(); ++r) {
    if (roles[r].name != name) continue;
    share.members = members_of(inputs.gang, RoleIndex{static_cast<std::uint16_t>(r)});
    share.speed = std::max<double>(1, static_cast<double>(share.members.size())) /
                  std::max(1, roles[r].min_replicas);
  }
  return share;
}

Stage compute_stage(double seconds) {
  Stage stage;
  stage.compute_s = seconds;
  stage.paced = false;
  return stage;
}

// All replicas of a role, and what it holds for each.
placement::ComponentSize size_of(const CycleInputs& inputs, const RoleShare& share) {
  placement::ComponentSize size;
  size.instances = static_cast<std::int32_t>(share.members.size());
  if (!share.members.empty())
    size.width = std::max(1, inputs.spec.roles[share.members.front().role.index()].bundle.devices);
  return size;
}

StreamedRoles streamed_roles(const CycleInputs& inputs,
                             const LoopSpec& loop,
                             const RoleShare& trainers,
                             const RoleShare& generators) {
  const RoleShare inference = role_of(inputs, loop.inference_role);
  StreamedRoles roles;
  roles.actor = size_of(inputs, trainers);
  roles.rollout = size_of(inputs, generators);
  roles.inference = size_of(inputs, inference);
  for (placement::ComponentSize* needed : {&roles.actor, &roles.rollout})
    needed->instances = std::max(1, needed->instances);
  roles.train_s = loop.train.in_seconds() / trainers.speed;
  roles.inference_s = loop.inference.in_seconds() / inference.speed;
  return roles;
}

// The mean of what `seconds` finds for a fixed set of turns.
template <class Seconds>
double mean_of_turns(const LoopSpec& loop, Seconds seconds) {
  const std::int64_t turns =
      loop.length_sigma == 0
          ? 1
          : std::clamp(kMeanSequences / loop.sequences, kMeanTurnsMin, kMeanTurnsMax);
  double sum = 0;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    Random random = lengths_of_turn(kMeanSeed, static_cast<std::uint64_t>(turn));
    sum += seconds(random);
  }
  return sum / static_cast<double>(turns);
}

}  // namespace

double sequence_seconds(const LoopSpec& loop, Random& random) {
  const double drawn = loop.length_median * math::exp(loop.length_sigma * random.normal());
  return std::min(drawn, loop.length_max) / loop.tokens_per_second;
}

double generate_seconds(const LoopSpec& loop, std::int32_t replicas, Random& random) {
  std::vector<Replica> all(static_cast<std::size_t>(std::max(1, replicas)),
                           Replica(loop.concurrent));
  double end = 0;
  for (std::int32_t i = 0; i < loop.sequences; ++i) {
    Replica& replica = all[static_cast<std::size_t>(i) % all.size()];
    replica.generate(sequence_seconds(loop, random));
    end = std::max(end, replica.end());
  }
  return end;
}

double mean_generate_seconds(const LoopSpec& loop, std::int32_t replicas) {
  return mean_of_turns(loop,
                       [&](Random& random) { return generate_seconds(loop, replicas, random); });
}

Cycle loop_turn(const CycleInputs& inputs, std::uint64_t seed, std::optional<std::uint64_t> turn) {
  const LoopSpec& loop = inputs.work.traffic->loop;
  const RoleShare generators = role_of(inputs, loop.generate_role);
  const RoleShare trainers = role_of(inputs, loop.train_role);
  std::optional<Random> drawn;
  if (turn) drawn = lengths_of_turn(seed, *turn);
  Cycle cycle;
  const auto add = [&cycle](Stage stage) {
    if (stage.compute_s > 0 || stage.local_exchange_s > 0 || !stage.exchanges.empty())
      cycle.stages.push_back(std::move(stage));
  };
  const std::vector<NodeDevices> training = nodes_of(trainers.members);
  Stage train = loop_train_stage(loop, inputs.network, training, trainers.speed);
  if (loop.stream) {
    const StreamedRoles roles = streamed_roles(inputs, loop, trainers, generators);
    const auto seconds = [&](Random& random) { return streamed_turn(loop, roles, random).seconds; };
    train.compute_s = drawn ? seconds(*drawn) : mean_of_turns(loop, seconds);
  } else {
    const auto replicas = static_cast<std::int32_t>(generators.members.size());
    cycle.stages.push_back(compute_stage(drawn ? generate_seconds(loop, replicas, *drawn)
                                               : mean_generate_seconds(loop, replicas)));
    add(compute_stage(loop.reward.in_seconds() / role_of(inputs, loop.reward_role).speed));
    add(compute_stage(loop.inference.in_seconds() / role_of(inputs, loop.inference_role).speed));
  }
  add(std::move(train));
  add(loop_weights_stage(
      loop, without_counts(training), without_counts(nodes_of(generators.members))));
  return cycle;
}

}  // namespace orrery::sim
