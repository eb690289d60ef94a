#include "runtime/shim/durable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace orrery::runtime {
namespace {

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

void Descriptor::reset(int number) {
  if (number_ >= 0) close(number_);
  number_ = number;
}

std::optional<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  std::string bytes;
  char block[1 << 16];
  while (true) {
    const ssize_t count = read(file.get(), block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return bytes;
    if (bytes.size() + static_cast<std::size_t>(count) > bytes_max) return std::nullopt;
    bytes.append(block, static_cast<std::size_t>(count));
  }
}

void remake_folder(const std::string& folder) {
  if (access(folder.c_str(), F_OK) != 0 && errno == ENOENT) mkdir(folder.c_str(), 0711);
}

bool reserve_file(const std::string& path, std::size_t bytes) {
  const Descriptor file(
      open((path + ".new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file.is_open() && posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)) == 0;
}

bool replace_file(const std::string& path, std::string_view bytes, Survives survives, mode_t mode) {
  const std::string temporary = path + ".new";
  const bool flush = survives == Survives::PowerLoss;
  {
    // What is there keeps its blocks until they are written to: they may have been set aside.
    const Descriptor file(
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!file.is_open() || fchmod(file.get(), mode) != 0 || !write_all(file.get(), bytes) ||
        ftruncate(file.get(), static_cast<off_t>(bytes.size())) != 0)
      return false;
    if (flush && fsync(file.get()) != 0) return false;
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) return false;
  if (!flush) return true;
  const Descriptor folder(open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder.is_open() && fsync(folder.get()) == 0;
}

}  // namespace orrery::runtime
