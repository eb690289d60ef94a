// A forecast as people read it.
#pragma once

#include <string>

#include "core/forecast/forecast_answer.hpp"
#include "tools/console/console.hpp"

namespace orrery::cli {

/// "in 3 min 20 s", "at once", "since 5 s", "not foreseen".
std::string forecast_time(Instant at, Instant now);

/// Sentences about the one job that was asked about, and whom it delays.
std::string forecast_page(const ForecastAnswer& answer);

/// A row for each job.
std::string forecast_table(const ForecastAnswer& answer, const ConsoleTraits& traits);

/// What is to be said beside it, on standard error: empty, or a line.
std::string forecast_remark(const ForecastAnswer& answer);

}  // namespace orrery::cli
