// Reader of Shanghai AI Lab's Acme traces, of both clusters.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"
#include "sim/traces/trace_reader.hpp"

namespace orrery::sim {

/// Whether `text` begins with the columns of such a trace.
bool looks_like_acme(std::string_view text);

/// Reads `trace_seren.csv` or `trace_kalos.csv`, whose first line names the columns, in any order:
///
///     job_id, user                        texts
///     node_num, gpu_num, cpu_num          of the whole job; node_num is `instances`
///     mem_per_pod_GB                      Kalos only: per node
///     type                                `kind`
///     state                               as in Helios; RUNNING is Unknown
///     submit_time, start_time, end_time   with their offset, `2023-05-17 11:00:58+00:00`
///     duration                            optional; compared, not used: Kalos counts from the
///                                         submission, and both are known from the times
///
/// A job without start is dropped, one with a start and no end is censored.
Result<Trace> parse_acme(std::string_view text,
                         std::string_view file_name,
                         const TraceOptions& options = {});

template <>
struct TraceReader<"acme"> : ReadsAlone<looks_like_acme, parse_acme> {};

}  // namespace orrery::sim
