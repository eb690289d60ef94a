// /api/v1/nodes and /api/v1/cluster.
#pragma once

#include "runtime/http/api.hpp"

namespace orrery::http {

void add_nodes_api(Router& router, const ControlClient& client);

}  // namespace orrery::http
