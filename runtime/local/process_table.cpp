#include "runtime/local/process_table.hpp"

#include <algorithm>
#include <csignal>

#include "runtime/local/worker_environment.hpp"

namespace orrery::runtime {

Status ProcessTable::spawn(const SpawnWorker& order,
                           const JobSpec& spec,
                           std::span<const WorkerStart> members) {
  const RoleSpec& role = spec.roles[order.slot.role.index()];
  ProcessSpec process;
  process.command = role.command;
  Result<std::vector<std::string>> environment = environment_of(order, spec, members);
  if (!environment) return environment.errors();
  process.environment = std::move(environment).value();
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
