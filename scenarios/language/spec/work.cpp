#include "scenarios/language/spec/work.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"
#include "core/base/math.hpp"

namespace orrery::scenarios {
namespace {

double table_value(const std::vector<ScalingPoint>& table, std::int32_t replicas) {
  invariant(!table.empty(), "a scaling table has at least one point");
  if (replicas <= table.front().replicas) return table.front().throughput;
  for (std::size_t i = 1; i < table.size(); ++i) {
    const ScalingPoint& low = table[i - 1];
    const ScalingPoint& high = table[i];
    if (replicas > high.replicas) continue;
    const double part =
        static_cast<double>(replicas - low.replicas) / (high.replicas - low.replicas);
    return low.throughput + part * (high.throughput - low.throughput);
  }
  return table.back().throughput;
}

}  // namespace

double speedup(const WorkSpec& work, std::int32_t replicas) {
  switch (work.scaling) {
    case ScalingKind::Linear:
      return replicas;
    case ScalingKind::Amdahl:
      return 1.0 / (work.serial + (1.0 - work.serial) / replicas);
    case ScalingKind::Table:
      return table_value(work.table.items(), replicas);
  }
  invariant(false, "every kind of scaling is handled");
  return 0;
}

double rate_of(const WorkSpec& work, std::int32_t replicas) {
  if (replicas <= 0) return 0;
  return work.base_rate * (speedup(work, replicas) / speedup(work, work.base_replicas));
}

WorkPhase phase_at(const WorkSpec& work, double done) {
  if (work.phases == nullptr) return {work.units, 1};
  const double reached = done + work.units * 1e-9;
  const auto next = std::upper_bound(
      work.phases->begin(), work.phases->end(), reached, [](double units, const WorkPhase& phase) {
        return units < phase.until;
      });
  const WorkPhase& phase = next == work.phases->end() ? work.phases->back() : *next;
  return {std::min(phase.until, work.units), phase.speed};
}

double level_units_left(const WorkSpec& work, double done) {
  if (work.phases == nullptr) return work.units - done;
  double level = 0;
  for (double at = done; at < work.units;) {
    const WorkPhase phase = phase_at(work, at);
    const double until = phase.until > at ? phase.until : work.units;
    level += (until - at) / phase.speed;
    at = until;
  }
  return level;
}

double rough_turn_s(const LoopSpec& loop, const JobSpec& spec) {
  if (loop.sequences <= 0 || loop.tokens_per_second <= 0) return 0;
  double slots = loop.concurrent;
  for (const RoleSpec& role : spec.roles)
    if (role.name == loop.generate_role) slots *= role.min_replicas;
  // The mean of a lognormal, which the cut only lowers.
  const double mean = loop.length_median * math::exp(loop.length_sigma * loop.length_sigma / 2);
  const double length = std::min(mean, loop.length_max);
  return length / loop.tokens_per_second * std::max(1.0, loop.sequences / slots) +
         loop.reward.in_seconds() + loop.inference.in_seconds() + loop.train.in_seconds();
}

Duration run_time(const WorkSpec& work, std::int32_t replicas) {
  const double rate = rate_of(work, replicas);
  if (work.units <= 0 || rate <= 0) return Duration::forever();
  return Duration::from_seconds(level_units_left(work, 0) / rate);
}

}  // namespace orrery::scenarios
