// Files that a scenario's workload names.
#pragma once

#include <string>

#include "core/base/result.hpp"

namespace orrery::sim {

/// The whole file as `plain_lines` has it; `key` is where a scenario names it, for the message.
Result<std::string> read_workload_file(const std::string& path, const std::string& key);

}  // namespace orrery::sim
