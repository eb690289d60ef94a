// Reader of the original Philly job log.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"
#include "sim/traces/trace_reader.hpp"

namespace orrery::sim {

/// Whether `text` begins like a JSON array.
bool looks_like_philly_json(std::string_view text);

/// Reads `cluster_job_log`: a JSON array of objects with
///
///     jobid, vc, user    strings; vc and user may be missing or null
///     status             "Pass", "Killed" or "Failed"
///     submitted_time     local wall time `YYYY-MM-DD HH:MM:SS`
///     attempts           array of {start_time, end_time, detail: [{ip, gpus: [...]}]}
///
/// Other keys are ignored. A job's duration is the sum of its attempts, its size the number of GPUs
/// listed in the first attempt that lists any. Missing, null and "None" times are censored, never
/// zero. An end before its start is read as the second passing of the ambiguous hour where that
/// mends it. Each such case is counted in the report; a job without attempts, whose size is not
/// known, is dropped and counted. A second job of one id is kept as `id-2` (or dropped, see
/// TraceOptions::duplicates).
///
/// A broken record is an error with the line of the key; a break of JSON itself ends the reading.
/// Jobs are built one by one as the text is read, and only the text and the result are held.
Result<Trace> parse_philly_json(std::string_view text,
                                std::string_view file_name,
                                const TraceOptions& options = {});

template <>
struct TraceReader<"philly-json"> : ReadsAlone<looks_like_philly_json, parse_philly_json> {};

}  // namespace orrery::sim
