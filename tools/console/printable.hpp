// Words of others on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace orrery::cli {

/// `text` (UTF-8) with "?" for each control character but newline and tab: what a worker wrote
/// would be obeyed by a terminal.
std::string printable(std::string_view text);

}  // namespace orrery::cli
