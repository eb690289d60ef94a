// /api/v1/forecast: when jobs will start and end, and how right that was.
#pragma once

#include <memory>

#include "runtime/forecast/forecasts.hpp"
#include "runtime/http/api.hpp"
#include "runtime/http/text_reader.hpp"

namespace orrery::http {

/// `forecasts` outlives all calls; null: none are made here, and calls are answered 501.
void add_forecast_api(Router& router,
                      const ControlClient& client,
                      runtime::Forecasts* forecasts,
                      const std::shared_ptr<TextReader>& reader);

}  // namespace orrery::http
