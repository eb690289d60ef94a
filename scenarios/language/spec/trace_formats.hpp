// The formats of public traces, each a row: the language, the readers, the command line's help and
// its completion all go by this table.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "core/base/enum_names.hpp"

namespace orrery::scenarios {

/// What happens to rows of a trace that are not as they should be.
enum class OddRows : std::uint8_t { Keep, Drop };

/// How a trace is written; docs/traces.md tells what each holds. A new one is a row below, and a
/// file pair in sim/traces whose header says by `TraceReader` how the format is read.
struct TraceFormat {
  std::string_view name;              ///< In scenarios and on the command line; at most 23 letters.
  std::string_view what;              ///< One line for people.
  OddRows zero_gpus = OddRows::Keep;  ///< Unless the scenario says otherwise.
  bool counts_steps = false;          ///< Needs to know how fast a device is.
};

/// All formats, in the order in which they are tried on a file.
inline constexpr TraceFormat kTraceFormats[] = {
    {"orrery", "Orrery's own CSV form"},
    {"philly", "extract of Microsoft's Philly trace"},
    // The log does not tell how many devices some jobs asked for; none is unlikely.
    {"philly-json", "original log of Microsoft's Philly cluster", OddRows::Drop},
    {"openb", "task lists of Alibaba's openb cluster"},
    {"helios", "job logs of SenseTime's Helios clusters"},
    {"acme", "job logs of Shanghai AI Lab's Acme clusters"},
    {"pai-sample", "job samples of Alibaba PAI's simulator"},
    {"pai", "Alibaba PAI's table of jobs, with its other tables beside it"},
    {"gavel", "traces of Gavel and Shockwave", OddRows::Keep, true},
    {"swf", "the Standard Workload Format"},
};

/// The row of this name; null where there is none.
constexpr const TraceFormat* trace_format_named(std::string_view name) {
  const auto* found = std::ranges::find(kTraceFormats, name, &TraceFormat::name);
  return found == std::end(kTraceFormats) ? nullptr : found;
}

}  // namespace orrery::scenarios

namespace orrery {

template <>
struct EnumNames<scenarios::OddRows> {
  static constexpr std::array kNames{"keep", "drop"};
};

}  // namespace orrery
