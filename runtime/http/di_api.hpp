// DI-orchestrator's calls, at the paths of its documents and at those that it really served.
#pragma once

#include "runtime/http/api.hpp"

namespace orrery::http {

void add_di_api(Router& router, const ControlClient& client);

}  // namespace orrery::http
