// trace.perfetto-trace: a run as a trace that ui.perfetto.dev opens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

#include "sim/reports/timeline.hpp"
#include "sim/results/job_table.hpp"

namespace orrery::sim {

/// What a trace may hold.
struct PerfettoLimits {
  /// Slices on devices: a segment is one on each of its devices. Once there are more, whatever
  /// begins later in the run is left out, but for counters.
  std::size_t slices_max = 2'000'000;
};

/// What a trace left out.
struct PerfettoOutcome {
  std::uint64_t segments_left_out = 0;
  Instant left_out_from = Instant::never();  ///< From when on; never where nothing is left out.
};

/// Writes the run in Perfetto's protobuf encoding. Nodes are processes and devices their threads:
/// each segment is a slice on each of its devices, named after the job. What a job shares a device
/// with stands on further tracks of the same node. The process "jobs" has a track for each job, a
/// slice for each phase, an instant for each incident, and an arrow from an incident to the phase
/// with which the job starts anew. The process "cluster" has the counters of jobs that wait and
/// devices that are in use, and instants for faults that struck and plans; "network" has a counter
/// for each link. Conditions of a node other than up are slices on its process.
///
/// Events are in order of time; nothing in them was measured, so equal runs give equal bytes.
/// `fault_names` names the faults of the scenario by index; one beyond it is "fault 17". The
/// timeline is closed.
PerfettoOutcome write_perfetto_trace(std::ostream& out,
                                     const Timeline& timeline,
                                     const JobTable& jobs,
                                     std::span<const std::string> fault_names,
                                     PerfettoLimits limits = {});

}  // namespace orrery::sim
