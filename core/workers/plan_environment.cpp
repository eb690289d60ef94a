#include "core/workers/plan_environment.hpp"

#include <algorithm>
#include <utility>

#include "core/workers/port_bands.hpp"

namespace orrery::workers {
namespace {

using placement::ComponentPlan;
using placement::Inventory;
using placement::Plan;
using placement::Process;
using placement::ResourceKind;

/// One process with its component.
struct Placed {
  const ComponentPlan* component = nullptr;
  const Process* process = nullptr;
  std::int32_t index = 0;  ///< Of the component in the plan.
};

Error not_found(std::string subject, std::string found, const std::string& needed) {
  return {ErrorCode::NotFound,
          {},
          0,
          std::move(subject),
          "found " + std::move(found) + ", needed " + needed + "; choose one of them"};
}

Result<Placed> find(const Plan& plan, std::string_view component, std::int32_t rank) {
  std::string names;
  for (std::size_t i = 0; i < plan.components.size(); ++i) {
    const ComponentPlan& one = plan.components[i];
    names.append(names.empty() ? "" : ", ").append(one.name);
    if (one.name != component) continue;
    if (rank < 0 || static_cast<std::size_t>(rank) >= one.processes.size())
      return not_found("component " + one.name,
                       "rank " + std::to_string(rank),
                       "0 to " + std::to_string(static_cast<int>(one.processes.size()) - 1));
    return Placed{&one, &one.processes[static_cast<std::size_t>(rank)], static_cast<int>(i)};
  }
  return not_found("placement", "no component " + std::string(component), "one of " + names);
}

std::string address_of(const PlanSurroundings& surroundings, std::int32_t node) {
  const auto at = static_cast<std::size_t>(node);
  if (at < surroundings.addresses.size()) return surroundings.addresses[at];
  return "node-" + std::to_string(node);
}

/// The place among all processes of the plan.
WorldPlace place_in_plan(const Plan& plan, const Placed& placed) {
  std::vector<std::int32_t> nodes;
  std::size_t rank = 0;
  for (const ComponentPlan& component : plan.components) {
    if (&component == placed.component)
      rank = nodes.size() + static_cast<std::size_t>(placed.process->rank);
    for (const Process& process : component.processes) nodes.push_back(process.node_rank);
  }
  return places_of(nodes)[rank];
}

WorldPlace place_in_component(const Placed& placed) {
  const std::vector<Process>& all = placed.component->processes;
  const Process& process = *placed.process;
  const std::int32_t last =
      std::ranges::max(all, {}, &Process::placement_node_rank).placement_node_rank;
  return {process.rank,
          static_cast<std::int32_t>(all.size()),
          process.placement_node_rank,
          last + 1,
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
                  placement::visible_devices(inventory, process, plan.isolate_accelerators),
                  node.accelerators,
                  has_accelerators && plan.isolate_accelerators ? Sight::Own : Sight::Node);
}

Membership membership_of(const Inventory& inventory,
                         const Plan& plan,
                         const Placed& placed,
                         const PlanSurroundings& surroundings) {
  const Process& process = *placed.process;
  Membership out;
  out.job = surroundings.job;
  out.role = placed.component->name;
  out.generation = Generation{1};
  out.incarnation = Incarnation{1};
  out.in_job = place_in_plan(plan, placed);
  out.in_role = place_in_component(placed);
  out.role_rank = process.rank;
  const std::int32_t ports = kMasterPorts.end - kMasterPorts.first;
  const ComponentPlan& first = *std::ranges::find_if(
      plan.components, [](const ComponentPlan& one) { return !one.processes.empty(); });
  out.job_master = {address_of(surroundings, first.processes.front().node_rank),
                    kMasterPorts.first};
  out.role_master = {address_of(surroundings, placed.component->processes.front().node_rank),
                     kMasterPorts.first + (placed.index + 1) % ports};
  out.cluster_node = process.node_rank;
  out.node_group = placed.component->groups[process.group];
  add_devices(inventory, plan, process, out);
  const placement::NodeEnvironment* declared =
      placement::environment_of(inventory, *placed.component, process);
  if (declared != nullptr) out.interpreter = declared->interpreter;
  return out;
}

}  // namespace

Result<Membership> membership_of(const Inventory& inventory,
                                 const Plan& plan,
                                 std::string_view component,
                                 std::int32_t rank,
                                 const PlanSurroundings& surroundings) {
  const Result<Placed> placed = find(plan, component, rank);
  if (!placed) return placed.errors();
  return membership_of(inventory, plan, *placed, surroundings);
}

Result<WorkerEnvironment> environment_of(const Inventory& inventory,
                                         const Plan& plan,
                                         std::string_view component,
                                         std::int32_t rank,
                                         WorkerFamily family,
                                         const PlanSurroundings& surroundings) {
  const Result<Placed> placed = find(plan, component, rank);
  if (!placed) return placed.errors();
  EnvironmentSources sources = surroundings.sources;
  const placement::NodeEnvironment* declared =
      placement::environment_of(inventory, *placed->component, *placed->process);
  if (declared != nullptr)
    sources.node_group.insert(
        sources.node_group.end(), declared->variables.begin(), declared->variables.end());
  return environment_of(family, membership_of(inventory, plan, *placed, surroundings), sources);
}

}  // namespace orrery::workers
