// GET /metrics in Prometheus' text format. docs/metrics.md says what each one means.
#pragma once

#include <memory>
#include <string>

#include "runtime/forecast/forecasts.hpp"
#include "runtime/http/api.hpp"
#include "runtime/http/figures.hpp"

namespace orrery::http {

/// `forecasts` outlives all calls; null: there are no figures of any.
void add_metrics(Router& router,
                 const ControlClient& client,
                 const std::shared_ptr<const Figures>& figures,
                 const runtime::Forecasts* forecasts);

}  // namespace orrery::http
