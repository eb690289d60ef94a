#include "tools/orrery/pool_progress.hpp"

#include <algorithm>

namespace orrery::cli {
namespace {

Progress sum_of(const std::vector<TaskProgress>& tasks,
                const std::vector<bool>& over,
                std::uint64_t jobs_each) {
  Progress sum;
  sum.runs_total = tasks.size();
  sum.jobs_total = jobs_each * tasks.size();
  bool going = false;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    sum.events += tasks[i].events;
    sum.jobs_done += over[i] ? jobs_each : std::min(tasks[i].jobs_done, jobs_each);
    sum.runs_done += over[i] ? 1 : 0;
    if (over[i] || tasks[i].events == 0) continue;
    sum.simulated_s =
        going ? std::min(sum.simulated_s, tasks[i].simulated_s) : tasks[i].simulated_s;
    going = true;
  }
  return sum;
}

}  // namespace

std::vector<TaskEnd> run_with_bar(const std::vector<Task>& tasks,
                                  std::size_t parallel,
                                  std::uint64_t jobs_each,
                                  const std::string& title,
                                  Console& console,
                                  const TaskEnded& on_end) {
  ProgressBar bar(console, title);
  PoolWatch watch{[&](const std::vector<TaskProgress>& progress, const std::vector<bool>& over) {
                    bar.show(sum_of(progress, over, jobs_each));
                  },
                  {}};
  if (on_end)
    watch.on_end = [&](std::size_t task, const TaskEnd& end) {
      if (const std::string line = on_end(task, end); !line.empty()) bar.note(line);
    };
  return run_in_children(tasks, parallel, watch);
}

}  // namespace orrery::cli
