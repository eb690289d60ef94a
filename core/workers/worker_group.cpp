#include "core/workers/worker_group.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace orrery::workers {
namespace {

Error refused_group(std::string_view prefix, std::string message) {
  return {
      ErrorCode::InvalidInput, {}, 0, "worker group " + std::string(prefix), std::move(message)};
}

std::string of_node(std::size_t node, std::int32_t bundles) {
  return "logical node " + std::to_string(node) + " has " + std::to_string(bundles) +
         (bundles == 1 ? " bundle" : " bundles");
}

/// Workers on each node, of a group without tied ones.
std::vector<std::int32_t> workers_on(std::string_view prefix,
                                     const std::vector<std::int32_t>& bundles,
                                     const std::vector<std::int32_t>& wanted,
                                     Errors& errors) {
  if (wanted.empty()) return bundles;
  if (wanted.size() != 1 && wanted.size() != bundles.size()) {
    errors.push_back(refused_group(prefix,
                                   "found workers_per_node for " + std::to_string(wanted.size()) +
                                       " nodes, needed 1 or " + std::to_string(bundles.size()) +
                                       " values; give one per node that has bundles"));
    return {};
  }
  std::vector<std::int32_t> out;
  for (std::size_t node = 0; node < bundles.size(); ++node) {
    const std::int32_t count = wanted.size() == 1 ? wanted.front() : wanted[node];
    if (count < 0 || count > bundles[node])
      errors.push_back(refused_group(prefix,
                                     "found " + std::to_string(count) + " workers per node, but " +
                                         of_node(node, bundles[node]) +
                                         ", needed 0 to that many; lower workers_per_node or add "
                                         "bundles"));
    out.push_back(count);
  }
  return out;
}

void check_tied(std::string_view prefix,
                const std::vector<std::int32_t>& bundles,
                const std::vector<TiedBundles>& tied,
                Errors& errors) {
  std::set<std::pair<std::int32_t, std::int32_t>> taken;
  for (std::size_t group = 0; group < tied.size(); ++group) {
    const std::string subject = "tied group " + std::to_string(group) + ": ";
    const std::int32_t node = tied[group].node;
    if (node < 0 || static_cast<std::size_t>(node) >= bundles.size()) {
      errors.push_back(refused_group(prefix,
                                     subject + "found logical node " + std::to_string(node) +
                                         ", needed 0 to " + std::to_string(bundles.size() - 1) +
                                         "; name a node that has bundles"));
      continue;
    }
    if (tied[group].bundles.empty())
      errors.push_back(refused_group(
          prefix, subject + "found no bundles, needed at least one; list them or leave it out"));
    const std::int32_t count = bundles[static_cast<std::size_t>(node)];
    for (const std::int32_t bundle : tied[group].bundles) {
      if (bundle < 0 || bundle >= count)
        errors.push_back(refused_group(
            prefix,
            subject + "found bundle " + std::to_string(bundle) + ", but " +
                of_node(static_cast<std::size_t>(node), count) + "; choose one of them"));
      else if (!taken.emplace(node, bundle).second)
        errors.push_back(
            refused_group(prefix,
                          subject + "found bundle " + std::to_string(bundle) + " of node " +
                              std::to_string(node) +
                              " a second time, needed one worker per bundle; take another"));
    }
  }
}

void add(WorkerGroupLayout& layout, std::string_view prefix, TiedGroup tied) {
  const auto group = static_cast<std::int32_t>(layout.tied.size());
  const bool is_tied = tied.bundles.size() > 1;
  tied.first_rank = layout.world_size();
  for (std::size_t local = 0; local < tied.bundles.size(); ++local) {
    GroupWorker worker{std::string(prefix),
                       tied.node,
                       tied.bundles[local],
                       group,
                       static_cast<std::int32_t>(local)};
    if (is_tied)
      worker.name += "-grp" + std::to_string(group) + "-" + std::to_string(local);
    else
      worker.name += "-" + std::to_string(tied.node) + "-" + std::to_string(worker.bundle);
    layout.workers.push_back(std::move(worker));
  }
  layout.tied.push_back(std::move(tied));
}

}  // namespace

