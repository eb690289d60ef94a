// GET /api/v1/events: the latest, or all from now on.
#pragma once

#include <memory>

#include "runtime/http/api.hpp"
#include "runtime/http/event_feed.hpp"

namespace orrery::http {

/// Where another controller leads the call is redirected to it: this one has the lines of its own
/// terms alone.
void add_events_api(Router& router,
                    const ControlClient& client,
                    const std::shared_ptr<EventFeed>& feed);

}  // namespace orrery::http
