#include "tools/cluster_world/store_disk.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

namespace orrery::cli {
namespace {

constexpr const char* kSize = "size=32m";

Error unavailable(const std::string& folder, const std::string& what) {
  return {.code = ErrorCode::Unavailable,
          .file = folder,
          .subject = "disk of the store",
          .message = what + ": " + std::strerror(errno) + "; run it as root, or use world model"};
}

}  // namespace

Result<StoreDisk> StoreDisk::mount(const std::string& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (::unshare(CLONE_NEWNS) != 0) return unavailable(folder, "no mount namespace");
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return unavailable(folder, "mounts cannot be kept apart");
  if (::mount("tmpfs", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, kSize) != 0)
    return unavailable(folder, "no file system in memory");
  StoreDisk out;
  out.folder_ = folder;
  return out;
}

StoreDisk::StoreDisk(StoreDisk&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), fills_(other.fills_) {}

StoreDisk& StoreDisk::operator=(StoreDisk&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(fills_, other.fills_);
  return *this;
}

StoreDisk::~StoreDisk() {
  if (!folder_.empty()) ::umount2(folder_.c_str(), MNT_DETACH);
}

Status StoreDisk::fill() {
  if (++fills_ > 1) return Done{};
  const std::string path = folder_ + "/filler";
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return unavailable(path, "cannot be made");
  // Whole pages first, then what is left of one.
  for (const std::size_t size : {std::size_t{1} << 20, std::size_t{4096}, std::size_t{1}}) {
    const std::vector<char> zeros(size);
    while (::write(file, zeros.data(), zeros.size()) > 0) {
    }
  }
  ::close(file);
  return Done{};
}

Status StoreDisk::clear() {
  if (--fills_ > 0) return Done{};
  const std::string path = folder_ + "/filler";
  if (::unlink(path.c_str()) != 0) return unavailable(path, "cannot be removed");
  return Done{};
}

}  // namespace orrery::cli