std::span<const std::int32_t> WorkerGroupLayout::bundles_of(std::int32_t rank) const {
  const GroupWorker& worker = workers[static_cast<std::size_t>(rank)];
  if (!worker.is_leader()) return {};
  return tied[static_cast<std::size_t>(worker.tied_group)].bundles;
}

std::vector<std::int32_t> WorkerGroupLayout::leaders() const {
  std::vector<std::int32_t> out;
  out.reserve(tied.size());
  for (const TiedGroup& group : tied) out.push_back(group.first_rank);
  return out;
}

std::vector<std::int32_t> bundles_by_logical_node(const VirtualClusterSpec& cluster) {
  std::vector<std::int32_t> out;
  for (const std::int32_t bundles : cluster.bundles_per_node)
    if (bundles > 0) out.push_back(bundles);
  if (cluster.unified && !out.empty()) return {std::accumulate(out.begin(), out.end(), 0)};
  return out;
}

Result<WorkerGroupLayout> lay_out(std::string_view prefix,
                                  const VirtualClusterSpec& cluster,
                                  const WorkerGroupSpec& group) {
  const std::vector<std::int32_t> bundles = bundles_by_logical_node(cluster);
  Errors errors;
  if (!group.tied.empty() && !group.workers_per_node.empty())
    errors.push_back(refused_group(
        prefix, "found tied groups and workers_per_node, needed one of both; leave out one"));
  check_tied(prefix, bundles, group.tied, errors);
  std::vector<std::int32_t> counts;
  if (group.tied.empty()) counts = workers_on(prefix, bundles, group.workers_per_node, errors);
  if (!errors.empty()) return errors;
  WorkerGroupLayout layout;
  for (const TiedBundles& tied : group.tied) add(layout, prefix, {tied.node, tied.bundles, 0});
  for (std::size_t node = 0; node < counts.size(); ++node)
    for (std::int32_t bundle = 0; bundle < counts[node]; ++bundle)
      add(layout, prefix, {static_cast<std::int32_t>(node), {bundle}, 0});
  return layout;
}

Result<std::vector<std::int32_t>> data_leaders(const WorkerGroupLayout& layout,
                                               const NamedSharding& sharding,
                                               std::string_view data_axis) {
  const Result<std::size_t> axis = sharding.axis_index(data_axis);
  if (!axis) return axis.errors();
  Errors errors;
  if (sharding.size() != layout.workers.size())
    errors.push_back(
        refused_group("sharding",
                      "found " + std::to_string(sharding.size()) + " ranks, needed " +
                          std::to_string(layout.workers.size()) +
                          ", one per worker of the group; match the sharding to the group"));
  std::vector<std::int32_t> at(sharding.shape().size(), 0);
  std::vector<std::int32_t> out;
  for (std::int32_t index = 0; index < sharding.shape()[*axis]; ++index) {
    at[*axis] = index;
    const std::int32_t rank = sharding.rank_at(at).value();
    if (rank >= layout.world_size())
      errors.push_back(refused_group("sharding",
                                     "found rank " + std::to_string(rank) + ", needed below " +
                                         std::to_string(layout.world_size()) +
                                         "; number its ranks from 0"));
    else if (!layout.workers[static_cast<std::size_t>(rank)].is_leader())
      errors.push_back(
          refused_group("sharding",
                        "found worker " + std::to_string(rank) + " at index " +
                            std::to_string(index) + " of axis " + std::string(data_axis) +
                            ", which leads no tied group and has no engine, needed a leader; "
                            "put leaders at index 0 of the other axes"));
    out.push_back(rank);
  }
  if (!errors.empty()) return errors;
  return out;
}

}  // namespace orrery::workers
