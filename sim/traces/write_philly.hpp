// Writes a trace in the form of the Philly extract.
#pragma once

#include "sim/traces/trace_target.hpp"

namespace orrery::sim {

/// One line a job: wall clock of US Pacific time, duration, GPUs, GPU time, virtual cluster. A
/// trace whose zero is before 1990 has no date of its own and begins on 2 October 2017.
TraceText write_philly(const Trace& trace);

}  // namespace orrery::sim
