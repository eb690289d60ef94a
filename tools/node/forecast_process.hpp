// The process that forecasts for a controller: this program once more.
#pragma once

#include <string>
#include <vector>

#include "runtime/config/config.hpp"
#include "runtime/forecast/forecast_desk.hpp"
#include "runtime/planner/serve_plans.hpp"

namespace orrery::cli {

/// Whether this process was started to forecast. It is no verb: what it says is for a controller.
bool is_forecaster(int argc, char** argv);

/// Answers a controller's questions until it closes the connection; the exit code.
int serve_forecasts(const runtime::MakePolicy& make);

/// How a controller of these settings forecasts.
runtime::ForecastDeskOptions forecast_options(const runtime::ControllerConfig& config);

}  // namespace orrery::cli
