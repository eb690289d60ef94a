// Reader of the job logs of SenseTime's Helios clusters.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"
#include "sim/traces/trace_reader.hpp"

namespace orrery::sim {

/// Whether `text` begins with the columns of such a log.
bool looks_like_helios(std::string_view text);

/// Reads a `cluster_log.csv`, whose first line names the columns, in any order:
///
///     job_id, user, vc                    texts
///     gpu_num, cpu_num, node_num          of the whole job; node_num is `instances`
///     state                               COMPLETED, CANCELLED, FAILED, TIMEOUT, NODE_FAIL; any
///                                         other is Unknown
///     submit_time, start_time, end_time   wall clock of UTC+8, `YYYY-MM-DD HH:MM:SS`
///     duration, queue                     optional; the three times count where they differ
///
/// A job without start is dropped, one with a start and no end is censored.
Result<Trace> parse_helios(std::string_view text,
                           std::string_view file_name,
                           const TraceOptions& options = {});

template <>
struct TraceReader<"helios"> : ReadsAlone<looks_like_helios, parse_helios> {};

}  // namespace orrery::sim
