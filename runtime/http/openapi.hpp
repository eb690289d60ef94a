// GET /api/v1/openapi.yaml: docs/openapi.yaml, embedded.
#pragma once

#include <string_view>

#include "runtime/http/router.hpp"

namespace orrery::http {

/// The text of docs/openapi.yaml.
std::string_view openapi_yaml();

void add_openapi(Router& router);

}  // namespace orrery::http
