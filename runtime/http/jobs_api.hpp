// /api/v1/jobs: submit, list, look at, scale, stop, delete.
#pragma once

#include <memory>

#include "runtime/forecast/forecasts.hpp"
#include "runtime/http/api.hpp"
#include "runtime/http/event_feed.hpp"
#include "runtime/http/text_reader.hpp"

namespace orrery::http {

/// `forecasts` outlives all calls; null: no start is expected.
void add_jobs_api(Router& router,
                  const ControlClient& client,
                  const std::shared_ptr<EventFeed>& feed,
                  const std::shared_ptr<TextReader>& reader,
                  const runtime::Forecasts* forecasts);

}  // namespace orrery::http
