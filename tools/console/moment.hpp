// Moments as people write them on a command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace orrery::cli {

/// Nanoseconds since the Unix epoch of "2026-11-22", "2026-11-22 10:30", "2026-11-22T10:30:05Z"
/// (UTC), or of so long before `now_ns`: "90s", "10min", "2h", "7d". `option` names it in errors.
Result<std::int64_t> moment(std::string_view option, std::string_view text, std::int64_t now_ns);

}  // namespace orrery::cli
