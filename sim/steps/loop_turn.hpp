// One turn of a reinforcement learning loop as stages of work.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/random.hpp"
#include "scenarios/language/spec/step_spec.hpp"
#include "sim/steps/cycle.hpp"

namespace orrery::sim {

/// The turn that `inputs.work.traffic->loop` describes. Parts that take no time are left out.
Cycle loop_turn(const CycleInputs& inputs, std::uint64_t seed, std::optional<std::uint64_t> turn);

/// Seconds in which a replica generates the next sequence, its length drawn from `random`.
double sequence_seconds(const scenarios::LoopSpec& loop, Random& random);

/// Seconds in which `replicas` generate the sequences of a turn, their lengths drawn from `random`:
/// until the slowest has done its share. Sequence i is of replica i modulo `replicas`, which begins
/// it as soon as one of its slots is free. As many numbers are drawn whatever the replicas.
double generate_seconds(const scenarios::LoopSpec& loop, std::int32_t replicas, Random& random);

/// Mean of `generate_seconds` over a fixed set of turns: as many as make 60,000 sequences, at
/// least 64 and at most 1,024.
double mean_generate_seconds(const scenarios::LoopSpec& loop, std::int32_t replicas);

}  // namespace orrery::sim
