// Every format of job traces: its name, how it is recognised, how it is read.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"
#include "sim/traces/trace_reader.hpp"

namespace orrery::sim {

/// A row of the table in scenarios/language/spec/trace_formats.hpp, with its reader.
struct TraceFormat {
  std::string_view name;
  std::string_view what;  ///< One line for people.
  bool (*looks_like)(std::string_view text);
  Result<Trace> (*read)(TraceFiles files, const TraceOptions& options);
  std::span<const TraceTable> tables;
};

/// All formats, in the order in which they are tried on a file.
std::span<const TraceFormat> trace_formats();

/// The format of this name; null where there is none.
const TraceFormat* find_trace_format(std::string_view name);

/// The first format that `text` looks like; null where there is none.
const TraceFormat* recognise_trace(std::string_view text);

/// Gives the text of the file at `path`; `role` is empty for the trace, else the table's.
using ReadTraceFile =
    std::function<Result<std::string>(const std::string& path, std::string_view role)>;

/// Reads the tables that `format` wants, from the folder of the trace or from `throughputs` (empty:
/// none), then the trace, whose text is `text`.
Result<Trace> read_trace(const TraceFormat& format,
                         const std::string& path,
                         std::string text,
                         const std::string& throughputs,
                         const TraceOptions& options,
                         const ReadTraceFile& read_file);

}  // namespace orrery::sim
