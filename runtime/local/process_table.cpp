#include "runtime/local/process_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>

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

std::vector<std::string> environment_of(const SpawnWorker& order,
                                        const JobSpec& job,
                                        const RoleSpec& role) {
  Environment all = own_environment();
  for (const KeyValue& entry : role.environment) all[entry.key] = entry.value;
  all["ORRERY_JOB"] = job.name;
  all["ORRERY_ROLE"] = role.name;
  all["ORRERY_RANK"] = std::to_string(order.rank.value);
  all["ORRERY_LOCAL_RANK"] = std::to_string(order.slot.local_rank);
  all["ORRERY_WORLD_SIZE"] = std::to_string(order.world_size);
  all["ORRERY_GENERATION"] = std::to_string(order.generation.value);
  all["ORRERY_INCARNATION"] = std::to_string(order.worker.incarnation.value);
  all["CUDA_VISIBLE_DEVICES"] = device_list(order.devices);
  std::vector<std::string> out;
  out.reserve(all.size());
  for (const auto& [key, value] : all) out.emplace_back(key).append("=").append(value);
  return out;
}

}  // namespace

Status ProcessTable::spawn(const SpawnWorker& order, const JobSpec& spec) {
  const RoleSpec& role = spec.roles[order.slot.role.index()];
  ProcessSpec process;
  process.command = role.command;
  process.environment = environment_of(order, spec, role);
  if (!log_folder_.empty())
    process.log_file = log_folder_ + "/" + spec.name + "-" + role.name + "-" +
                       std::to_string(order.slot.local_rank) + "-" +
                       std::to_string(order.worker.incarnation.value) + ".log";
  Result<Process> started = Process::start(process);
  if (!started) return started.errors();
  processes_.insert_or_assign(order.worker, std::move(started).value());
  return Done{};
}

void ProcessTable::signal(const SignalWorker& order) {
  const auto found = processes_.find(order.worker);
  if (found == processes_.end()) return;
  found->second.signal(order.signal == WorkerSignal::Ask ? SIGTERM : SIGKILL);
}

std::vector<WorkerEnd> ProcessTable::take_ends() {
  std::vector<WorkerEnd> ends;
  for (auto it = processes_.begin(); it != processes_.end();) {
    const std::optional<std::int32_t> exit_code = it->second.take_exit();
    if (!exit_code) {
      ++it;
      continue;
    }
    ends.push_back({it->first, *exit_code});
    it = processes_.erase(it);
  }
  return ends;
}

void ProcessTable::append_descriptors(std::vector<int>& descriptors) const {
  for (const auto& [name, process] : processes_)
    if (process.exit_descriptor() >= 0) descriptors.push_back(process.exit_descriptor());
}

bool ProcessTable::must_be_polled() const {
  return std::any_of(processes_.begin(), processes_.end(), [](const auto& entry) {
    return entry.second.exit_descriptor() < 0;
  });
}

}  // namespace orrery::runtime
