// What the options of orrery forecast ask for.
#pragma once

#include "core/base/result.hpp"
#include "core/forecast/forecast_answer.hpp"
#include "tools/console/arguments.hpp"

namespace orrery::cli {

/// --runs, --arrivals and --seed as a question about all jobs. Errors: all numbers out of range.
Result<ForecastQuestion> forecast_question(const Arguments& arguments);

}  // namespace orrery::cli
