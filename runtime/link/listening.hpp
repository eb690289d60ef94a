// What must be true of an address before a server listens there, and why it could not.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "runtime/config/address.hpp"

namespace orrery::runtime {

/// A Unix socket without a listener is removed. Errors: a process listens there, or there is
/// something else at its path.
Status clear_stale_socket(const Address& address);

/// Why this machine cannot listen there, in words; asked after it failed.
std::string why_not_listening(const Address& address);

}  // namespace orrery::runtime
