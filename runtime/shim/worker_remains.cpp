#include "runtime/shim/worker_remains.hpp"

#include <csignal>
#include <vector>

#include "runtime/shim/cgroup.hpp"
#include "runtime/shim/lease_file.hpp"

namespace orrery::runtime {
namespace {

std::vector<ProcessId> session_of(const ProcessId& worker, bool just_died, ProcessScan& scan) {
  const std::optional<ProcessId> now = process_at(worker.pid);
  const bool number_is_ours = now ? *now == worker : just_died;
  return number_is_ours ? scan.members_of(worker.pid) : std::vector<ProcessId>{};
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
  std::vector<ProcessId> found = scan.marked(launch.token);
  if (processes && processes->boot == boot_id() && processes->worker.pid > 0)
    for (const ProcessId& member : session_of(processes->worker, just_died, scan))
      found.push_back(member);
  for (const ProcessId& process : found) {
    send_signal(process, SIGKILL);
    clear = false;
  }
  if (clear && !launch.cgroup.empty()) remove_cgroup(launch.cgroup);
  return clear;
}

}  // namespace orrery::runtime
