// Orrery's own form of a trace, which holds all that a reader finds out.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"
#include "sim/traces/trace_reader.hpp"

namespace orrery::sim {

/// Whether `text` begins with the columns of the form.
bool looks_like_orrery_csv(std::string_view text);

/// Reads a CSV file whose first line names the columns, in any order:
///
///     name            of the job, needed
///     submit_s        seconds since the Unix epoch, to the nanosecond; needed
///     duration_s      seconds, needed
///     gpus            devices, a part of one counted as one; needed
///     gpu_milli       thousandths of GPUs over all instances; empty: 1000 x gpus
///     instances       equal parts; empty: 1
///     cpu_milli       thousandths of cores over all instances; empty: unknown
///     memory_mib      over all instances; empty: unknown
///     models          accepted device models, joined by "|"; empty: any
///     kind, vc, user  texts; empty: unknown
///     status          Pass, Killed, Failed, Unknown; empty: Unknown
///     censored        1: duration_s is a lower bound; empty: 0
///     weight          share weight; empty: 1
///     estimate_s      foretold run time; empty: none
///     wait_s          recorded time in the queue; empty: unknown
///
/// In texts, %XX stands for the byte XX.
Result<Trace> parse_orrery_csv(std::string_view text,
                               std::string_view file_name,
                               const TraceOptions& options = {});

/// The jobs of `trace` in this form; parse_orrery_csv gives equal ones where all rows are kept.
std::string orrery_csv(const Trace& trace);

template <>
struct TraceReader<"orrery"> : ReadsAlone<looks_like_orrery_csv, parse_orrery_csv> {};

}  // namespace orrery::sim
