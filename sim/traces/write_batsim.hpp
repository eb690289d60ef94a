// Writes a trace as a workload of Batsim 5.
#pragma once

#include "sim/traces/trace_target.hpp"

namespace orrery::sim {

/// One delay job for each job, one host for each device; as many hosts as the largest job holds.
/// An estimate becomes the walltime, unless the job runs longer: Batsim would kill it there.
TraceText write_batsim(const Trace& trace);

}  // namespace orrery::sim
