#include "runtime/agent/worker_environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/cluster/port_ledger.hpp"
#include "core/discovery/di_environment.hpp"
#include "core/discovery/port_demand.hpp"
#include "core/workers/port_bands.hpp"
#include "core/workers/worker_environment.hpp"
#include "core/workers/worker_group.hpp"

namespace orrery::runtime {
namespace {

std::vector<KeyValue> own_environment() {
  std::vector<KeyValue> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      out.push_back({std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))});
  }
  return out;
}

/// The worker's place in its job, and in its role where the members are known.
void add_places(const SpawnWorker& order,
                std::span<const WorkerStart> members,
                workers::Membership& worker) {
  const auto rank = static_cast<std::int32_t>(order.rank.value);
  const auto size = static_cast<std::int32_t>(order.world_size);
  worker.role_rank = order.slot.local_rank;
  if (order.rank.index() >= members.size()) {
    worker.in_job = {rank, size, 0, 1, rank, size};
    return;
  }
  std::vector<std::int32_t> nodes;
  std::map<std::int32_t, std::int32_t> node_in_role;  // By index inside the role.
  for (const WorkerStart& member : members) {
    nodes.push_back(static_cast<std::int32_t>(member.node.value));
    if (member.role == order.slot.role) node_in_role[member.local_rank] = nodes.back();
  }
  std::vector<std::int32_t> nodes_of_role;
  std::size_t at = 0;
  for (const auto& [local_rank, node] : node_in_role) {
    if (local_rank < order.slot.local_rank) ++at;
    nodes_of_role.push_back(node);
  }
  worker.in_job = workers::places_of(nodes)[order.rank.index()];
  if (at < nodes_of_role.size()) worker.in_role = workers::places_of(nodes_of_role)[at];
  worker.cluster_node = nodes[order.rank.index()];
  worker.hardware = workers::bit_numbers(members[order.rank.index()].hardware);
}

/// The layout of the worker group that a role is; nothing where it is none.
std::optional<workers::WorkerGroupLayout> layout_of(const JobSpec& job, const RoleSpec& role) {
  for (const VirtualClusterSpec& cluster : job.virtual_clusters) {
    if (cluster.name != role.workers.virtual_cluster) continue;
    Result<workers::WorkerGroupLayout> layout = workers::lay_out(role.name, cluster, role.workers);
    if (layout) return std::move(layout).value();
  }
  return std::nullopt;
}

/// What a worker of a worker group knows of it. Returns the devices that it sees: a leader's are
/// those of everybody tied to it.
std::uint64_t add_group(const SpawnWorker& order,
                        const JobSpec& job,
                        std::span<const WorkerStart> members,
                        workers::Membership& worker) {
  const auto layout = layout_of(job, job.roles[order.slot.role.index()]);
  const std::int32_t rank = order.slot.local_rank;
  if (!layout || rank >= layout->world_size()) return order.devices;
  worker.group.prefix = worker.role;
  worker.group.logical_node = layout->workers[static_cast<std::size_t>(rank)].node;
  const std::span<const std::int32_t> bundles = layout->bundles_of(rank);
  worker.group.bundles.assign(bundles.begin(), bundles.end());
  std::uint64_t shown = order.devices;
  for (const WorkerStart& member : members)
    if (member.role == order.slot.role && member.local_rank >= rank &&
        member.local_rank < rank + static_cast<std::int32_t>(bundles.size()))
      shown |= member.devices;
  return shown;
}

/// Label of the node group on which the worker was placed, where the job has no entry for it: then
/// the role is on one.
std::string node_group_of(const RoleSpec& role, const workers::Membership& worker) {
  const std::int32_t replicas = worker.in_role ? worker.in_role->size : 0;
  for (const RolePlacement& placement : role.placements)
    if (placement.replicas == replicas && !placement.node_groups.empty())
      return placement.node_groups.front();
  return "cluster";
}

/// Where each worker of the role may listen for its peers, by index inside the role.
std::vector<workers::Endpoint> endpoints_of(RoleIndex role,
                                            const JobSpec& job,
                                            std::span<const WorkerStart> members,
                                            const Surroundings& around) {
  std::map<std::int32_t, workers::Endpoint> by_index;
  for (const WorkerStart& member : members)
    if (member.role == role)
      by_index[member.local_rank] = {around.address_of(member.node),
                                     master_port(job, member.first_port)};
  std::vector<workers::Endpoint> out;
  for (const auto& [index, endpoint] : by_index) out.push_back(endpoint);
  return out;
}

/// Where the first worker of the role does; nothing where the controller has given it no port.
workers::Endpoint role_master(RoleIndex role,
                              const JobSpec& job,
                              std::span<const WorkerStart> members,
                              const Surroundings& around) {
  const WorkerStart* first = nullptr;
  for (const WorkerStart& member : members)
    if (member.role == role && (first == nullptr || member.local_rank < first->local_rank))
      first = &member;
  if (first == nullptr || first->first_port == 0) return {};
  return {around.address_of(first->node), master_port(job, first->first_port)};
}

