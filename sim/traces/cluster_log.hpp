// What the job logs of Helios and Acme have in common: one row a job, as Slurm accounts for it.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// How the times of such a log are written.
enum class ClusterLogTimes {
  ChinaWallClock,  ///< `YYYY-MM-DD HH:MM:SS` of UTC+8.
  WithOffset,      ///< The same with an offset behind it.
};

/// Reads a log; see helios.hpp and acme.hpp for the columns. `format` is its name in the report.
Result<Trace> parse_cluster_log(std::string_view text,
                                std::string_view file_name,
                                std::string_view format,
                                ClusterLogTimes times,
                                const TraceOptions& options);

}  // namespace orrery::sim
