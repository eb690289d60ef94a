#include "core/vcluster/seats.hpp"

#include <numeric>

#include "core/base/invariant.hpp"
#include "core/job/worker_count.hpp"

namespace orrery::vcluster {
namespace {

WorkerSeat seat_on(const BundlePlace& place) {
  WorkerSeat out;
  out.seat.node = place.node;
  out.seat.devices = place.devices;
  out.logical_node = place.logical_node;
  out.bundle = place.bundle;
  return out;
}

// The number of the first bundle of each group, counting through all of them.
std::vector<std::size_t> first_of_groups(std::span<const std::int32_t> sizes) {
  std::vector<std::size_t> out(sizes.size(), 0);
  for (std::size_t i = 1; i < sizes.size(); ++i)
    out[i] = out[i - 1] + static_cast<std::size_t>(sizes[i - 1]);
  return out;
}

// Index into `places` of each bundle, counting through all groups.
std::vector<std::size_t> by_number(const VirtualClusterSpec& cluster,
                                   std::span<const std::size_t> first,
                                   std::span<const BundlePlace> places) {
  std::vector<std::size_t> out(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto node = static_cast<std::size_t>(places[i].logical_node);
    const auto bundle = static_cast<std::size_t>(places[i].bundle);
    out[cluster.unified ? i : first[node] + bundle] = i;
  }
  return out;
}

std::vector<WorkerSeat> tied_seats(const VirtualClusterSpec& cluster,
                                   const WorkerGroupSpec& group,
                                   std::span<const std::int32_t> sizes,
                                   std::span<const BundlePlace> places) {
  const std::vector<std::size_t> first = first_of_groups(sizes);
  const std::vector<std::size_t> index = by_number(cluster, first, places);
  std::vector<WorkerSeat> out;
  for (std::size_t g = 0; g < group.tied.size(); ++g) {
    const TiedBundles& tied = group.tied[g];
    for (std::size_t k = 0; k < tied.bundles.size(); ++k) {
      const std::size_t number =
          first[static_cast<std::size_t>(tied.node)] + static_cast<std::size_t>(tied.bundles[k]);
      out.push_back(seat_on(places[index[number]]));
      out.back().tied_group = static_cast<std::int32_t>(g);
      out.back().leader = k == 0;
    }
  }
  return out;
}

}  // namespace

std::vector<WorkerSeat> worker_seats(const VirtualClusterSpec& cluster,
                                     const WorkerGroupSpec& group,
                                     std::span<const BundlePlace> places) {
  const std::vector<std::int32_t> sizes = bundle_groups(cluster);
  invariant(static_cast<std::int64_t>(places.size()) ==
                std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}),
            "workers sit on the bundles of their own virtual cluster");
  if (!group.tied.empty()) return tied_seats(cluster, group, sizes, places);
  std::vector<WorkerSeat> out;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const BundlePlace& place = places[i];
    const std::size_t node = cluster.unified ? 0 : static_cast<std::size_t>(place.logical_node);
    const std::int32_t number = cluster.unified ? static_cast<std::int32_t>(i) : place.bundle;
    if (number >= workers_on(group, node, sizes[node])) continue;
    out.push_back(seat_on(place));
    out.back().tied_group = static_cast<std::int32_t>(out.size()) - 1;
  }
  return out;
}

}  // namespace orrery::vcluster
