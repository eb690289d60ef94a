// Devices as the interval sets that Batsim and evalys read.
#pragma once

#include <span>
#include <string>

#include "sim/reports/timeline.hpp"

namespace orrery::sim {

/// Appends the devices of all parts, numbered through the cluster (`Timeline::first_device`), as a
/// canonical set: ascending, disjoint, maximal intervals, as in "0-3 8". A device of which a part
/// is held counts as the device. Nothing where there are none. `parts` are in the order in which
/// the timeline gives them.
void append_device_set(const Timeline& timeline,
                       std::span<const DevicePart> parts,
                       std::string& out);

}  // namespace orrery::sim
