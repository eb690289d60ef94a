// How many replicas a job has under policies that do not size it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/plan/cluster_view.hpp"

namespace orrery::policies {

/// Replicas of the elastic role within what the job's user has asked for since.
inline std::int32_t rigid_size(const JobView& job) {
  return std::clamp(rigid_replicas(job.spec), job.row.min_replicas, job.row.max_replicas);
}

/// Replicas of the elastic role that the job has, or starts with.
inline std::int32_t size_of(const JobView& job) {
  return job.row.holds ? job.row.replicas : rigid_size(job);
}

}  // namespace orrery::policies
