#include "runtime/devices/hwloc/hwloc_topology.hpp"

namespace orrery::runtime {

Topology read_topology_by_hwloc() { return read_topology(); }

}  // namespace orrery::runtime
