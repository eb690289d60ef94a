// The devices of one node, one by one: what a placer chooses from.
#pragma once

#include <array>
#include <cstdint>

namespace orrery {

/// Devices of one node; bit i: device i.
using DeviceSet = std::uint64_t;

/// What each device of a node can still give.
struct NodeDevices {
  DeviceSet whole = 0;   ///< Can be taken whole.
  DeviceSet unused = 0;  ///< Of `whole`: no process uses it any more, so a worker starts at once.
  /// Thousandths that the devices beside `whole` have left, by number. Known where a part of a
  /// device is asked for; else 0.
  std::array<std::int16_t, 64> left{};
};

}  // namespace orrery
