#include "runtime/workers/checkpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "core/base/number_text.hpp"
#include "runtime/workers/descriptor.hpp"

namespace orrery::worker {
namespace {

Error file_error(const std::string& file, int line, std::string message) {
  return {ErrorCode::Unavailable, file, line, "checkpoint", std::move(message)};
}

/// A rename lasts once the folder is on disk too. Best effort: not every file system can.
void sync_folder_of(const std::string& file) {
  const std::string folder = std::filesystem::absolute(file).parent_path().string();
  const Descriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open.is_open()) ::fsync(open.number());
}

}  // namespace

Result<std::int64_t> read_checkpoint(const std::string& file) {
  const Descriptor open(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!open.is_open()) {
    if (errno == ENOENT) return std::int64_t{0};
    return file_error(file, 0, std::strerror(errno));
  }
  char bytes[64];
  const ssize_t got = ::read(open.number(), bytes, sizeof bytes);
  if (got < 0) return file_error(file, 0, std::strerror(errno));
  std::string_view text(bytes, static_cast<std::size_t>(got));
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::int64_t step = parsed_number<std::int64_t>(text).value_or(-1);
  if (step < 0)
    return file_error(
        file, 1, "holds no number of steps; choose another file, or delete it to start anew");
  return step;
}

Status write_checkpoint(const std::string& file, std::int64_t step, std::int32_t rank) {
  const std::string next = file + ".rank" + std::to_string(rank) + ".next";
  const std::string text = std::to_string(step) + "\n";
  Descriptor open(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!open.is_open()) return file_error(next, 0, std::strerror(errno));
  const ssize_t written = ::write(open.number(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()) || ::fsync(open.number()) != 0) {
    const int reason = errno;
    ::unlink(next.c_str());
    return file_error(file, 0, std::string("cannot be written: ") + std::strerror(reason));
  }
  open.close();
  if (::rename(next.c_str(), file.c_str()) != 0) return file_error(file, 0, std::strerror(errno));
  sync_folder_of(file);
  return Done{};
}

}  // namespace orrery::worker
