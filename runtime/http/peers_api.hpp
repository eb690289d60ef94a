// GET /api/v1/jobs/{job}/peers: where the workers of a job take calls, and the keys for it.
#pragma once

#include <string>
#include <string_view>

#include "runtime/http/api.hpp"

namespace orrery::http {

/// HMAC-SHA256 of "orrery-call/1 " and the caller's name under the token of the worker that is
/// called, in hexadecimal: it proves to that worker that the controller has vouched for the name.
std::string call_key(std::string_view token, std::string_view caller);

void add_peers_api(Router& router, const ControlClient& client);

}  // namespace orrery::http
