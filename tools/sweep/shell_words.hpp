// Words of a POSIX shell.
#pragma once

#include <string>
#include <string_view>

namespace orrery::cli {

/// `text` as one word of a shell: as it is where nothing in it is special, else in single quotes.
std::string shell_word(std::string_view text);

}  // namespace orrery::cli
