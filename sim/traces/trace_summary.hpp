// What a trace holds, in a few numbers for people and scripts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/json_text.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// Jobs that have something in common.
struct TraceGroup {
  std::uint64_t jobs = 0;
  double gpu_hours = 0.0;  ///< GPUs x duration, parts of GPUs as parts.
};

/// Statistics of the jobs of a trace. A quantile q is the job at place q x jobs, rounded down, in
/// ascending order; all durations are zero for an empty trace.
struct TraceSummary {
  TraceGroup all;
  Duration span;  ///< From the first submission to the last.
  Duration mean;
  Duration median;
  Duration p90;
  Duration p99;
  Duration longest;
  std::map<int, TraceGroup> by_gpus;           ///< A part of a GPU is with the whole ones.
  TraceGroup shares;                           ///< Those of `by_gpus` that take parts of GPUs.
  std::map<std::string, TraceGroup> by_model;  ///< Accepted models; empty: any.
  std::map<std::string, TraceGroup> by_vc;

  /// GPU time of all jobs / (gpus x span): how loaded `gpus` GPUs would be. 0 for no span.
  double offered_load(std::int64_t gpus) const;

  /// A table for people.
  std::string text() const;

  /// One object with the same content, durations in seconds.
  void write(JsonText& json) const;
};

TraceSummary summarise(const std::vector<TraceJob>& jobs);

}  // namespace orrery::sim
