// The other end: a process that is given one state and answers questions about it.
#pragma once

#include <functional>

#include "core/base/result.hpp"
#include "core/control/controller.hpp"
#include "core/forecast/forecast_answer.hpp"
#include "runtime/planner/planner_frames.hpp"

namespace orrery::runtime {

/// Runs the state on under the policy. The controller is the callee's own, to go on with.
using AnswerForecast = std::function<Result<ForecastAnswer>(
    Controller from, const PolicySpec& policy, const ForecastQuestion& question)>;

/// Answers what comes by `fd` until it is closed; returns the process's exit code. The caller does
/// nothing else: limits of memory and the priority of the process are set here.
int serve_forecasts(int fd, const AnswerForecast& answer);

}  // namespace orrery::runtime
