#include "tools/console/input_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

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
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad())
    return Error{.file = path, .message = "cannot be read to the end; check the disk"};
  return text;
}

}  // namespace orrery::cli
