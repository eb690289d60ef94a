// Which bytes are text.
#pragma once

#include <cstddef>
#include <string_view>

namespace orrery {

/// Length in bytes of the UTF-8 character at the start of `text`, which is not empty; 0 where the
/// bytes are none: overlong forms, surrogates and numbers above U+10FFFF are none either.
std::size_t utf8_length(std::string_view text);

}  // namespace orrery
