// What each process of a role has on its node, as the entries that a job says it in.
#pragma once

#include <cstdint>
#include <vector>

#include "core/job/spec.hpp"

namespace orrery {

/// What one process has.
struct ProcessProgram {
  std::int32_t node = 0;  ///< Number in the cluster.
  std::int32_t rank = 0;  ///< Inside the role.
  NodeProgram program;    ///< Its nodes and ranks are not looked at.
};

/// Entries that say the same, few of them: for nodes where all processes have the same, without
/// ranks; for the others, with ranks. None for what has nothing. Ascending by first node and rank.
std::vector<NodeProgram> joined_programs(const std::vector<ProcessProgram>& processes);

}  // namespace orrery