workers::Membership membership_of(const SpawnWorker& order,
                                  const JobSpec& job,
                                  std::span<const WorkerStart> members,
                                  const Surroundings& around) {
  workers::Membership out;
  out.job = job.name;
  out.role = job.roles[order.slot.role.index()].name;
  out.generation = order.generation;
  out.incarnation = order.worker.incarnation;
  add_places(order, members, out);
  out.job_master = job_master(order.worker.job, job, members, around);
  out.role_master = role_master(order.slot.role, job, members, around);
  if (job.worker_family == WorkerFamily::NemoRl && out.role_master.port != 0)
    out.group.endpoints = std::make_shared<const std::vector<workers::Endpoint>>(
        endpoints_of(order.slot.role, job, members, around));
  if (around.restarts)
    out.restarts = {static_cast<std::int32_t>(*around.restarts), job.backoff_limit};
  out.vendor = around.vendor;
  out.device_model = around.device_model;
  const RoleSpec& role = job.roles[order.slot.role.index()];
  out.group_name = role.process->group_name;
  out.isolate = role.process->isolate_devices;
  const NodeProgram* here = role.process->program_of(out.cluster_node, order.slot.local_rank);
  out.node_group =
      here != nullptr && !here->node_group.empty() ? here->node_group : node_group_of(role, out);
  if (here != nullptr) out.interpreter = here->interpreter;
  std::uint64_t shown = add_group(order, job, members, out);
  workers::Sight sight = shown == order.devices ? workers::Sight::Own : workers::Sight::Engine;
  if ((!role.placements.empty() && order.devices == 0) || !out.isolate) {
    // It sits on its node, or on hardware of it, or is not isolated, and sees what the node has
    // (rules P16, P19).
    sight = workers::Sight::Node;
    shown = around.devices >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << around.devices) - 1;
  }
  out.devices = workers::device_view(
      workers::bit_numbers(order.devices),
      sight,
      workers::bit_numbers(shown),
      std::max(around.devices, static_cast<std::int32_t>(std::bit_width(shown))));
  return out;
}

/// Where the peers of a DI-engine worker listen.
Result<std::vector<KeyValue>> peers_of(const SpawnWorker& order,
                                       const JobSpec& job,
                                       std::span<const WorkerStart> members,
                                       const Surroundings& around) {
  if (order.rank.index() >= members.size()) return std::vector<KeyValue>{};
  DiMembership membership = orrery::membership_of(job);
  if (membership.family == JobFamily::Native) return std::vector<KeyValue>{};
  membership.generation = order.generation;
  membership.server_url = around.server_url;
  for (const WorkerStart& member : members)
    membership.workers.push_back(
        {member.role, member.local_rank, around.address_of(member.node), member.first_port});
  if (!give_missing_ports(membership))
    return Error{ErrorCode::Unavailable,
                 {},
                 0,
                 {},
                 "needs " + std::to_string(job.parallel_workers + 1) + " ports for each of " +
                     std::to_string(members.size()) + " workers, this machine has " +
                     std::to_string(kPortsPerNode) + "; ask for fewer parallel workers"};
  return di_environment(membership, order.rank);
}

}  // namespace

const std::string& Surroundings::address_of(NodeId node) const {
  static const std::string kThisMachine = "127.0.0.1";
  const auto found = addresses.find(node);
  return found == addresses.end() ? kThisMachine : found->second;
}

workers::Endpoint job_master(JobId id,
                             const JobSpec& job,
                             std::span<const WorkerStart> members,
                             const Surroundings& around) {
  const NodeId first = members.empty() ? NodeId::none() : members[0].node;
  const bool has_port = !members.empty() && members[0].first_port != 0;
  return {around.address_of(first),
          has_port ? master_port(job, members[0].first_port) : workers::master_port(id)};
}

Result<std::vector<std::string>> environment_of(const SpawnWorker& order,
                                                const JobSpec& job,
                                                std::span<const WorkerStart> members,
                                                const Surroundings& around) {
  Result<std::vector<KeyValue>> peers = peers_of(order, job, members, around);
  if (!peers) return peers.errors();
  workers::EnvironmentSources sources;
  sources.node = own_environment();
  sources.user = job.roles[order.slot.role.index()].environment;
  sources.computed = std::move(peers).value();
  sources.overrides = around.overrides;
  const workers::Membership worker = membership_of(order, job, members, around);
  const ProcessSpec& process = *job.roles[order.slot.role.index()].process;
  if (const NodeProgram* here = process.program_of(worker.cluster_node, order.slot.local_rank))
    sources.node_group = here->environment;
  const workers::WorkerEnvironment all =
      workers::environment_of(job.worker_family, worker, sources);
  std::vector<std::string> out;
  out.reserve(all.variables.size());
  for (const auto& [key, value] : all.variables) out.emplace_back(key).append("=").append(value);
  return out;
}

}  // namespace orrery::runtime
