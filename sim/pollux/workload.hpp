// Reader of the Pollux workloads (OSDI 2021 artifact, `workloads/workload-N.csv`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "sim/pollux/profiles.hpp"

namespace orrery::sim {

/// What a scheduler may change of a job, as Sia's traces say it.
enum class Adaptivity : std::uint8_t {
  Adaptive,   ///< Replicas and batch.
  ScaleOnly,  ///< Replicas, up to those asked for; the batch stays.
  Rigid,      ///< Nothing.
};

/// One job of a workload file.
struct PolluxSubmission {
  std::string name;
  Instant submitted_at;  ///< Whole seconds from the start.
  std::string application;
  int replicas = 0;     ///< GPUs that a rigid policy gives.
  int total_batch = 0;  ///< Examples of an iteration.
  Adaptivity adaptivity = Adaptivity::Adaptive;
};

/// Reads `file` (columns name, time, application, num_replicas, batch_size, and a sixth one of
/// Sia's traces, category) in its own order. Names are unique, applications are in `profiles`,
/// batches within their limits. Every broken line is reported, with its number.
Result<std::vector<PolluxSubmission>> read_pollux_workload(const std::filesystem::path& file,
                                                           const PolluxProfiles& profiles);

}  // namespace orrery::sim
