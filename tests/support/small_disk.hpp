// A file system of one MiB that a test can fill, and make read-only.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace orrery::tests {

/// Mounted for as long as it lives; seen by the thread that mounts it and those that it starts.
class SmallDisk {
 public:
  /// At a folder that is there; none where nothing can be mounted.
  static std::optional<SmallDisk> mount_at(const std::filesystem::path& folder) {
    // Once is enough for the program: what is mounted from now on is not seen outside.
    static const bool own =
        unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (!own || mount("none", folder.c_str(), "tmpfs", 0, "size=1m") != 0) return std::nullopt;
    return SmallDisk(folder);
  }

  SmallDisk(SmallDisk&& from) noexcept : folder_(std::move(from.folder_)) { from.folder_.clear(); }

  SmallDisk& operator=(SmallDisk&&) = delete;

  ~SmallDisk() {
    if (folder_.empty()) return;
    EXPECT_EQ(umount(folder_.c_str()), 0) << std::strerror(errno);
  }

  /// Takes all the space that is left.
  void fill() {
    std::ofstream out(ballast(), std::ios::binary | std::ios::app);
    const std::string block(1024, 'x');
    while (out.write(block.data(), 1024) && out.flush()) continue;
  }

  void free_space() { std::filesystem::remove(ballast()); }

  /// Nothing may be open for writing.
  void set_read_only(bool on) {
    const unsigned long flags = MS_REMOUNT | (on ? MS_RDONLY : 0);
    ASSERT_EQ(mount("none", folder_.c_str(), "tmpfs", flags, nullptr), 0) << std::strerror(errno);
  }

 private:
  explicit SmallDisk(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path ballast() const { return folder_ / "ballast"; }

  std::filesystem::path folder_;
};

}  // namespace orrery::tests
