// Workers of a worker group on the bundles of a formed virtual cluster.
//
// Not unified, a worker group addresses bundles by logical node. A unified virtual cluster is one
// group of all its bundles: it counts as one logical node, 0, whose bundles are numbered in rank
// order, so that a tied group may cross nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/cluster/seat.hpp"
#include "core/job/placement_spec.hpp"
#include "core/vcluster/form.hpp"

namespace orrery::vcluster {

/// One worker of a worker group; its rank is its index in the list.
struct WorkerSeat {
  Seat seat;                      ///< Node and devices of its bundle, whole.
  std::int32_t logical_node = 0;  ///< As in BundlePlace.
  std::int32_t bundle = 0;        ///< As in BundlePlace.
  std::int32_t tied_group = 0;    ///< Index into WorkerGroupSpec::tied; without any, its rank.
  bool leader = true;             ///< First of its tied group, owner of all bundles of it.

  friend bool operator==(const WorkerSeat&, const WorkerSeat&) = default;
};

/// Seats of the workers that `group` has on the virtual cluster (workers_of), in rank order: the
/// order of `places`, or of the tied groups as listed and inside them of their bundles. `places` is
/// what `form` gave for `cluster`.
std::vector<WorkerSeat> worker_seats(const VirtualClusterSpec& cluster,
                                     const WorkerGroupSpec& group,
                                     std::span<const BundlePlace> places);

}  // namespace orrery::vcluster
