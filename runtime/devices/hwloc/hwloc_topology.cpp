#include "runtime/devices/hwloc/hwloc_topology.hpp"

#include <hwloc.h>

namespace orrery::runtime {

Topology read_topology_by_hwloc() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return read_topology();
  Topology found;
  // Objects that this process may not use are left out, which is what is asked for.
  if (hwloc_topology_load(topology) == 0) {
    found.processors = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    found.numa_nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
  }
  hwloc_topology_destroy(topology);
  const Topology by_files = read_topology();
  if (found.processors <= 0) found.processors = by_files.processors;
  // Affinity may be narrower than what control groups allow, which is what hwloc goes by.
  if (by_files.processors > 0 && by_files.processors < found.processors)
    found.processors = by_files.processors;
  if (found.numa_nodes <= 0) found.numa_nodes = by_files.numa_nodes;
  return found;
}

}  // namespace orrery::runtime
