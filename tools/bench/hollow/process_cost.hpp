// What a process has cost so far, as the system tells it under /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace orrery::bench {

struct ProcessCost {
  double cpu_s = 0;             ///< In user and system mode, all threads.
  std::int64_t resident_b = 0;  ///< Memory that is in use now.
  int threads = 0;
};

/// None where there is no such process, or it may not be looked at.
std::optional<ProcessCost> cost_of(pid_t process);

}  // namespace orrery::bench
