#include "sim/steps/cycle.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"
#include "sim/steps/loop_turn.hpp"
#include "sim/steps/program_round.hpp"
#include "sim/steps/training_step.hpp"

namespace orrery::sim {
namespace {

constexpr double kInstant = 1e-9;  // What a turn takes at least, in seconds.

// Work that sends nothing while it goes on: a second of it.
Cycle plain_second(const CycleInputs& inputs) {
  std::int32_t replicas = 0;
  const RoleIndex role = elastic_role(inputs.spec);
  for (const GangMember& member : inputs.gang)
    if (member.role == role) ++replicas;
  Stage stage;
  stage.compute_s = 1;
  return {{stage}, scenarios::rate_of(inputs.work, std::max(1, replicas))};
}

}  // namespace

Cycle cycle_of(const CycleInputs& inputs, std::uint64_t seed, std::optional<std::uint64_t> turn) {
  invariant(!inputs.gang.empty(), "a cycle has workers");
  if (!has_traffic(inputs.work)) return plain_second(inputs);
  const scenarios::TrafficSpec& traffic = *inputs.work.traffic;
  if (!traffic.programs.empty()) return program_round(inputs);
  if (traffic.loop.sequences > 0) return loop_turn(inputs, seed, turn);
  if (traffic.step.units > 0) return training_step(inputs);
  return plain_second(inputs);
}

bool is_random(const scenarios::WorkSpec& work) {
  return has_traffic(work) && work.traffic->programs.empty() && work.traffic->loop.sequences > 0 &&
         work.traffic->loop.length_sigma > 0;
}

double alone_seconds(const Cycle& cycle, const Fabric& fabric) {
  double seconds = 0;
  for (const Stage& stage : cycle.stages) seconds += stage.steps * fabric.step_alone_s(stage);
  return seconds;
}

double alone_rate(const Cycle& cycle, const Fabric& fabric) {
  return cycle.units / std::max(kInstant, alone_seconds(cycle, fabric));
}

}  // namespace orrery::sim
