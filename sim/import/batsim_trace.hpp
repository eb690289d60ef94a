// A Batsim workload as a trace: what it holds, and what other forms can take of it.
#pragma once

#include "core/base/result.hpp"
#include "sim/import/batsim_file.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// The jobs of `file` that last a fixed time: those with a delay profile, or a sequence of such
/// ones. A host is a device, a walltime an estimate. Other jobs are counted as dropped, for how
/// long they run depends on a platform.
Result<Trace> batsim_trace(const BatsimFile& file, const TraceOptions& options = {});

}  // namespace orrery::sim
