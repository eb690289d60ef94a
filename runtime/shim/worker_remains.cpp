#include "runtime/shim/worker_remains.hpp"

#include <algorithm>
#include <csignal>
#include <sstream>
#include <vector>

#include "runtime/shim/cgroup.hpp"
#include "runtime/shim/durable_file.hpp"
#include "runtime/shim/lease_file.hpp"

namespace orrery::runtime {
namespace {

std::vector<ProcessId> session_of(const ProcessId& worker, bool just_died, ProcessScan& scan) {
  const std::optional<ProcessId> now = process_at(worker.pid);
  const bool number_is_ours = now ? *now == worker : just_died;
  return number_is_ours ? scan.members_of(worker.pid) : std::vector<ProcessId>{};
}

std::vector<ProcessId> remains_of(const WorkerLaunch& launch,
                                  const std::optional<WorkerProcesses>& processes,
                                  bool just_died,
                                  ProcessScan& scan) {
  std::vector<ProcessId> found = scan.marked(launch.token);
  if (processes && processes->boot == boot_id() && processes->worker.pid > 0)
    for (const ProcessId& member : session_of(processes->worker, just_died, scan))
      found.push_back(member);
  return found;
}

}  // namespace

bool clear_remains(const WorkerLaunch& launch,
                   const std::optional<WorkerProcesses>& processes,
                   bool just_died,
                   ProcessScan& scan) {
  bool clear = true;
  if (!launch.cgroup.empty() && !cgroup_is_empty(launch.cgroup)) {
    kill_cgroup(launch.cgroup);
    clear = false;
  }
  for (const ProcessId& process : remains_of(launch, processes, just_died, scan)) {
    send_signal(process, SIGKILL);
    clear = false;
  }
  if (clear && !launch.cgroup.empty()) remove_cgroup(launch.cgroup);
  return clear;
}

bool remains_are_doomed(const WorkerLaunch& launch,
                        const std::optional<WorkerProcesses>& processes,
                        bool just_died,
                        ProcessScan& scan) {
  std::vector<ProcessId> found = remains_of(launch, processes, just_died, scan);
  if (!launch.cgroup.empty()) {
    std::istringstream members(read_file(procs_file_of(launch.cgroup)).value_or(""));
    for (pid_t pid = 0; members >> pid;)
      if (const std::optional<ProcessId> member = process_at(pid)) found.push_back(*member);
  }
  return !found.empty() && std::all_of(found.begin(), found.end(), is_doomed);
}

}  // namespace orrery::runtime
