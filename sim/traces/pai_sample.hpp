// Reader of the job samples of Alibaba PAI's simulator.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"
#include "sim/traces/trace_reader.hpp"

namespace orrery::sim {

/// Whether `text` begins with the columns of such a sample.
bool looks_like_pai_sample(std::string_view text);

/// Reads a CSV file whose first line names the columns, in any order:
///
///     job_id, user                texts
///     num_gpu, num_cpu            of one instance, may be fractions; blank: 0
///     num_inst                    optional; blank: 1
///     submit_time                 seconds; blank: 1
///     duration                    seconds; zero and less: taken as one second
///     gpu_type                    optional; the model, CPU: none
///     wait_time                   optional; `waited`
///     group_gpu_dur, group_dur, user_gpu_dur, user_dur     optional estimates, seconds; the first
///                                                          that is there is `estimate`
Result<Trace> parse_pai_sample(std::string_view text,
                               std::string_view file_name,
                               const TraceOptions& options = {});

template <>
struct TraceReader<"pai-sample"> : ReadsAlone<looks_like_pai_sample, parse_pai_sample> {};

}  // namespace orrery::sim
