// Worker groups: which workers a role has on a virtual cluster, what they are called, and which
// leads which.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/job/placement_spec.hpp"
#include "core/workers/named_sharding.hpp"

namespace orrery::workers {

/// One worker; its rank is its index in the list.
struct GroupWorker {
  std::string name;             ///< "prefix-node-bundle"; in a tied group "prefix-grpG-L".
  std::int32_t node = 0;        ///< Logical node.
  std::int32_t bundle = 0;      ///< Of that node.
  std::int32_t tied_group = 0;  ///< Index into `tied`.
  std::int32_t local_rank = 0;  ///< Inside its tied group.

  /// The first of a tied group is told all its bundles and owns the engine that runs on them.
  bool is_leader() const { return local_rank == 0; }

  friend bool operator==(const GroupWorker&, const GroupWorker&) = default;
};

/// Workers that run one engine together. A worker that is tied to no other is a tied group of its
/// own.
struct TiedGroup {
  std::int32_t node = 0;              ///< Logical node of all its bundles.
  std::vector<std::int32_t> bundles;  ///< In the order of its workers; at least one.
  std::int32_t first_rank = 0;        ///< Rank of its leader; the others follow.

  friend bool operator==(const TiedGroup&, const TiedGroup&) = default;
};

/// All workers of a group.
struct WorkerGroupLayout {
  std::vector<GroupWorker> workers;
  std::vector<TiedGroup> tied;  ///< In rank order.

  std::int32_t world_size() const { return static_cast<std::int32_t>(workers.size()); }

  /// The bundles that a worker is told: those of its tied group if it leads it, else none.
  std::span<const std::int32_t> bundles_of(std::int32_t rank) const;

  /// Ranks of the leaders, ascending.
  std::vector<std::int32_t> leaders() const;

  friend bool operator==(const WorkerGroupLayout&, const WorkerGroupLayout&) = default;
};

/// Bundles of each group of bundles that workers address: one per logical node, or one for the
/// whole of a unified virtual cluster.
std::vector<std::int32_t> bundles_by_logical_node(const VirtualClusterSpec& cluster);

/// Workers in rank order: node by node and bundle by bundle, or the tied groups as listed. Refuses
/// more workers than a node has bundles, lists of the wrong length, bundles that are not there or
/// taken twice, and both forms at once; everything that is wrong is told.
Result<WorkerGroupLayout> lay_out(std::string_view prefix,
                                  const VirtualClusterSpec& cluster,
                                  const WorkerGroupSpec& group);

/// The leaders that data is given to, by index along `data_axis`: ranks at index 0 of every other
/// axis. Their number is the data-parallel size. Refuses a sharding that is not of exactly these
/// workers, and one that gives data to a worker that leads no tied group.
///
/// Without a sharding each tied group takes data of its own, and `leaders()` are the ones.
Result<std::vector<std::int32_t>> data_leaders(const WorkerGroupLayout& layout,
                                               const NamedSharding& sharding,
                                               std::string_view data_axis);

}  // namespace orrery::workers
