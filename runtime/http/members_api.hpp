// GET /api/v1/jobs/{job}/members and both ways of profilings: what workers need.
#pragma once

#include <memory>

#include "runtime/http/api.hpp"
#include "runtime/http/membership_polls.hpp"

namespace orrery::http {

void add_members_api(Router& router,
                     const ControlClient& client,
                     const std::shared_ptr<MembershipPolls>& polls);

}  // namespace orrery::http
