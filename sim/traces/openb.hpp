// Reader of the task lists of Alibaba's GPU-sharing cluster of 2023 ("openb").
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"
#include "sim/traces/trace_reader.hpp"

namespace orrery::sim {

/// Whether `text` begins with the columns of a task list.
bool looks_like_openb(std::string_view text);

/// Reads a CSV file whose first line names the columns, in any order:
///
///     name                            of the task
///     cpu_milli, memory_mib           asked in all
///     num_gpu                         0 to 1,000,000
///     gpu_milli                       thousandths of each GPU, 0 to 1000; below 1000 with one GPU
///     gpu_spec                        accepted models, joined by "|"; empty: any
///     qos                             `kind`
///     pod_phase                       Running, Failed, Pending, Succeeded
///     creation_time, deletion_time, scheduled_time     seconds since the trace's zero
///
/// The columns after gpu_milli may be missing, all of them: such a list has no times, and its tasks
/// enter at zero and are censored. A task never scheduled is dropped. One that runs when the trace
/// ends (Running, and deleted at the last time of the file) is censored.
Result<Trace> parse_openb(std::string_view text,
                          std::string_view file_name,
                          const TraceOptions& options = {});

template <>
struct TraceReader<"openb"> : ReadsAlone<looks_like_openb, parse_openb> {};

}  // namespace orrery::sim
