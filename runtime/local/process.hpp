// One child process of this program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::runtime {

/// What to run. Nothing goes through a shell.
struct ProcessSpec {
  std::vector<std::string> command;      ///< Program, searched on PATH, and its arguments.
  std::vector<std::string> environment;  ///< "KEY=value"; all of it.
  std::string log_file;                  ///< Takes both outputs; empty: they are dropped.
};

/// A child in a process group of its own, so that its own children end with it. It dies with the
/// thread that started it (a parent-death signal), and with this object: no way out of the program
/// leaves it running. Start and destroy it on one thread that lives as long.
class Process {
 public:
  /// Starts it. Error: the program cannot be run, with the system's reason.
  static Result<Process> start(const ProcessSpec& spec);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  /// Sends a signal to the whole group; nothing happens where it has ended.
  void signal(int signal_number);

  /// How it ended, once: 0 to 255, or 128 plus the signal. Nothing while it runs. What is left of
  /// its group is killed.
  std::optional<std::int32_t> take_exit();

  /// Readable once it has ended; -1 where the system has no such descriptors.
  int exit_descriptor() const { return exit_descriptor_; }

 private:
  explicit Process(pid_t pid);

  void end_now();

  pid_t pid_ = -1;  ///< -1: taken or moved away.
  int exit_descriptor_ = -1;
};

}  // namespace orrery::runtime
