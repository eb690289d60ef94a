// GET /api/v1/events: the latest, or all from now on.
#pragma once

#include <memory>

#include "runtime/http/api.hpp"
#include "runtime/http/event_feed.hpp"

namespace orrery::http {

void add_events_api(Router& router, const std::shared_ptr<EventFeed>& feed);

}  // namespace orrery::http
