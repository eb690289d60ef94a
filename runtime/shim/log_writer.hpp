// The log of one worker: files that take turns, and its end in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/shim/durable_file.hpp"

namespace orrery::runtime {

/// Writes `PATH`, and before a file grows beyond its size renames it to `PATH.1`, that one to
/// `PATH.2`, and so on; the oldest goes. `PATH.begin` tells how much came before (LogBegin). A disk
/// that refuses costs the log, never the worker: what cannot be written is dropped, and the end
/// stays in memory all the same.
class LogWriter {
 public:
  /// `size_max`: bytes of one file; `files_max`: kept, the current one included. Both at least 1.
  /// Goes on in a file that is there.
  LogWriter(std::string path, std::int64_t size_max, std::int32_t files_max);

  void write(std::string_view bytes);

  /// The last bytes, at most kLogTailBytes.
  std::string tail() const;

  /// Bytes that no disk took.
  std::uint64_t dropped() const { return dropped_; }

 private:
  void open_file();
  void rotate();
  void keep(std::string_view bytes);

  std::string path_;
  std::int64_t size_max_;
  std::int32_t files_max_;
  Descriptor file_;
  std::int64_t size_ = 0;
  std::int64_t begin_ = 0;  ///< Bytes in files before this one.
  std::uint64_t dropped_ = 0;
  std::string ring_;       ///< Filled up first, then a ring.
  std::size_t start_ = 0;  ///< Oldest byte of a full ring.
};

}  // namespace orrery::runtime
