// /healthz and /readyz.
#pragma once

#include "runtime/http/api.hpp"

namespace orrery::http {

void add_health_api(Router& router, const ControlDoor& door);

}  // namespace orrery::http
