// The topology of a node as hwloc knows it.
#pragma once

#include "runtime/devices/host.hpp"

namespace orrery::runtime {

/// Processors and NUMA nodes that this process may use, by hwloc; by the kernel's files where this
/// was built without hwloc, or hwloc fails.
Topology read_topology_by_hwloc();

}  // namespace orrery::runtime
