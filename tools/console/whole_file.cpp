#include "tools/console/whole_file.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

bool write_bytes(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  return file.good();
}

/// The file that a link leads to: it keeps its name, and the link its target.
fs::path behind_links(const fs::path& path) {
  std::error_code code;
  fs::path file = fs::canonical(path, code);
  return code ? path : file;
}

}  // namespace

bool write_whole_file(const fs::path& path, std::string_view text) {
  const fs::path file = behind_links(path);
  std::error_code code;
  const fs::file_status status = fs::status(file, code);
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_bytes(file, text);
  fs::path unfinished = file;
  unfinished += ".unfinished";
  if (!std::ofstream(unfinished, std::ios::binary | std::ios::trunc))
    return write_bytes(file, text);
  bool written = write_bytes(unfinished, text);
  int why = errno;
  if (written) {
    if (fs::exists(status)) fs::permissions(unfinished, status.permissions(), code);
    fs::rename(unfinished, file, code);
    written = !code;
    why = code.value();
  }
  if (!written) fs::remove(unfinished, code);
  errno = why;
  return written;
}

}  // namespace orrery::cli
