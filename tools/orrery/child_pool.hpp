// Runs tasks side by side, each in a process of its own.
//
// A simulation engine may be used once per process, a broken invariant ends its process, and the
// memory of a run is measured by process: so a run is a process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/console/verb.hpp"

namespace orrery::cli {

/// What a task tells while it runs.
struct TaskProgress {
  std::uint64_t jobs_done = 0;
  std::uint64_t jobs_total = 0;
  std::uint64_t events = 0;
  double simulated_s = 0;
};

/// The child's end: what it tells its parent. Does not own the descriptor.
class ChildReport {
 public:
  explicit ChildReport(int descriptor) : descriptor_(descriptor) {}

  void progress(const TaskProgress& progress);

  /// The task's answer, any bytes; once, at the end.
  void result(std::string_view bytes);

 private:
  void send(char kind, std::string_view bytes);

  int descriptor_;
};

/// How a task ended.
struct TaskEnd {
  ExitCode code = ExitCode::InvariantBroken;  ///< Killed by a signal: InvariantBroken, with `note`.
  std::string result;
  std::string note;   ///< What the system says where the process did not end by itself.
  double wall_s = 0;  ///< From its start to its end, on the clock of the machine.
};

/// Runs in the child; what it returns is the child's exit code.
using Task = std::function<ExitCode(ChildReport& report)>;

/// Called in the parent with what is known of every task: its last progress, and whether it is
/// over.
struct PoolWatch {
  std::function<void(const std::vector<TaskProgress>& tasks, const std::vector<bool>& over)>
      on_change;

  /// Called in the parent with each task that has ended by itself, at once; may be empty.
  std::function<void(std::size_t task, const TaskEnd& end)> on_end = {};
};

/// Runs all tasks, at most `parallel` at a time, in their order. Results stand in the order of the
/// tasks, however they end. An interrupt kills the children; the tasks that had not ended then are
/// Interrupted. The caller must have no other thread.
std::vector<TaskEnd> run_in_children(const std::vector<Task>& tasks,
                                     std::size_t parallel,
                                     const PoolWatch& watch);

/// Processors that this process may use.
std::size_t processors();

}  // namespace orrery::cli
