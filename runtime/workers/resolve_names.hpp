// Host names by the system's name service: not for static programs.
#pragma once

#include <string>

#include "core/base/result.hpp"

namespace orrery::worker {

/// The first address of the host, numeric. Error: it has none.
Result<std::string> resolve_names(const std::string& host);

}  // namespace orrery::worker
