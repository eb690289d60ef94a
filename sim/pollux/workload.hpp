// Reader of the Pollux workloads (OSDI 2021 artifact, `workloads/workload-N.csv`).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "sim/pollux/profiles.hpp"

namespace orrery::sim {

/// One job of a workload file.
struct PolluxSubmission {
  std::string name;
  Instant submitted_at;  ///< Whole seconds from the start.
  std::string application;
  int replicas = 0;     ///< GPUs that a rigid policy gives.
  int total_batch = 0;  ///< Examples of an iteration.
};

/// Reads `file` (columns name, time, application, num_replicas, batch_size) in its own order.
/// Names are unique, applications are in `profiles`, batches within their limits. Every broken line
/// is reported, with its number.
Result<std::vector<PolluxSubmission>> read_pollux_workload(const std::filesystem::path& file,
                                                           const PolluxProfiles& profiles);

}  // namespace orrery::sim
