// Times as decimal seconds, from integers: the text never depends on how a double is rounded.
#pragma once

#include <cstdint>
#include <string>

namespace orrery::sim {

/// Appends `ns` as seconds with exactly six decimals, rounded to the nearest microsecond, halves
/// away from zero: 1500000000 becomes "1.500000".
void append_seconds_6(std::int64_t ns, std::string& out);

/// The same of device-nanoseconds from zero up, which are more than 64 bits hold.
void append_device_seconds_6(__int128 device_ns, std::string& out);

/// Appends `ns` as seconds, exactly, with as few decimals as needed: 1500000000 becomes "1.5".
void append_seconds_exact(std::int64_t ns, std::string& out);

}  // namespace orrery::sim
