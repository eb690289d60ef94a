// Instants of real clocks as text.
#pragma once

#include <string>

#include "core/base/units.hpp"

namespace orrery {

/// "2026-11-22T00:14:20.123456789Z" of nanoseconds since the Unix epoch, by the Gregorian calendar;
/// the fraction is left out where it is zero. Never: empty.
std::string utc_text(Instant at);

}  // namespace orrery
