#include "runtime/local/worker_environment.hpp"

#include <unistd.h>

#include <map>
#include <string_view>

#include "core/discovery/di_environment.hpp"
#include "core/discovery/port_ledger.hpp"

namespace orrery::runtime {
namespace {

/// Later values of a key win.
using Environment = std::map<std::string, std::string>;

Environment own_environment() {
  Environment out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      out[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return out;
}

std::string device_list(std::uint64_t devices) {
  std::string out;
  for (int i = 0; i < 64; ++i) {
    if ((devices >> i & 1) == 0) continue;
    if (!out.empty()) out += ',';
    out += std::to_string(i);
  }
  return out;
}

void add_identity(const SpawnWorker& order, const JobSpec& job, Environment& all) {
  all["ORRERY_JOB"] = job.name;
  all["ORRERY_ROLE"] = job.roles[order.slot.role.index()].name;
  all["ORRERY_RANK"] = std::to_string(order.rank.value);
  all["ORRERY_LOCAL_RANK"] = std::to_string(order.slot.local_rank);
  all["ORRERY_WORLD_SIZE"] = std::to_string(order.world_size);
  all["ORRERY_GENERATION"] = std::to_string(order.generation.value);
  all["ORRERY_INCARNATION"] = std::to_string(order.worker.incarnation.value);
  all["CUDA_VISIBLE_DEVICES"] = device_list(order.devices);
}

/// Where the peers of a DI-engine worker listen.
Status add_peers(const SpawnWorker& order,
                 const JobSpec& job,
                 std::span<const WorkerStart> members,
                 Environment& all) {
  if (order.rank.index() >= members.size()) return Done{};
  DiMembership membership = membership_of(job);
  if (membership.family == JobFamily::Native) return Done{};
  membership.generation = order.generation;
  for (const WorkerStart& member : members)
    membership.workers.push_back({member.role, member.local_rank, "127.0.0.1", member.first_port});
  if (!give_missing_ports(membership))
    return Error{ErrorCode::Unavailable,
                 {},
                 0,
                 {},
                 "needs " + std::to_string(job.parallel_workers) + " ports for each of " +
                     std::to_string(members.size()) + " workers, this machine has " +
                     std::to_string(kPortsPerNode) + "; ask for fewer parallel workers"};
  for (KeyValue& entry : di_environment(membership, order.rank))
    all[std::move(entry.key)] = std::move(entry.value);
  return Done{};
}

}  // namespace

Result<std::vector<std::string>> environment_of(const SpawnWorker& order,
                                                const JobSpec& job,
                                                std::span<const WorkerStart> members) {
  Environment all = own_environment();
  for (const KeyValue& entry : job.roles[order.slot.role.index()].environment)
    all[entry.key] = entry.value;
  add_identity(order, job, all);
  if (const Status peers = add_peers(order, job, members, all); !peers) return peers.errors();
  std::vector<std::string> out;
  out.reserve(all.size());
  for (const auto& [key, value] : all) out.emplace_back(key).append("=").append(value);
  return out;
}

}  // namespace orrery::runtime
