// Reader of the Standard Workload Format of the Parallel Workloads Archive.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"
#include "sim/traces/trace_reader.hpp"

namespace orrery::sim {

/// Whether `text` begins like such a file: a comment after ";", or 18 numbers in a line.
bool looks_like_swf(std::string_view text);

/// Reads lines of 18 numbers between spaces; ";" begins a comment, of which
/// "; UnixStartTime: N" counts. Numbers may have decimals; -1 is missing.
///
///     1 id                name of the job; missing: "row-N"
///     2 submit s          since the start time; missing: dropped
///     3 wait s            `waited`
///     4 run s             `duration`; missing: dropped
///     5, 8 processors     given and asked; asked counts, else given; one device each; none:
///     dropped 9 asked time s      `estimate` 10 asked memory     KiB per processor; where missing,
///     7: used memory 11 status           1 Pass, 0 Failed, 5 Killed, others Unknown 12 user `user`
///     15 queue            `kind`
///     16 partition        `vc`
///
/// Lines of status 2, 3 and 4 are stretches of an interrupted job: dropped where a line of the same
/// id has status 0, 1 or 5 and so is the whole job, else jobs of their own.
/// The other fields are checked to be numbers and not used. Rows need not be sorted.
Result<Trace> parse_swf(std::string_view text,
                        std::string_view file_name,
                        const TraceOptions& options = {});

template <>
struct TraceReader<"swf"> : ReadsAlone<looks_like_swf, parse_swf> {};

}  // namespace orrery::sim
