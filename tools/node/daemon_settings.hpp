// Where a daemon's settings come from: --config and --set.
#pragma once

#include <vector>

#include "core/base/result.hpp"
#include "runtime/config/read/config_reader.hpp"
#include "tools/console/arguments.hpp"

namespace orrery::cli {

/// The file of --config, or none, with each --set; `more` overrides come last. Errors: all values
/// of --set that are none, or a file that cannot be read.
Result<runtime::ConfigText> open_settings(const Arguments& arguments,
                                          std::vector<scenarios::Override> more = {});

}  // namespace orrery::cli
