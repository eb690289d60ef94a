// Forecasts as a controller tells them.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/forecast/forecast_answer.hpp"
#include "tools/client/job_sources.hpp"

namespace orrery::cli {

/// What a forecast may take beyond other answers: the controller itself gives up after
/// `forecast.deadline`, 10 s by default, and others may wait before it.
inline constexpr std::chrono::seconds kForecastPatience{50};

/// The answer that a document of /api/v1/forecast is. Its `now` is the zero of time: documents tell
/// of spans only.
ForecastAnswer forecast_of(const nlohmann::json& document);

/// The question whether, when and where a job of a file would start. `only`: its full name; empty:
/// the file has one.
HttpRequest hypothetical(const JobSource& source,
                         const ForecastQuestion& how,
                         const std::string& only = "");

/// What `how` says of runs and draws, as a query: "&runs=20&arrivals=recent".
std::string forecast_query(const ForecastQuestion& how);

}  // namespace orrery::cli
