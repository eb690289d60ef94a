// A child process whose output the test reads line by line.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/workers/descriptor.hpp"

namespace orrery::worker {

/// How long a test waits for what must happen; far longer than it takes.
inline constexpr int kPatience_ms = 30'000;

/// Both outputs are read as one. Killed, if need be, when it is destroyed.
class Child {
 public:
  /// `environment` is all of it: "KEY=value".
  Child(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  /// Writes a line to its input.
  void tell(const std::string& line);

  /// Its next line; nothing once it has ended, or when patience has.
  std::optional<std::string> next_line();

  /// Reads until a line contains `text`, and returns that one; nothing where none does.
  std::optional<std::string> line_with(const std::string& text);

  void signal(int number);

  /// Waits for its end: 0 to 255, or 128 plus the signal. -1: patience ended first.
  int exit_code();

  /// All that was read, for messages.
  const std::string& heard() const { return heard_; }

 private:
  pid_t pid_ = -1;
  Descriptor input_;
  Descriptor output_;
  std::string unread_;
  std::string heard_;
};

/// Holds a free port of the loopback for others to listen at: bound, never listening.
class ReservedPort {
 public:
  ReservedPort();

  int number() const { return number_; }

 private:
  Descriptor socket_;
  int number_ = 0;
};

}  // namespace orrery::worker
