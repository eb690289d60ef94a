// /healthz and /readyz.
#pragma once

#include "runtime/http/api.hpp"

namespace orrery::http {

void add_health_api(Router& router, const ControlClient& client);

}  // namespace orrery::http
