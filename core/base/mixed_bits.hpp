// A mixing function of 64 bits.
#pragma once

#include <cstdint>

namespace orrery {

/// Steele, Lea and Flood's splitmix64 at the counter `bits`: equal inputs give equal values,
/// different ones different values that look drawn.
constexpr std::uint64_t mixed_bits(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

}  // namespace orrery
