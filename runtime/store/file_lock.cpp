#include "runtime/store/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace orrery::runtime {
namespace {

const char* lock_remedy(int code) {
  switch (code) {
    case EACCES:
    case EPERM:
    case EROFS:
      return "the folder is read-only; allow writing, or choose another place";
    case ENOSPC:
    case EDQUOT:
      return "the disk is full; free space, then start again";
    case ENOENT:
    case ENOTDIR:
      return "its folder is not there; make it";
    default:
      return "check the disk, then start again";
  }
}

Error refusal(ErrorCode code, const std::string& guarded, std::string message) {
  return {code, guarded, 0, "journal", std::move(message)};
}

Error cannot(const std::string& guarded, const std::string& path, int code) {
  return refusal(
      ErrorCode::Unavailable,
      guarded,
      "its lock " + path + " cannot be made: " + std::strerror(code) + "; " + lock_remedy(code));
}

/// The process that the holder wrote down, in words.
std::string holder_in(int descriptor) {
  char text[32] = {};
  const ssize_t length = pread(descriptor, text, sizeof text - 1, 0);
  return length > 0 ? "process " + std::string(text, static_cast<std::size_t>(length))
                    : std::string("another process");
}

void write_holder(int descriptor) {
  const std::string text = std::to_string(getpid());
  // It only serves the error message of a process that is refused, so a full disk does no harm.
  if (ftruncate(descriptor, 0) == 0)
    if (pwrite(descriptor, text.data(), text.size(), 0) < 0) return;
}

bool is_at(const std::string& path, int descriptor) {
  struct stat named {};

  struct stat held {};

  return stat(path.c_str(), &named) == 0 && fstat(descriptor, &held) == 0 &&
         named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& guarded) {
  while (true) {
    Result<std::optional<FileLock>> taken = try_take(guarded);
    if (!taken) return taken.errors();
    if (*taken) return std::move(**taken);
  }
}

bool FileLock::is_held(const std::string& guarded) {
  const int descriptor = ::open(path_of(guarded).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return false;
  const bool held = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);  // Gives back what was taken.
  return held;
}

Result<std::optional<FileLock>> FileLock::try_take(const std::string& guarded) {
  const std::string path = path_of(guarded);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return cannot(guarded, path, errno);
  FileLock lock({}, descriptor);  // Without a path it removes nothing.
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return cannot(guarded, path, errno);
    return refusal(ErrorCode::Conflict,
                   guarded,
                   holder_in(descriptor) + " has it open for appending (" + path +
                       " is locked), and one controller at a time may; end that one, or give this "
                       "one a journal of its own");
  }
  if (!is_at(path, descriptor)) return std::optional<FileLock>{};
  lock.path_ = path;
  write_holder(descriptor);
  return std::optional<FileLock>(std::move(lock));
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  // While the lock is held, so that only our own file is removed.
  if (!path_.empty()) unlink(path_.c_str());
  close(descriptor_);
}

}  // namespace orrery::runtime
