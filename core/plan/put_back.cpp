#include "core/plan/put_back.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace orrery {

bool put_back(const ClusterView& view, const JobView& job, CapacityTrial& trial) {
  const JobId whose = view.partner(job.row.id).is_none() ? job.row.id : JobId::none();
  const std::size_t mark = trial.mark();
  const auto take = [&](const Demand& demand, std::span<const NodeCount> nodes) {
    for (const NodeCount& n : nodes) {
      if (replicas_that_fit(trial.index().at(n.node), demand) < n.replicas) return false;
      trial.take(n.node, demand, n.replicas, whose);
    }
    return true;
  };
  bool fits = take(job.row.demand, job.nodes);
  std::vector<NodeCount> nodes;
  for (std::size_t r = 0; fits && job.spec.roles.size() > 1 && r < job.spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (role == job.row.elastic) continue;
    nodes.clear();
    view.append_nodes(job.row.id, role, nodes);
    fits = take(view.demand_of(job.spec, role), nodes);
  }
  if (!fits) trial.undo(mark);
  return fits;
}

}  // namespace orrery
