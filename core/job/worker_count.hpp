// How many workers a worker group has on a virtual cluster, from their specifications alone.
#pragma once

#include <cstdint>
#include <vector>

#include "core/job/placement_spec.hpp"

namespace orrery {

/// Bundles of each group that a worker group addresses by number: the logical nodes that have
/// bundles, or all bundles as one group where the virtual cluster is unified.
std::vector<std::int32_t> bundle_groups(const VirtualClusterSpec& cluster);

/// Workers on the bundles of group `i`, which has `size` of them; no bundle of it is tied.
std::int32_t workers_on(const WorkerGroupSpec& group, std::size_t i, std::int32_t size);

/// Workers that `group` has on a virtual cluster; both sound (check_spec).
std::int32_t workers_of(const VirtualClusterSpec& cluster, const WorkerGroupSpec& group);

}  // namespace orrery
