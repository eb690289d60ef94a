// A forecast as the document that scripts read: orrery forecast --json and GET /api/v1/forecast.
#pragma once

#include "core/base/json_text.hpp"
#include "core/forecast/forecast_answer.hpp"

namespace orrery {

/// Writes the fields of the document into an object that is open. Times are in seconds from the
/// answer's `now`; null: not foreseen.
void write_forecast(JsonText& json, const ForecastAnswer& answer);

}  // namespace orrery
