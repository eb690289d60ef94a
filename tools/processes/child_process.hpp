// One daemon that `up` keeps running.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::cli {

/// A child process with a log file, started again after a pause that doubles where it dies young.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// `words` are its program and arguments; `--parent` and `--ready-fd` are added. What it prints
  /// goes to the end of `log`.
  ChildProcess(std::string name, std::vector<std::string> words, std::string log);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  /// Kills what still runs.
  ~ChildProcess();

  const std::string& name() const { return name_; }

  const std::string& log() const { return log_; }

  bool runs() const { return pid_ > 0; }

  /// In a process group of its own: the terminal's Ctrl-C is for `up` alone. The calling thread
  /// must be the one that lives longest. Errors: Unavailable.
  Status start();

  void signal(int number) const;

  /// Takes note of the end, if it has ended. Returns how, in words: "killed by signal 9".
  std::optional<std::string> reap();

  /// The exit code of a life that ended by itself; -1 where a signal ended it.
  int exit_code() const { return exit_code_; }

  /// Whether it ever told that it is ready, in any life.
  bool was_ready() const { return was_ready_; }

  /// Looks whether it has told that it is ready; does not wait.
  bool look_ready();

  /// When to start it again.
  Clock::time_point due() const { return due_; }

 private:
  void close_pipe();

  std::string name_;
  std::vector<std::string> words_;
  std::string log_;
  pid_t pid_ = -1;
  int ready_ = -1;  ///< The pipe's end that is read.
  int exit_code_ = 0;
  bool was_ready_ = false;
  Clock::time_point started_{};
  Clock::time_point due_{};
  std::chrono::milliseconds pause_;
};

}  // namespace orrery::cli
