#include "runtime/shim/log_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "runtime/shim/stored_record.hpp"
#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {

LogWriter::LogWriter(std::string path, std::int64_t size_max, std::int32_t files_max)
    : path_(std::move(path)),
      size_max_(std::max<std::int64_t>(size_max, 1)),
      files_max_(std::max<std::int32_t>(files_max, 1)) {
  open_file();
}

void LogWriter::open_file() {
  file_.reset(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640));

  struct stat found {};

  const bool is_there = file_.is_open() && fstat(file_.get(), &found) == 0;
  size_ = is_there ? found.st_size : 0;
  // A first file of several is known by being alone.
  if (!is_there || (begin_ == 0 && files_max_ > 1)) return;
  const LogBegin begin{found.st_dev, found.st_ino, begin_};
  // What is told of another file would be taken for this one's where it gets that one's number.
  const std::string path = path_ + ".begin";
  if (!replace_file(path, stored(begin), Survives::Kill, 0640)) unlink(path.c_str());
}

void LogWriter::rotate() {
  file_.reset();
  if (files_max_ == 1) unlink((path_ + ".begin").c_str());
  for (std::int32_t i = files_max_ - 1; i >= 1; --i) {
    const std::string from = i == 1 ? path_ : path_ + "." + std::to_string(i - 1);
    static_cast<void>(std::rename(from.c_str(), (path_ + "." + std::to_string(i)).c_str()));
  }
  if (files_max_ == 1) unlink(path_.c_str());
  begin_ += std::exchange(size_, 0);
  open_file();
}

void LogWriter::write(std::string_view bytes) {
  keep(bytes);
  while (!bytes.empty()) {
    if (size_ >= size_max_) rotate();
    if (!file_.is_open()) open_file();
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(size_max_ - size_, 1));
    const std::string_view part = bytes.substr(0, room);
    const ssize_t written =
        file_.is_open() ? ::write(file_.get(), part.data(), part.size()) : ssize_t{-1};
    if (written < 0 && file_.is_open() && errno == EINTR) continue;
    if (written <= 0) {
      dropped_ += bytes.size();
      return;
    }
    size_ += written;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void LogWriter::keep(std::string_view bytes) {
  if (bytes.size() >= kLogTailBytes) {
    ring_.assign(bytes.substr(bytes.size() - kLogTailBytes));
    start_ = 0;
    return;
  }
  const std::size_t room = kLogTailBytes - ring_.size();
  ring_.append(bytes.substr(0, room));
  bytes.remove_prefix(std::min(room, bytes.size()));
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), ring_.size() - start_);
    std::copy_n(bytes.data(), part, ring_.begin() + static_cast<std::ptrdiff_t>(start_));
    start_ = (start_ + part) % ring_.size();
    bytes.remove_prefix(part);
  }
}

std::string LogWriter::tail() const { return ring_.substr(start_) + ring_.substr(0, start_); }

}  // namespace orrery::runtime
