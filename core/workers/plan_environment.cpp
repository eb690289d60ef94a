#include "core/workers/plan_environment.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "core/cluster/port_range.hpp"

namespace orrery::workers {
namespace {

using placement::ComponentPlan;
using placement::Inventory;
using placement::Plan;
using placement::Process;
using placement::ResourceKind;

/// A component of a plan, with all that its processes have in common.
struct Placed {
  const ComponentPlan* component = nullptr;
  std::size_t first_rank = 0;     ///< Of its rank 0 in the job.
  std::vector<PeerPlace> in_job;  ///< By rank in the job.
  std::int32_t nodes = 0;         ///< Of the component.
  Endpoint job_master;
  Endpoint role_master;
  std::shared_ptr<const std::vector<Endpoint>> endpoints;  ///< Of the component, by rank.
};

Error not_found(std::string subject, const std::string& found, const std::string& needed) {
  return {ErrorCode::NotFound,
          {},
          0,
          std::move(subject),
          "found " + found + ", needed " + needed + "; choose one of them"};
}

std::string address_of(const PlanSurroundings& surroundings, std::int32_t node) {
  const auto at = static_cast<std::size_t>(node);
  if (at < surroundings.addresses.size()) return surroundings.addresses[at];
  return "node-" + std::to_string(node);
}

/// The port of each process, by rank in the job: on nodes whose ports are all free the ledger gives
/// them in this order (core/cluster/port_ledger.hpp).
std::vector<std::int32_t> ports_of(const std::vector<std::int32_t>& node_by_rank) {
  std::map<std::int32_t, std::int32_t> next;
  std::vector<std::int32_t> out;
  for (const std::int32_t node : node_by_rank)
    out.push_back(next.try_emplace(node, PortRange::standard().first).first->second++);
  return out;
}

Result<Placed> find(const Plan& plan,
                    std::string_view component,
                    const PlanSurroundings& surroundings) {
  Placed out;
  std::string names;
  std::vector<std::int32_t> nodes;
  for (const ComponentPlan& one : plan.components) {
    names.append(names.empty() ? "" : ", ").append(one.name);
    if (one.name == component) {
      out.component = &one;
      out.first_rank = nodes.size();
    }
    for (const Process& process : one.processes) nodes.push_back(process.node_rank);
  }
  if (out.component == nullptr)
    return not_found("placement", "no component " + std::string(component), "one of " + names);
  const std::vector<Process>& own = out.component->processes;
  if (own.empty()) return out;
  out.in_job = places_of(nodes);
  out.nodes = std::ranges::max(own, {}, &Process::placement_node_rank).placement_node_rank + 1;
  const std::vector<std::int32_t> ports = ports_of(nodes);
  out.job_master = {address_of(surroundings, nodes.front()), ports.front()};
  std::vector<Endpoint> endpoints;
  for (const Process& process : own)
    endpoints.push_back(
        {address_of(surroundings, process.node_rank), ports[out.first_rank + endpoints.size()]});
  out.role_master = endpoints.front();
  out.endpoints = std::make_shared<const std::vector<Endpoint>>(std::move(endpoints));
  return out;
}

PeerPlace place_in_component(const Placed& placed, const Process& process) {
  return {process.rank,
          static_cast<std::int32_t>(placed.component->processes.size()),
          process.placement_node_rank,
          placed.nodes,
          process.local_rank,
          process.local_world_size};
}

void add_devices(const Inventory& inventory,
                 const Plan& plan,
                 const Process& process,
                 Membership& out) {
  const placement::InventoryNode& node =
      inventory.nodes[static_cast<std::size_t>(process.node_rank)];
  std::vector<std::int32_t> own = process.devices;
  std::ranges::sort(own);
  const bool has_accelerators = process.kind == ResourceKind::Accelerator;
  if (process.kind == ResourceKind::Custom) out.hardware = own;
  out.vendor = node.vendor;
  out.device_model = node.accelerator_model;
  out.isolate = plan.isolate_accelerators;
  out.devices =
      device_view(has_accelerators ? std::move(own) : std::vector<std::int32_t>{},
                  has_accelerators && plan.isolate_accelerators ? Sight::Own : Sight::Node,
                  placement::visible_devices(inventory, process, plan.isolate_accelerators),
                  node.accelerators);
}

/// What a worker of a worker group knows of it, and sees.
void add_worker_group(const Inventory& inventory,
                      const Plan& plan,
                      const Placed& placed,
                      const Process& process,
                      const WorkerGroupLayout& layout,
                      Membership& out) {
  if (process.rank >= layout.world_size()) return;
  out.group.prefix = out.role;
  out.group.logical_node = layout.workers[static_cast<std::size_t>(process.rank)].node;
  const std::span<const std::int32_t> bundles = layout.bundles_of(process.rank);
  out.group.bundles.assign(bundles.begin(), bundles.end());
  if (!plan.isolate_accelerators) return;
  std::vector<std::int32_t> shown = process.devices;
  const std::vector<Process>& all = placed.component->processes;
  for (std::size_t tied = 0; tied < bundles.size(); ++tied) {
    const std::size_t rank = static_cast<std::size_t>(process.rank) + tied;
    if (rank >= all.size()) break;
    shown.insert(shown.end(), all[rank].devices.begin(), all[rank].devices.end());
  }
  std::ranges::sort(shown);
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  std::vector<std::int32_t> own = process.devices;
  std::ranges::sort(own);
  const Sight sight = own == shown ? Sight::Own : Sight::Engine;
  out.devices =
      device_view(std::move(own),
                  sight,
                  std::move(shown),
                  inventory.nodes[static_cast<std::size_t>(process.node_rank)].accelerators);
}

Membership membership_of(const Inventory& inventory,
                         const Plan& plan,
                         const Placed& placed,
                         const Process& process,
                         const PlanSurroundings& surroundings) {
  Membership out;
  out.job = surroundings.job;
  out.role = placed.component->name;
  out.group_name = placed.component->group_name;
  out.generation = Generation{1};
  out.incarnation = Incarnation{1};
  out.in_job = placed.in_job[placed.first_rank + static_cast<std::size_t>(process.rank)];
  out.in_role = place_in_component(placed, process);
  out.role_rank = process.rank;
  out.restarts = surroundings.restarts;
  out.job_master = placed.job_master;
  out.role_master = placed.role_master;
  out.group.endpoints = placed.endpoints;
  out.cluster_node = process.node_rank;
  out.node_group = placed.component->groups[process.group];
  add_devices(inventory, plan, process, out);
  if (surroundings.worker_group)
    add_worker_group(inventory, plan, placed, process, *surroundings.worker_group, out);
  const placement::NodeEnvironment* declared =
      placement::environment_of(inventory, *placed.component, process);
  if (declared != nullptr) out.interpreter = declared->interpreter;
  return out;
}

WorkerEnvironment environment_of(const Inventory& inventory,
                                 const Plan& plan,
                                 const Placed& placed,
                                 const Process& process,
                                 WorkerFamily family,
                                 const PlanSurroundings& surroundings) {
  EnvironmentSources sources = surroundings.sources;
  const placement::NodeEnvironment* declared =
      placement::environment_of(inventory, *placed.component, process);
  if (declared != nullptr)
    sources.node_group.insert(
        sources.node_group.end(), declared->variables.begin(), declared->variables.end());
  return environment_of(
      family, membership_of(inventory, plan, placed, process, surroundings), sources);
}

}  // namespace

Result<std::vector<Membership>> memberships_of(const Inventory& inventory,
                                               const Plan& plan,
                                               std::string_view component,
                                               const PlanSurroundings& surroundings) {
  const Result<Placed> placed = find(plan, component, surroundings);
  if (!placed) return placed.errors();
  std::vector<Membership> out;
  for (const Process& process : placed->component->processes)
    out.push_back(membership_of(inventory, plan, *placed, process, surroundings));
  return out;
}

Result<std::vector<WorkerEnvironment>> environments_of(const Inventory& inventory,
                                                       const Plan& plan,
                                                       std::string_view component,
                                                       WorkerFamily family,
                                                       const PlanSurroundings& surroundings) {
  const Result<Placed> placed = find(plan, component, surroundings);
  if (!placed) return placed.errors();
  std::vector<WorkerEnvironment> out;
  for (const Process& process : placed->component->processes)
    out.push_back(environment_of(inventory, plan, *placed, process, family, surroundings));
  return out;
}

Result<WorkerEnvironment> environment_of(const Inventory& inventory,
                                         const Plan& plan,
                                         std::string_view component,
                                         std::int32_t rank,
                                         WorkerFamily family,
                                         const PlanSurroundings& surroundings) {
  const Result<Placed> placed = find(plan, component, surroundings);
  if (!placed) return placed.errors();
  const std::vector<Process>& all = placed->component->processes;
  if (rank < 0 || static_cast<std::size_t>(rank) >= all.size())
    return not_found("component " + placed->component->name,
                     "rank " + std::to_string(rank),
                     "0 to " + std::to_string(static_cast<int>(all.size()) - 1));
  return environment_of(
      inventory, plan, *placed, all[static_cast<std::size_t>(rank)], family, surroundings);
}

}  // namespace orrery::workers
