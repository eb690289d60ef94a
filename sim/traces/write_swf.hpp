// Writes a trace in the Standard Workload Format.
#pragma once

#include "sim/traces/trace_target.hpp"

namespace orrery::sim {

/// One line a job, numbered from 1, one processor for each device; jobs without a device are left
/// out, for the format has none without a processor. Users, kinds (as queues) and virtual clusters
/// (as partitions) keep their names where all of them are numbers, and are numbered from 1
/// otherwise, with the names in comments.
TraceText write_swf(const Trace& trace);

}  // namespace orrery::sim
