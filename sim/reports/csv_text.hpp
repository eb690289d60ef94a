// Fields of comma-separated files, as several of them write them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace orrery::sim {

/// How much text is gathered before it is handed to a file.
inline constexpr std::size_t kCsvFlushBytes = 1 << 20;

/// Appends a field, quoted only where it must be (RFC 4180).
inline void append_csv_text(std::string_view text, std::string& out) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace orrery::sim
