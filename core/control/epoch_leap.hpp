// How a leader says that its journal has lost records.
#pragma once

#include <cstdint>

namespace orrery {

/// An epoch that is so much later than the last one was chosen by a leader that knows that records
/// of its journal are gone. Elections that came to nothing leave smaller gaps.
inline constexpr std::uint32_t kEpochLeap = 1024;

}  // namespace orrery
