// Control groups as fences around workers: to find and to kill all that a worker has started. They
// limit nothing.
#pragma once

#include <string>

namespace orrery::runtime {

/// The folder under which this program may make control groups: its own group in the unified
/// hierarchy, else in that of the freezer; empty where there is none that it may write.
std::string find_cgroup_base();

/// Makes a group; one that is there already will do. False where the system refuses.
bool make_cgroup(const std::string& group);

/// Moves the calling process into a group. Safe between fork and exec.
bool enter_cgroup(const char* procs_file);

/// The file that `enter_cgroup` wants.
std::string procs_file_of(const std::string& group);

/// Whether a process lives in a group or in one below. A group that is not there is empty.
bool cgroup_is_empty(const std::string& group);

/// Sends SIGKILL to everybody in a group. They may take a moment to go; where the kernel cannot do
/// it in one step, a process made meanwhile may escape this call but not the next.
void kill_cgroup(const std::string& group);

/// Removes an empty group and those below. False where it is not empty.
bool remove_cgroup(const std::string& group);

}  // namespace orrery::runtime
