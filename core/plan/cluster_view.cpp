#include "core/plan/cluster_view.hpp"

#include "core/job/turns.hpp"

namespace orrery {

Demand ClusterView::demand_of(const JobSpec& spec, RoleIndex role) const {
  const Bundle& bundle = spec.roles[role.index()].bundle;
  return {bundle.cpu,
          bundle.memory,
          rides(spec, role) ? 0 : bundle.devices,
          bundle.share,
          bundle.device_model.empty() ? DeviceModelId::none() : model_named(bundle.device_model)};
}

bool try_start(const ClusterView& view,
               const JobView& job,
               std::int32_t replicas,
               CapacityTrial& trial,
               std::vector<NodeCount>* nodes) {
  std::vector<NodeCount> local;
  std::vector<NodeCount>& elastic = nodes != nullptr ? *nodes : local;
  if (view.is_seated(job.row.id)) return view.try_seats(job.row.id, replicas, trial, elastic);
  const std::size_t mark = elastic.size();
  if (!trial.take_gang(job.row.demand, replicas, elastic)) return false;
  if (job.spec.roles.size() == 1) return true;
  std::vector<std::pair<Demand, std::vector<NodeCount>>> taken;
  for (std::size_t r = 0; r < job.spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (role == job.row.elastic) continue;
    taken.emplace_back(view.demand_of(job.spec, role), std::vector<NodeCount>{});
    if (trial.take_gang(taken.back().first, view.target(job.row.id, role), taken.back().second))
      continue;
    taken.pop_back();
    for (const auto& [demand, counts] : taken)
      for (const NodeCount& n : counts) trial.give(n.node, demand, n.replicas);
    for (std::size_t i = mark; i < elastic.size(); ++i)
      trial.give(elastic[i].node, job.row.demand, elastic[i].replicas);
    elastic.resize(mark);
    return false;
  }
  return true;
}

void give_back(const ClusterView& view, const JobView& job, CapacityTrial& trial) {
  for (const NodeCount& n : job.nodes) trial.give(n.node, job.row.demand, n.replicas);
  if (job.spec.roles.size() == 1) return;
  std::vector<NodeCount> nodes;
  for (std::size_t r = 0; r < job.spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (role == job.row.elastic) continue;
    nodes.clear();
    view.append_nodes(job.row.id, role, nodes);
    const Demand demand = view.demand_of(job.spec, role);
    for (const NodeCount& n : nodes) trial.give(n.node, demand, n.replicas);
  }
}

}  // namespace orrery
