// Text files as other systems write them.
#pragma once

#include <algorithm>
#include <string>

namespace orrery {

/// `text` without the byte order mark that it may begin with. Where no line ends in "\n", lines
/// that end in "\r" alone end in "\n" instead.
inline std::string plain_lines(std::string text) {
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  if (text.find('\n') == std::string::npos) std::replace(text.begin(), text.end(), '\r', '\n');
  return text;
}

}  // namespace orrery
