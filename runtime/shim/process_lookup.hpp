// Processes as /proc shows them.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {

/// The process of this number; nothing where there is none or it only waits to be reaped.
std::optional<ProcessId> process_at(pid_t pid);

/// Whether this very process runs.
bool is_alive(const ProcessId& process);

/// Whether no thread of this very process will ever run its program again: for each a SIGKILL is
/// pending, or it has ended. False where that cannot be seen, and where the process is gone.
bool is_doomed(const ProcessId& process);

/// Whether the text of a /proc/PID/task/TID/status says so of one thread.
bool says_doomed(const std::string& status);

/// Sends a signal to this very process, through a pidfd where the system has them. False: it is
/// gone.
bool send_signal(const ProcessId& process, int signal_number);

/// A descriptor that becomes readable when this very process ends; -1 where it is gone or the
/// system has no such descriptors.
int open_exit_descriptor(const ProcessId& process);

/// All living descendants of `ancestor`, itself not included.
std::vector<ProcessId> descendants_of(pid_t ancestor);

/// A process of a worker: its shim, the worker or what that has started.
struct MarkedProcess {
  ProcessId process;
  std::string home;  ///< The worker's folder, or a path in it; it may be gone.
};

/// One look at all processes of the machine, taken when it is first asked for and kept: for callers
/// that clear up after many workers at once.
class ProcessScan {
 public:
  /// All living processes of the session or process group that `leader` began.
  std::vector<ProcessId> members_of(pid_t leader);

  /// All living processes whose environment at their start held kTokenVariable with this value;
  /// those whose environment we may not read are left out. Waits at most 10 ms, and only where a
  /// process has no environment, as in the middle of an exec.
  std::vector<ProcessId> marked(const std::string& token);

  /// All living processes of workers whose own folders lie, or lay, in `folder`, an absolute path.
  /// Left out are those whose environment we may not read.
  std::vector<MarkedProcess> of_workers_in(const std::string& folder);

 private:
  struct Member {
    ProcessId process;
    pid_t group = 0;
    pid_t session = 0;
  };

  void look();
  void note_marks(const ProcessId& process, std::string_view environment);

  bool looked_ = false;
  std::vector<Member> members_;
  std::multimap<std::string, MarkedProcess> marks_;  ///< By token.
};

}  // namespace orrery::runtime
