// Custom hardware of a node, from a file of its own: one `type: count` a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/cluster/resources.hpp"

namespace orrery::runtime {

/// Reads the text; '#' begins a remark, empty lines are let be. Errors: every line that is wrong,
/// by file and line. Types differ, and all counts together are at most 64.
Result<std::vector<HardwareCount>> parse_hardware(std::string_view text, const std::string& file);

/// The same of a file on disk.
Result<std::vector<HardwareCount>> load_hardware(const std::string& path);

}  // namespace orrery::runtime
