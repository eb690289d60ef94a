// What the verbs of `certs` are called, take and say of themselves.
#pragma once

#include "tools/console/verb.hpp"

namespace orrery::cli {

VerbSpec certs_init_spec();
VerbSpec certs_controller_spec();
VerbSpec certs_agent_spec();
VerbSpec certs_user_spec();
VerbSpec certs_admin_spec();
VerbSpec certs_token_spec();
VerbSpec certs_show_spec();

}  // namespace orrery::cli
