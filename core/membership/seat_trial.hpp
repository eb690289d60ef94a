// Whether a seated job fits beside what a policy has tried already.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cluster/free_index.hpp"
#include "core/state/state.hpp"

namespace orrery {

/// Whether the seated job fits into the trial at `replicas` of its elastic role, all of its other
/// roles included, beside what was tried already. Takes the capacity and appends the nodes of the
/// elastic role to `elastic`, or leaves both as they were. The trial is of the state's capacity.
bool try_seats(const State& state,
               const JobState& job,
               std::int32_t replicas,
               CapacityTrial& trial,
               std::vector<NodeCount>& elastic);

}  // namespace orrery
