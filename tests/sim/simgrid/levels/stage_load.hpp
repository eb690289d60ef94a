// Random stages that come to a small cluster, and how long each takes on a fabric.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.hpp"
#include "scenarios/language/spec/network_spec.hpp"
#include "sim/fabric/fabric.hpp"

namespace orrery::sim::test {

/// What is drawn.
struct StageLoad {
  scenarios::NetworkSpec network;
  std::int32_t nodes = 16;   ///< At least 8.
  int jobs = 12;             ///< Each of 2 to 8 nodes of its own or shared, in three stages.
  double steps_max = 600;    ///< Of half a second each, a stage; at least a sixth of it.
  double rate_max = 0.5;     ///< Bytes a second of a job's node at most, of its link.
  bool scattered = false;    ///< Nodes at random; else neighbours.
  bool checkpoints = false;  ///< One stage of each job writes to the storage at full speed.
};

/// The stages of each job of `load`.
std::vector<std::vector<Stage>> draw_jobs(const StageLoad& load, std::uint64_t seed);

/// Seconds of each stage, job by job: a job's stages follow each other, jobs begin from `now` on at
/// equal distances of `spacing_s`. Afterwards `now` is when the last stage was done.
std::vector<double> stage_times(Fabric& fabric,
                                const std::vector<std::vector<Stage>>& jobs,
                                double spacing_s,
                                Instant& now);

}  // namespace orrery::sim::test
