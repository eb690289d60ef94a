// /api/v1/jobs: submit, list, look at, scale, stop, delete.
#pragma once

#include <memory>

#include "runtime/http/api.hpp"
#include "runtime/http/event_feed.hpp"
#include "runtime/http/job_text.hpp"

namespace orrery::http {

void add_jobs_api(Router& router,
                  const ControlDoor& door,
                  const std::shared_ptr<EventFeed>& feed,
                  const ReadJobText& read);

}  // namespace orrery::http
