// Reader of the Philly extract with one line a job.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"
#include "sim/traces/trace_reader.hpp"

namespace orrery::sim {

/// Whether the first line of `text` names the columns of such an extract.
bool looks_like_philly_csv(std::string_view text);

/// Reads a CSV file whose first line names the columns, in any order:
///
///     timestamp   submission, local wall time `YYYY-MM-DD HH:MM:SS`
///     duration    seconds on the GPUs, above 0, at most 100 years
///     num_gpus    whole number, 0 to 1,000,000
///     cluster     name of the virtual cluster
///     gpu_time    optional; must be duration x num_gpus
///
/// Other columns are ignored; quotation is not supported. Rows need not be sorted. A broken line
/// is an error with its line number; up to kTraceErrorsMax of them are reported at once, and then
/// there is no trace. The rows of Philly's ambiguous hour (5 November 2017, 01:00 to 02:00) are
/// taken as its first passing, and counted.
///
/// `text` is the whole file, `file_name` serves messages and the report.
Result<Trace> parse_philly_csv(std::string_view text,
                               std::string_view file_name,
                               const TraceOptions& options = {});

template <>
struct TraceReader<"philly"> : ReadsAlone<looks_like_philly_csv, parse_philly_csv> {};

}  // namespace orrery::sim
