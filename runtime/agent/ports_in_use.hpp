// Whether something on this host listens at a port that a worker is to listen at.
#pragma once

#include <cstdint>

namespace orrery::runtime {

/// The first of `count` ports from `first` on at which something listens, over IPv4 or IPv6 and at
/// whichever address; 0 where there is none, or `first` is 0. What listens a moment later is not
/// seen.
std::int32_t first_busy_port(std::int32_t first, std::int32_t count);

}  // namespace orrery::runtime
