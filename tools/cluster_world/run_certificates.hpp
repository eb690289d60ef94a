// Certificates of one run, for daemons that meet over links.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"

namespace orrery::cli {

/// Writes into `folder`, which is made, an authority, the controller's certificate for `host` and
/// this machine, one for each node (`agent-node-7`) and an administrator's (`admin-scenario`), each
/// as NAME.pem and NAME.key, good for a day. Errors: files that cannot be written.
Status make_run_certificates(const std::string& folder,
                             const std::string& host,
                             std::uint32_t nodes);

}  // namespace orrery::cli
