// Reader of Gavel's and Shockwave's job traces.
#pragma once

#include <array>
#include <string_view>

#include "core/base/result.hpp"
#include "sim/traces/gavel_throughputs.hpp"
#include "sim/traces/trace.hpp"
#include "sim/traces/trace_reader.hpp"

namespace orrery::sim {

/// Whether `text` begins with a line of 7, 10 or 12 fields between tabs.
bool looks_like_gavel(std::string_view text);

/// Reads lines of fields between tabs, all of one of three layouts:
///
///     10  job type, command, folder, steps argument, needs data, steps, GPUs, weight, SLO, arrival
///      7  job type, command, steps argument, needs data, steps, arrival, GPUs (the oldest layout)
///     12  as 10, with the mode of batch-size adaptation after GPUs and the duration before arrival
///
/// The job type is `kind`, the weight `weight`, times are seconds. Layouts 7 and 10 count steps: a
/// job lasts steps / throughput on the model of `options`, without which there is an error;
/// jobs whose type and size the table lacks are dropped. The SLO is checked and not used. Jobs have
/// no name: "line-N".
Result<Trace> parse_gavel(std::string_view text,
                          std::string_view file_name,
                          const TraceOptions& options = {},
                          const DeviceSpeeds* throughputs = nullptr);

template <>
struct TraceReader<"gavel"> {
  static constexpr std::string_view kThroughputs = "throughputs";
  static constexpr std::array<TraceTable, 1> kTables = {{{kThroughputs, ""}}};

  static bool looks_like(std::string_view text) { return looks_like_gavel(text); }

  static Result<Trace> read(TraceFiles files, const TraceOptions& options);
};

}  // namespace orrery::sim
