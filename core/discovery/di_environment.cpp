#include "core/discovery/di_environment.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/cluster/port_ledger.hpp"

namespace orrery {
namespace {

const DiWorker& worker_at(const DiMembership& membership, Rank rank) {
  invariant(rank.index() < membership.workers.size(), "the rank is one of the membership");
  return membership.workers[rank.index()];
}

std::string short_name(const DiMembership& membership) {
  const std::string_view space = namespace_of(membership.job);
  return space.empty() ? membership.job : membership.job.substr(space.size() + 1);
}

std::string pod_of(const DiMembership& membership, Rank rank) {
  const std::string job = short_name(membership);
  if (membership.family == JobFamily::Group)
    return job + "-" + std::to_string(membership.generation.value) + "-" +
           std::to_string(rank.value);
  const DiWorker& worker = worker_at(membership, rank);
  return job + "-" + membership.roles[worker.role.index()] + "-" +
         std::to_string(worker.local_rank);
}

void append(std::string& list, std::string_view entry) {
  if (!list.empty()) list += ',';
  list += entry;
}

/// first, first + 1, ..., first + count - 1.
std::string count_up(std::int64_t first, std::int32_t count) {
  std::string out;
  for (std::int32_t i = 0; i < count; ++i) append(out, std::to_string(first + i));
  return out;
}

std::string url(const std::string& host, std::int32_t port) {
  return "tcp://" + host + ":" + std::to_string(port);
}

/// The peers that the worker connects to when it starts; the others connect to it.
std::string attach_list(const DiMembership& membership, Rank rank) {
  std::string out;
  if (rank == Rank{0} || membership.topology == Topology::Alone) return out;
  if (membership.topology == Topology::Star)
    return url(host_of(membership, Rank{0}), membership.workers[0].first_port);
  for (Rank peer{0}; peer < rank; ++peer.value) {
    const std::string host = host_of(membership, peer);
    for (std::int32_t i = 0; i < membership.parallel_workers; ++i)
      append(out, url(host, membership.workers[peer.index()].first_port + i));
  }
  return out;
}

std::string job_id(const DiMembership& membership) {
  const std::string_view space = namespace_of(membership.job);
  return space.empty() ? membership.job : std::string(space) + "/" + short_name(membership);
}

void add_group(const DiMembership& membership, Rank rank, std::vector<KeyValue>& out) {
  const std::int32_t parallel = membership.parallel_workers;
  const std::int32_t first = worker_at(membership, rank).first_port;
  const std::string peers = attach_list(membership, rank);
  out.push_back({"DI_PARALLEL_WORKERS_ARG", "--parallel-workers=" + std::to_string(parallel)});
  out.push_back({"DI_PORTS_ARG", "--ports=" + count_up(first, parallel)});
  out.push_back(
      {"DI_NODE_IDS_ARG", "--node-ids=" + count_up(std::int64_t{rank.value} * parallel, parallel)});
  out.push_back({"DI_ATTACHED_NODES_ARG", peers.empty() ? "" : "--attach-to=" + peers});
}

/// "data-collector" as DI_DATA_COLLECTOR_NODES.
std::string nodes_key(std::string_view role) {
  std::string out = "DI_";
  for (const char c : role) {
    const bool is_lower = c >= 'a' && c <= 'z';
    out += c == '-' ? '_' : is_lower ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out + "_NODES";
}

void add_tasks(const DiMembership& membership, Rank rank, std::vector<KeyValue>& out) {
  std::string nodes;
  std::string ports;
  std::vector<std::string> of_role(membership.roles.size());
  for (Rank peer{0}; peer.index() < membership.workers.size(); ++peer.value) {
    const DiWorker& worker = membership.workers[peer.index()];
    const std::string host = host_of(membership, peer);
    append(nodes, host);
    append(ports, std::to_string(worker.first_port));
    append(of_role[worker.role.index()], host);
  }
  out.push_back({"DI_RANK", std::to_string(rank.value)});
  out.push_back({"DI_NODES", std::move(nodes)});
  out.push_back({"DI_NODE_PORTS", std::move(ports)});
  for (std::size_t i = 0; i < of_role.size(); ++i)
    out.push_back({nodes_key(membership.roles[i]), std::move(of_role[i])});
}

/// The lowest place for `count` ports between blocks that ascend by their first port.
std::int32_t lowest_place(const std::vector<PortRange>& taken, std::int32_t count) {
  std::int32_t first = kPortFirst;
  for (const PortRange& block : taken) {
    if (block.first - first >= count) break;
    first = std::max(first, block.end());
  }
  return first;
}

void insert(std::vector<PortRange>& taken, PortRange block) {
  const auto place = std::upper_bound(
      taken.begin(), taken.end(), block, [](const PortRange& a, const PortRange& b) {
        return a.first < b.first;
      });
  taken.insert(place, block);
}

}  // namespace

DiMembership membership_of(const JobSpec& spec) {
  DiMembership out;
  out.job = spec.name;
  out.family = spec.family;
  out.topology = spec.topology;
  out.parallel_workers = spec.parallel_workers;
  out.roles.reserve(spec.roles.size());
  for (const RoleSpec& role : spec.roles) out.roles.push_back(role.name);
  return out;
}

std::string host_of(const DiMembership& membership, Rank rank) {
  if (membership.domain.empty()) return worker_at(membership, rank).host;
  const std::string_view space = namespace_of(membership.job);
  std::string out = pod_of(membership, rank) + ".di-" + short_name(membership) + ".";
  if (!space.empty()) out.append(space).append(".");
  return out + membership.domain;
}

bool give_missing_ports(DiMembership& membership) {
  std::map<std::string, std::vector<PortRange>> taken;
  const std::int32_t count = membership.parallel_workers + 1;
  const auto size = static_cast<std::uint32_t>(membership.workers.size());
  for (Rank rank{0}; rank < Rank{size}; ++rank.value) {
    const std::int32_t given = membership.workers[rank.index()].first_port;
    if (given != 0) insert(taken[host_of(membership, rank)], {given, count});
  }
  for (Rank rank{0}; rank < Rank{size}; ++rank.value) {
    std::int32_t& port = membership.workers[rank.index()].first_port;
    if (port != 0) continue;
    std::vector<PortRange>& on_host = taken[host_of(membership, rank)];
    const std::int32_t place = lowest_place(on_host, count);
    if (count > kPortEnd - place) return false;
    port = place;
    insert(on_host, {port, count});
  }
  return true;
}

std::vector<KeyValue> di_environment(const DiMembership& membership, Rank rank) {
  std::vector<KeyValue> out;
  if (membership.family == JobFamily::Native) return out;
  out.push_back({"DI_JOB_ID", job_id(membership)});
  out.push_back({"DI_JOB_GENERATION", std::to_string(membership.generation.value)});
  if (!membership.server_url.empty()) out.push_back({"DI_SERVER_URL", membership.server_url});
  if (membership.family == JobFamily::Group)
    add_group(membership, rank, out);
  else
    add_tasks(membership, rank, out);
  return out;
}

}  // namespace orrery
