// How a format says which functions read it.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// A table that a format wants beside the trace.
struct TraceTable {
  std::string_view role;       ///< What readers and messages call it.
  std::string_view file_name;  ///< Where it lies in the trace's folder; empty: it must be named.
  bool needed = false;
};

/// `files[0]` is the trace, then the tables that are there.
using TraceFiles = std::span<const TraceFile>;

/// The table of this role; null where it is not there.
inline const TraceFile* file_of(TraceFiles files, std::string_view role) {
  const auto found = std::ranges::find(files, role, &TraceFile::role);
  return found == files.end() ? nullptr : &*found;
}

/// The name of a format as an argument of a template.
struct FormatName {
  std::array<char, 24> letters{};

  consteval FormatName(std::string_view name) { std::ranges::copy(name, letters.begin()); }

  consteval FormatName(const char* name) : FormatName(std::string_view(name)) {}
};

/// Says how a format of the table in scenarios/language/spec/trace_formats.hpp is read. The header
/// of its reader defines it:
///
///     bool looks_like(std::string_view text);     whether a text may be of this format
///     Result<Trace> read(TraceFiles, options);    the files outlive the call only
///     kTables                                     what it wants beside the trace
template <FormatName kName>
struct TraceReader;

/// Of a format that needs nothing but the trace.
template <bool (*kLooksLike)(std::string_view),
          Result<Trace> (*kParse)(std::string_view, std::string_view, const TraceOptions&)>
struct ReadsAlone {
  static constexpr std::array<TraceTable, 0> kTables{};

  static bool looks_like(std::string_view text) { return kLooksLike(text); }

  static Result<Trace> read(TraceFiles files, const TraceOptions& options) {
    return kParse(files[0].text, files[0].path, options);
  }
};

}  // namespace orrery::sim
