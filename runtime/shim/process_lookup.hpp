// Processes as /proc shows them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {

/// Who has this number now; nothing where nobody has it or who has it is only waiting to be reaped.
std::optional<ProcessId> process_at(pid_t pid);

/// Whether this very process runs.
bool is_alive(const ProcessId& process);

/// Sends a signal to this very process, through a pidfd where the system has them. False: it is
/// gone.
bool send_signal(const ProcessId& process, int signal_number);

/// A descriptor that becomes readable when this very process ends; -1 where it is gone or the
/// system has no such descriptors.
int open_exit_descriptor(const ProcessId& process);

/// Whether the system has pidfds.
bool has_exit_descriptors();

/// All living descendants of `ancestor`, itself not included.
std::vector<ProcessId> descendants_of(pid_t ancestor);

/// All living processes of the session or process group that `leader` began.
std::vector<ProcessId> members_of(pid_t leader);

/// All living processes whose environment at their start held `variable`=`value`; those whose
/// environment we may not read are left out.
std::vector<ProcessId> find_marked(std::string_view variable, std::string_view value);

}  // namespace orrery::runtime
