#include "core/placer/pack_devices.hpp"

#include <bit>

#include "core/base/invariant.hpp"

namespace orrery {
namespace {

constexpr int kNoDevice = -1;

// Among the devices that are partly taken.
int fullest_with(const NodeDevices& devices, std::int32_t thousandths) {
  int best = kNoDevice;
  for (int d = 0; d < 64; ++d) {
    const std::int32_t left = devices.left[static_cast<std::size_t>(d)];
    if (left < thousandths || (devices.whole >> d & 1) != 0) continue;
    if (best == kNoDevice || left < devices.left[static_cast<std::size_t>(best)]) best = d;
  }
  return best;
}

}  // namespace

DeviceSet pack_devices(const NodeDevices& devices, const Demand& demand) {
  if (demand.devices == 0) return 0;
  if (demand.devices == 1 && !demand.share.is_whole()) {
    const int device = fullest_with(devices, demand.share.thousandths);
    if (device != kNoDevice) return DeviceSet{1} << device;
  }
  DeviceSet chosen = 0;
  for (DeviceSet left : {devices.whole & devices.unused, devices.whole & ~devices.unused}) {
    while (left != 0 && std::popcount(chosen) < demand.devices) {
      chosen |= left & (~left + 1);
      left &= left - 1;
    }
  }
  invariant(std::popcount(chosen) == demand.devices, "a claim finds the devices it was promised");
  return chosen;
}

}  // namespace orrery
