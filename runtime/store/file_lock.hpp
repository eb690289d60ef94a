// One process at a time: a lock that ends with the process, whatever ends it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/base/result.hpp"

namespace orrery::runtime {

/// Holds a lock on a file beside the one it guards, for as long as it lives. The file is made when
/// the lock is taken and removed when it is given back; one that a crash left is taken over.
class FileLock {
 public:
  /// Takes the lock of `guarded` at PATH.lock. Refused where it is held, also by this process, with
  /// ErrorCode::Conflict and the process that holds it; and where the file cannot be made.
  static Result<FileLock> take(const std::string& guarded);

  /// Whether a process holds the lock of `guarded` now.
  static bool is_held(const std::string& guarded);

  /// Where the lock of a file lies.
  static std::string path_of(const std::string& guarded) { return guarded + ".lock"; }

  FileLock(FileLock&& from) noexcept
      : path_(std::move(from.path_)), descriptor_(std::exchange(from.descriptor_, -1)) {}

  FileLock& operator=(FileLock&& from) noexcept {
    std::swap(path_, from.path_);
    std::swap(descriptor_, from.descriptor_);
    return *this;
  }

  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  FileLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  /// None where the file was removed by its holder before we had it.
  static Result<std::optional<FileLock>> try_take(const std::string& guarded);

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace orrery::runtime
