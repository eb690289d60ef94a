// One question put to a process of its own, which is executed for it and killed at its deadline.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/forecast/forecast_answer.hpp"
#include "core/state/state.hpp"
#include "runtime/forecast/forecasts.hpp"
#include "runtime/planner/planner_frames.hpp"

namespace orrery::runtime {

struct ForecastHelperOptions {
  std::vector<std::string> program;  ///< Words of a program that calls `serve_forecasts`.
  PolicySpec policy;
  Duration deadline = Duration::seconds(10);       ///< For one answer, above 0.
  Bytes memory;                                    ///< Most that it may map; 0: no limit.
  std::size_t answer_max = std::size_t{64} << 20;  ///< Bytes.
};

/// Encodes the state, runs the program, waits for its answer. Blocks for the deadline at most;
/// `stop` is a descriptor that becomes readable when nothing is to be waited for any more. On one
/// thread, which outlives the call.
ForecastReply run_forecast_helper(const ForecastHelperOptions& options,
                                  const State& state,
                                  const ForecastQuestion& question,
                                  int stop);

}  // namespace orrery::runtime
