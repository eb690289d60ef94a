#include "core/job/worker_count.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace orrery {

std::vector<std::int32_t> bundle_groups(const VirtualClusterSpec& cluster) {
  std::vector<std::int32_t> sizes;
  for (const std::int32_t bundles : cluster.bundles_per_node)
    if (bundles > 0) sizes.push_back(bundles);
  if (cluster.unified) return {std::accumulate(sizes.begin(), sizes.end(), 0)};
  return sizes;
}

std::int32_t workers_on(const WorkerGroupSpec& group, std::size_t i, std::int32_t size) {
  if (group.workers_per_node.empty()) return size;
  return group.workers_per_node[group.workers_per_node.size() == 1 ? 0 : i];
}

std::int32_t workers_of(const VirtualClusterSpec& cluster, const WorkerGroupSpec& group) {
  std::int64_t count = 0;
  if (!group.tied.empty()) {
    for (const TiedBundles& tied : group.tied)
      count += static_cast<std::int64_t>(tied.bundles.size());
  } else {
    const std::vector<std::int32_t> sizes = bundle_groups(cluster);
    for (std::size_t i = 0; i < sizes.size(); ++i) count += workers_on(group, i, sizes[i]);
  }
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(count, 0, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace orrery
