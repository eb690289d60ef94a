// Keeps the daemons of `orrery up` running, and ends them all.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/console/console.hpp"
#include "tools/console/verb.hpp"
#include "tools/processes/child_process.hpp"

namespace orrery::cli {

/// The first child is the controller; it is ended first, and started first.
class Supervisor {
 public:
  using Clock = std::chrono::steady_clock;

  Supervisor(std::vector<ChildProcess> children, std::string folder, Console& console)
      : children_(std::move(children)), folder_(std::move(folder)), console_(console) {}

  /// Starts all. Errors: a program that cannot be started.
  Status start();

  /// Waits for a signal, a child's end or `limit`, and starts again what has ended and is due.
  /// False after SIGINT or SIGTERM.
  bool turn(std::chrono::milliseconds limit);

  /// Whether each has told that it is ready.
  bool all_ready();

  /// What a child said that ended before it was ever ready; empty: none did.
  const std::string& failure() const { return failure_; }

  /// Ends all: asked first, killed after a grace; a second signal kills at once. True where
  /// afterwards no process of the folder is left.
  bool end();

  /// Kills all at once. True as above.
  bool kill();

 private:
  void reap();
  void start_due();
  bool wait_until_gone(std::size_t first, std::size_t count, Clock::time_point limit);
  bool kill_remains();

  std::vector<ChildProcess> children_;
  std::string folder_;
  Console& console_;
  std::string failure_;
  bool ending_ = false;
};

}  // namespace orrery::cli
