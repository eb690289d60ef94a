// One turn of a reinforcement learning loop whose parts go on at once.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/random.hpp"
#include "core/placement/dynamic_scheduler.hpp"
#include "scenarios/language/spec/step_spec.hpp"

namespace orrery::sim {

/// Who works on a turn.
struct StreamedRoles {
  placement::ComponentSize actor;      ///< That trains, at least one instance.
  placement::ComponentSize rollout;    ///< That generates, at least one instance.
  placement::ComponentSize inference;  ///< No instance where the loop has no such part.
  double train_s = 0;                  ///< The actor's compute of a turn, with `actor`.
  double inference_s = 0;              ///< Of all sequences of a turn, with `inference`.
};

/// What was decided after a minibatch.
struct TurnDecision {
  double at = 0;               ///< Seconds into the turn.
  std::int32_t minibatch = 0;  ///< -1: the actor has got its devices from rollout.
  placement::RolloutDecision rollout;
  placement::InferenceAction inference = placement::InferenceAction::Keep;
  std::int32_t actor = 0;  ///< Its instances from now on.
};

/// How a turn went.
struct StreamedTurn {
  double seconds = 0;
  double generated_s = 0;               ///< The last sequence had its end.
  std::vector<TurnDecision> decisions;  ///< None where nothing schedules.
};

/// The turn of `loop`, whose `stream` is there, with lengths drawn from `random`; as many numbers
/// are drawn whatever the roles.
///
/// Group i is of rollout instance i modulo their number, which begins its sequences in order as
/// slots are free. Inference and training take groups as they come, one after the other. Where the
/// dynamic scheduler cannot have roles of such sizes nothing schedules.
StreamedTurn streamed_turn(const scenarios::LoopSpec& loop,
                           const StreamedRoles& roles,
                           Random& random);

/// Whether the dynamic scheduler can have roles of such sizes.
bool may_be_dynamic(const placement::DynamicSettings& settings);

/// What the dynamic scheduler is to know of a loop, whose `stream` is there.
placement::DynamicSettings dynamic_settings(const scenarios::LoopSpec& loop,
                                            const StreamedRoles& roles);

}  // namespace orrery::sim
