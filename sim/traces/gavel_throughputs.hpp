// Measured training speeds by job type, size and GPU model, as Gavel's artifact keeps them.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "core/models/device_speeds.hpp"

namespace orrery::sim {

/// Whether `text` is an object and has keys of such a table.
bool looks_like_gavel_throughputs(std::string_view text);

/// Reads `{"v100": {"('ResNet-18 (batch size 16)', 1)": {"null": 4.7, "(...)": [2.5, 3.1]}}}`:
/// model, job type and number of GPUs, then steps a second alone ("null") and beside another job on
/// the same GPUs: of the first and of the other. Pairs of different numbers of GPUs are left out.
Result<DeviceSpeeds> parse_gavel_throughputs(std::string_view text, std::string_view file_name);

}  // namespace orrery::sim
