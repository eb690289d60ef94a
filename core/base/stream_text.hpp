// The text of a stream, where reading may fail: of files that are folders, vanish or break off.
#pragma once

#include <array>
#include <istream>
#include <optional>
#include <string>

namespace orrery {

/// What is left in `in`; nothing where it could not be opened or reading it failed. Never throws,
/// unlike std::istreambuf_iterator, which asks the buffer past the stream: a folder, or a file of
/// a process that has ended, opens well and fails at the first read.
inline std::optional<std::string> rest_of(std::istream& in) {
  std::string text;
  std::array<char, 1 << 14> block;
  while (in.read(block.data(), block.size()) || in.gcount() > 0)
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  if (in.bad() || !in.eof()) return std::nullopt;
  return text;
}

}  // namespace orrery
