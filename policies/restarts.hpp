// How often a job has been started again.
#pragma once

#include <cstdint>

#include "core/job/row.hpp"

namespace orrery::policies {

/// Starts after the first one, for whatever reason: resized, preempted, failed.
inline std::int64_t restarts_of(const JobRow& row) {
  return row.generation.value > 0 ? static_cast<std::int64_t>(row.generation.value) - 1 : 0;
}

}  // namespace orrery::policies
