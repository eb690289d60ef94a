#include "tools/console/printable.hpp"

namespace orrery::cli {

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0u;
    // U+0080 to U+009F, which some terminals obey as well, are two bytes.
    const bool two = byte == 0xc2 && next >= 0x80 && next <= 0x9f;
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f || two;
    out += control ? '?' : text[at];
    if (two) ++at;
  }
  return out;
}

}  // namespace orrery::cli
