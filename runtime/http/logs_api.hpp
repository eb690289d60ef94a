// GET /api/v1/jobs/{job}/logs: what a worker has written.
#pragma once

#include "runtime/http/api.hpp"

namespace orrery::http {

void add_logs_api(Router& router, const ControlClient& client);

}  // namespace orrery::http
