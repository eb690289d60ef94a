// The state of a full cluster with a queue, for measurements of forecasts.
#pragma once

#include <cstddef>
#include <vector>

namespace orrery::bench {

/// As `State::save` writes it, under easy: live jobs that fill nodes of eight devices, and behind
/// them waiting ones of 1 to 256 devices. Ends the program where it cannot be made.
std::vector<std::byte> forecast_state(int live, int waiting, int nodes);

}  // namespace orrery::bench
