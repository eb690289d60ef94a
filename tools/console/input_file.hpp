// Whole input files.
#pragma once

#include <string>

#include "core/base/result.hpp"

namespace orrery::cli {

/// The content of a file. Errors: NotFound where it cannot be opened, InvalidInput where it is a
/// folder or cannot be read to the end.
Result<std::string> read_input(const std::string& path);

/// The same, or what is left of the standard input where `path` is "-".
Result<std::string> read_input_or_stdin(const std::string& path);

}  // namespace orrery::cli
