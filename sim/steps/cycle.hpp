// How a job's work becomes stages on the nodes that it has: the workload models with communication.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.hpp"
#include "core/job/spec.hpp"
#include "scenarios/language/spec/network_spec.hpp"
#include "scenarios/language/spec/work.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/fabric/stage.hpp"

namespace orrery::sim {

/// One worker that works.
struct GangMember {
  RoleIndex role;
  std::int32_t local_rank = 0;
  NodeId node;
  std::int32_t devices = 0;
};

/// What a cycle depends on besides the work itself. All outlive the call.
struct CycleInputs {
  const JobSpec& spec;
  const scenarios::WorkSpec& work;
  const std::vector<GangMember>& gang;  ///< By rank, at least one.
  const scenarios::NetworkSpec& network;
  /// Speed of each member's node by `Fabric::node_flops`, by rank; empty, or 0: not known. Only
  /// programs look at it.
  std::vector<double> flops;
};

/// Stages one after the other, over and over. One turn does `units` of the job's work.
struct Cycle {
  std::vector<Stage> stages;  ///< At least one.
  double units = 1;           ///< Above 0.
};

/// The cycle of these workers. Turn by turn lengths are drawn from `seed` and `turn` where the
/// model is random (`is_random`); without a turn their mean is taken. Each stage of one step.
///
/// A step is of the members of the job's elastic role alone, at least one of which is expected; a
/// loop's parts are of their roles; programs are of all members.
Cycle cycle_of(const CycleInputs& inputs, std::uint64_t seed, std::optional<std::uint64_t> turn);

/// Whether turns of the same workers differ. The mean of such turns takes some milliseconds to
/// find, so a caller that needs it often keeps it.
bool is_random(const scenarios::WorkSpec& work);

/// What a checkpoint of the job sends: each node its part, by its devices, to the storage, or back
/// for a restore. Of a loop only the training role saves. No transfers where the job declares no
/// size.
Stage checkpoint_stage(const CycleInputs& inputs, bool restore);

/// Seconds of one turn when no other job uses the network.
double alone_seconds(const Cycle& cycle, const Fabric& fabric);

/// Units per second when no other job uses the network; a turn counts as a nanosecond at least.
double alone_rate(const Cycle& cycle, const Fabric& fabric);

/// Whether a job of this work has stages at all: it sends something.
inline bool has_traffic(const scenarios::WorkSpec& work) { return work.traffic != nullptr; }

}  // namespace orrery::sim
