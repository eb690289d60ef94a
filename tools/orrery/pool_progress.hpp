// A progress bar over runs that go on side by side.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/orrery/child_pool.hpp"
#include "tools/orrery/progress.hpp"

namespace orrery::cli {

/// Told of each task that has ended by itself; what it returns is kept as a line of progress where
/// standard error is no terminal, unless it is empty.
using TaskEnded = std::function<std::string(std::size_t task, const TaskEnd& end)>;

/// Runs all tasks under a progress bar of this title; the bar is gone afterwards. `jobs_each`: how
/// many jobs one task submits, 0 where that is not known.
std::vector<TaskEnd> run_with_bar(const std::vector<Task>& tasks,
                                  std::size_t parallel,
                                  std::uint64_t jobs_each,
                                  const std::string& title,
                                  Console& console,
                                  const TaskEnded& on_end = {});

}  // namespace orrery::cli
