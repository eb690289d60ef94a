#include "tools/console/input_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/base/stream_text.hpp"

namespace orrery::cli {

Result<std::string> read_input(const std::string& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code))
    return Error{.file = path, .message = "is a folder, needed a file; name a file in it"};
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Error{
        .code = ErrorCode::NotFound,
        .file = path,
        .message = "cannot be opened: " + std::string(std::strerror(errno)) + "; check the path"};
  std::optional<std::string> text = rest_of(file);
  if (!text) return Error{.file = path, .message = "cannot be read to the end; check the disk"};
  return *std::move(text);
}

Result<std::string> read_input_or_stdin(const std::string& path) {
  if (path != "-") return read_input(path);
  std::optional<std::string> text = rest_of(std::cin);
  if (!text)
    return Error{.file = "standard input",
                 .message = "cannot be read to the end; name a file in place of -"};
  return *std::move(text);
}

}  // namespace orrery::cli
