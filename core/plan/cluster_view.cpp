#include "core/plan/cluster_view.hpp"

#include "core/job/turns.hpp"
#include "core/placer/registry.hpp"

namespace orrery {

Demand ClusterView::demand_of(const JobSpec& spec, RoleIndex role) const {
  const Bundle& bundle = spec.roles[role.index()].bundle;
  return {bundle.cpu,
          bundle.memory,
          rides(spec, role) ? 0 : bundle.devices,
          bundle.share,
          bundle.device_model.empty() ? DeviceModelId::none() : model_named(bundle.device_model)};
}

const Placer& ClusterView::placer() const { return placers::initial(); }

PlacementRequest ClusterView::placement(JobId id,
                                        const Demand& demand,
                                        std::int32_t replicas) const {
  PlacementRequest request;
  request.demand = demand;
  request.replicas = replicas;
  request.job = id;
  return request;
}

bool place(const ClusterView& view,
           JobId id,
           const Demand& demand,
           std::int32_t replicas,
           CapacityTrial& trial,
           std::vector<NodeCount>& nodes) {
  return view.placer().place(view.placement(id, demand, replicas), trial, nodes);
}

bool find_place(const ClusterView& view,
                JobId id,
                const Demand& demand,
                std::int32_t replicas,
                const FreeIndex& index,
                CapacityTrial& scratch,
                std::vector<NodeCount>& nodes) {
  return find_place(view.placer(), view.placement(id, demand, replicas), index, scratch, nodes);
}

namespace {

// `whose`: as of `CapacityTrial::give`.
void give_elastic(const ClusterView& view, const JobView& job, JobId whose, CapacityTrial& trial) {
  Demand elastic = job.row.demand;
  if (!view.partner(job.row.id).is_none()) elastic.devices = 0;
  for (const NodeCount& n : job.nodes) trial.give(n.node, elastic, n.replicas, whose);
}

void give_others(const ClusterView& view, const JobView& job, JobId whose, CapacityTrial& trial) {
  if (job.spec.roles.size() == 1) return;
  std::vector<NodeCount> nodes;
  for (std::size_t r = 0; r < job.spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (role == job.row.elastic) continue;
    nodes.clear();
    view.append_nodes(job.row.id, role, nodes);
    const Demand demand = view.demand_of(job.spec, role);
    for (const NodeCount& n : nodes) trial.give(n.node, demand, n.replicas, whose);
  }
}

}  // namespace

bool try_start(const ClusterView& view,
               const JobView& job,
               std::int32_t replicas,
               CapacityTrial& trial,
               std::vector<NodeCount>* nodes) {
  std::vector<NodeCount> local;
  std::vector<NodeCount>& elastic = nodes != nullptr ? *nodes : local;
  if (view.is_seated(job.row.id)) return view.try_seats(job.row.id, replicas, trial, elastic);
  const std::size_t begin = elastic.size();
  const std::size_t mark = trial.mark();
  if (!place(view, job.row.id, job.row.demand, replicas, trial, elastic)) return false;
  std::vector<NodeCount> others;
  for (std::size_t r = 0; job.spec.roles.size() > 1 && r < job.spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (role == job.row.elastic) continue;
    others.clear();
    const Demand demand = view.demand_of(job.spec, role);
    if (place(view, job.row.id, demand, view.target(job.row.id, role), trial, others)) continue;
    trial.undo(mark);
    elastic.resize(begin);
    return false;
  }
  return true;
}

void give_back_elastic(const ClusterView& view, const JobView& job, CapacityTrial& trial) {
  give_elastic(view, job, JobId::none(), trial);
}

void give_back_others(const ClusterView& view, const JobView& job, CapacityTrial& trial) {
  give_others(view, job, JobId::none(), trial);
}

void give_back(const ClusterView& view, const JobView& job, CapacityTrial& trial) {
  // What a partner stays on does not come free.
  const JobId whose = view.partner(job.row.id).is_none() ? job.row.id : JobId::none();
  give_elastic(view, job, whose, trial);
  give_others(view, job, whose, trial);
}

void give_back_shared(const ClusterView& view, const JobView& job, CapacityTrial& trial) {
  Demand devices = job.row.demand;
  devices.cpu = {};
  devices.memory = {};
  const JobId partner = view.partner(job.row.id);
  for (const NodeCount& n : job.nodes) {
    trial.give(n.node, devices, n.replicas, job.row.id);
    trial.give(n.node, {}, 0, partner);  // The same devices are its own as well.
  }
}

void give_back_all(const ClusterView& view, CapacityTrial& trial) {
  for (const JobId id : view.holding_anywhere()) {
    const JobView job = view.job(id);
    give_back(view, job, trial);
    const JobId partner = view.partner(id);
    if (!partner.is_none() && id < partner) give_back_shared(view, job, trial);
  }
}

}  // namespace orrery
