#include "scenarios/language/placement/placed_worker_groups.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "core/vcluster/form.hpp"
#include "core/vcluster/seats.hpp"

namespace orrery::scenarios {
namespace {

using placement::ComponentPlan;
using placement::Plan;
using placement::Process;
using placement::ResourceKind;
using vcluster::NodeOffer;

/// Numbers of device models, equal for equal names.
class Models {
 public:
  DeviceModelId of(const std::string& name) {
    const auto next = static_cast<std::uint16_t>(ids_.size());
    return DeviceModelId{ids_.emplace(name, next).first->second};
  }

 private:
  std::map<std::string, std::uint16_t> ids_;
};

/// Every node as declared, racks and domains numbered through.
std::vector<NodeOffer> empty_cluster(const std::vector<NodeGroup>& groups, Models& models) {
  std::vector<NodeOffer> offers;
  std::int32_t rack = 0;
  std::int32_t domain = 0;
  for (const NodeGroup& group : groups) {
    const std::uint64_t devices =
        group.devices == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << group.devices) - 1;
    const std::int32_t per_domain = std::max(1, group.nodes_per_nvlink_domain);
    for (std::int32_t i = 0; i < group.count; ++i) {
      NodeOffer offer;
      offer.node = NodeId{static_cast<std::uint32_t>(offers.size())};
      offer.free_devices = offer.all_devices = devices;
      offer.model = group.devices > 0 ? models.of(group.device_model) : DeviceModelId::none();
      offer.cpu_free = offer.cpu_total = group.cpu;
      offer.memory_free = offer.memory_total = group.memory;
      if (group.nodes_per_rack > 0) offer.rack = rack + i / group.nodes_per_rack;
      offer.nvlink_domain = domain + i / per_domain;
      offer.usable = i < group.count - group.spares;
      offers.push_back(offer);
    }
    if (group.nodes_per_rack > 0) rack += (group.count - 1) / group.nodes_per_rack + 1;
    domain += (group.count - 1) / per_domain + 1;
  }
  return offers;
}

/// Devices of the job's placed roles are taken.
void take_placed(const PlacedJob& job, const Plan& plan, std::vector<NodeOffer>& offers) {
  for (const ComponentPlan& component : plan.components) {
    const bool own = std::any_of(job.roles.begin(), job.roles.end(), [&](const auto& role) {
      return role.component == component.name;
    });
    if (!own) continue;
    for (const Process& process : component.processes)
      if (process.kind == ResourceKind::Accelerator)
        for (const std::int32_t device : process.devices)
          offers.at(static_cast<std::size_t>(process.node_rank)).free_devices &=
              ~(std::uint64_t{1} << device);
  }
}

ComponentPlan component_of(std::string name, const std::vector<vcluster::WorkerSeat>& seats) {
  ComponentPlan component;
  component.name = std::move(name);
  component.groups = {std::string(placement::kClusterLabel)};
  const bool devices = std::any_of(
      seats.begin(), seats.end(), [](const auto& worker) { return worker.seat.devices != 0; });
  component.hardware_types = {devices ? "Accelerator" : "Node"};
  std::map<std::uint32_t, std::pair<std::int32_t, std::int32_t>> nodes;  // Dense rank, processes.
  for (const vcluster::WorkerSeat& worker : seats) {
    const auto dense = static_cast<std::int32_t>(nodes.size());
    auto& [node_rank, count] = nodes.try_emplace(worker.seat.node.value, dense, 0).first->second;
    Process process;
    process.rank = static_cast<std::int32_t>(component.processes.size());
    process.node_rank = static_cast<std::int32_t>(worker.seat.node.value);
    process.placement_node_rank = node_rank;
    process.kind = devices ? ResourceKind::Accelerator : ResourceKind::Node;
    process.local_rank = count++;
    for (std::uint64_t left = worker.seat.devices; left != 0; left &= left - 1)
      process.devices.push_back(std::countr_zero(left));
    component.processes.push_back(std::move(process));
  }
  for (Process& process : component.processes)
    process.local_world_size = nodes.at(static_cast<std::uint32_t>(process.node_rank)).second;
  return component;
}

}  // namespace

std::string add_worker_groups(const Scenario& scenario, const PlacedJob& job, Plan& plan) {
  const JobSpec& spec = scenario.jobs.at(job.index).spec;
  if (spec.virtual_clusters.empty()) return {};
  Models models;
  std::vector<NodeOffer> offers = empty_cluster(scenario.groups, models);
  take_placed(job, plan, offers);
  std::vector<vcluster::BundleRequest> requests;
  for (const VirtualClusterSpec& cluster : spec.virtual_clusters)
    requests.push_back(
        {&cluster,
         cluster.device_model.empty() ? DeviceModelId::none() : models.of(cluster.device_model)});
  const vcluster::Forming forming = vcluster::form(offers, requests);
  if (forming.outcome != vcluster::Outcome::Formed) return forming.reason;
  for (const RoleSpec& role : spec.roles) {
    const auto cluster = std::find_if(
        spec.virtual_clusters.begin(), spec.virtual_clusters.end(), [&](const auto& each) {
          return each.name == role.workers.virtual_cluster;
        });
    if (!role.workers.is_set() || cluster == spec.virtual_clusters.end()) continue;
    const auto index = static_cast<std::size_t>(cluster - spec.virtual_clusters.begin());
    plan.components.push_back(
        component_of(job.prefix + role.name,
                     vcluster::worker_seats(*cluster, role.workers, forming.clusters[index])));
  }
  return {};
}

}  // namespace orrery::scenarios
