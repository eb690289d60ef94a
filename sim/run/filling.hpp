// Which jobs of a trace come when they are to fill a cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// Indices into `jobs` in the order of their coming: all of them by name, shuffled, then further
/// ones drawn from all until the next would pass `fill` times `devices` (a job of several devices
/// counts as one there), or as many left out at random as are too many. This is how the experiments
/// of Weng et al., USENIX ATC 2023, come to their arrivals.
std::vector<std::size_t> filling_order(std::span<const TraceJob> jobs,
                                       double fill,
                                       std::int64_t devices,
                                       Random random);

}  // namespace orrery::sim
