// How much work a modelled job has and how fast so many replicas do it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/shared_list.hpp"
#include "core/base/units.hpp"
#include "core/job/spec.hpp"
#include "scenarios/language/spec/step_spec.hpp"

namespace orrery::scenarios {

/// How throughput grows with the replicas of the job's elastic role.
enum class ScalingKind : std::uint8_t {
  Linear,  ///< n replicas are n times as fast as one.
  Amdahl,  ///< A serial part does not get faster: 1 / (serial + (1 - serial) / n).
  Table,   ///< Measured points, linear between them, flat outside.
};

/// One measured point: so many replicas, relative throughput.
struct ScalingPoint {
  std::int32_t replicas = 1;  ///< At least 1, strictly rising along the table.
  double throughput = 1;      ///< Above 0.
};

/// A stretch of a job's work with a speed of its own.
struct WorkPhase {
  double until = 0;  ///< Units done at its end; above those of the phase before.
  double speed = 1;  ///< Of the rate that the job would have without phases, above 0.
};

/// Work and speed of one job. Its unit is the job's own (seconds, samples, steps).
struct WorkSpec {
  double units = 0;      ///< Above 0; 0: the job has no modelled work and ends by its workers.
  double base_rate = 1;  ///< Units per second with `base_replicas`, above 0.
  std::int32_t base_replicas = 1;
  ScalingKind scaling = ScalingKind::Linear;
  /// Said for one model of device, so on others it goes on by `DeviceModel::speed`.
  bool follows_model = false;
  double serial = 0;                           ///< Amdahl: the serial part, 0 to 1.
  SharedList<ScalingPoint> table;              ///< Table: at least one point.
  std::shared_ptr<const TrafficSpec> traffic;  ///< What it sends; null: nothing.
  /// One after the other, the last until the end of the work; null: one speed throughout.
  std::shared_ptr<const std::vector<WorkPhase>> phases;
};

/// Throughput of `replicas` relative to one replica (Table: in the table's own unit).
/// `replicas` is at least 1.
double speedup(const WorkSpec& work, std::int32_t replicas);

/// Units per second with `replicas` of the elastic role; 0 with none. Phases are not counted.
double rate_of(const WorkSpec& work, std::int32_t replicas);

/// The phase in which work goes on with `done` units; one of speed 1 until all units without
/// phases. What lacks less than a billionth of the units to a phase's end is at its end.
WorkPhase phase_at(const WorkSpec& work, double done);

/// Units that would take as long, at speed 1, as those after `done` take with their phases.
double level_units_left(const WorkSpec& work, double done);

/// Time for all the work with a constant number of replicas; `forever` without work or replicas.
Duration run_time(const WorkSpec& work, std::int32_t replicas);

/// Seconds of one turn of the loop with the fewest replicas, roughly: all slots generate all the
/// time, and nothing is sent. For estimates; sim/steps knows better. 0 where the loop says nothing.
double rough_turn_s(const LoopSpec& loop, const JobSpec& spec);

}  // namespace orrery::scenarios

namespace orrery {

template <>
struct EnumNames<scenarios::ScalingKind> {
  static constexpr std::array kNames{"linear", "amdahl", "table"};
};

}  // namespace orrery
