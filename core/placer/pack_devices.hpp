// Devices on one node so that few are broken: the choice that placers share.
#pragma once

#include "core/cluster/free_index.hpp"
#include "core/cluster/node_devices.hpp"

namespace orrery {

/// For a part of a device: the fullest device that has so much left, the lowest number of equals;
/// else a whole one. Whole devices: first those that no process uses any more, in order of number.
DeviceSet pack_devices(const NodeDevices& devices, const Demand& demand);

}  // namespace orrery
