// A program that is spoken to in lines, over its standard input and output.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace orrery::runtime {

/// Runs from `start` to the destructor, which kills it. It ends by itself when this process does:
/// its input ends then.
class HelperProcess {
 public:
  /// `words`: the program's path and its arguments; a path without "/" is not searched for. Errors:
  /// Unavailable where it cannot be started.
  static Result<HelperProcess> start(const std::vector<std::string>& words);

  HelperProcess(HelperProcess&& other) noexcept;
  HelperProcess& operator=(HelperProcess&& other) noexcept;
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;
  ~HelperProcess();

  /// False where it has ended.
  bool say(const std::string& line) const;

  /// The next line without its end; nothing where none comes within `longest`, or it has ended,
  /// which `ended()` tells.
  std::optional<std::string> line(Duration longest);

  bool ended() const { return ended_; }

  pid_t pid() const { return pid_; }

 private:
  HelperProcess(pid_t pid, int channel) : pid_(pid), channel_(channel) {}

  void end();

  pid_t pid_ = -1;
  int channel_ = -1;  ///< One socket, both ways.
  std::string read_;  ///< What was read and not yet given.
  bool ended_ = false;
};

}  // namespace orrery::runtime
