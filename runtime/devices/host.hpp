// Processors, memory and NUMA nodes that this process may use.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/units.hpp"

namespace orrery::runtime {

/// What a node has, less what its control groups and the process' own affinity hold back.
struct HostResources {
  MilliCpu cpu;
  Bytes memory;
  std::int32_t numa_nodes = 1;

  friend bool operator==(const HostResources&, const HostResources&) = default;
};

/// How many NUMA nodes there are; hwloc knows more of odd machines than the kernel's files tell.
struct Topology {
  std::int32_t processors = 0;  ///< That this process may run on; 0: not known.
  std::int32_t numa_nodes = 0;  ///< 0: not known.
};

/// Processors by affinity and NUMA nodes by the kernel's files under `root`, a folder without a '/'
/// at its end (empty: this machine).
Topology read_topology(const std::string& root = "");

/// The resources by `topology` and by what the control groups of this process allow (both versions,
/// with all groups above) and the kernel's files tell.
HostResources read_host(const Topology& topology, const std::string& root = "");

/// What each of so many agents (at least 1) that share the host offers: an equal part, for what one
/// offers no other one has; but what a worker asks for unless it says otherwise at least, one core
/// and 2 GiB, or all there is where that is less.
HostResources share_of(const HostResources& host, int agents);

}  // namespace orrery::runtime
