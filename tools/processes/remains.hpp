// Processes that still belong to a state folder: workers, their shims and what those have started.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace orrery::cli {

/// Those of this user whose environment has a variable ORRERY_... that begins with `folder`, or
/// that are an orrery-shim with `folder` among their arguments. Never this process.
std::vector<pid_t> processes_of(const std::string& folder);

}  // namespace orrery::cli
