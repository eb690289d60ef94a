// The version of the record formats.
#pragma once

#include <cstdint>

namespace orrery {

/// Version of the record formats that this program writes. Readers accept it and all before.
inline constexpr std::uint16_t kRecordVersion = 4;

}  // namespace orrery
