// A sweep as one job array of Slurm: its tasks run this program with --cells, and meet in the
// folder of the sweep.
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/base/number_text.hpp"
#include "core/base/stream_text.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/orrery/progress.hpp"
#include "tools/orrery/sweep_launchers.hpp"
#include "tools/sweep/cell_list.hpp"
#include "tools/sweep/shell_words.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kCellsPoll_ms = 200;
/// Slurm's controller is asked more rarely: it has others to serve.
constexpr auto kQueuePoll = std::chrono::seconds(2);
/// Cells of other machines may come into sight later than the end of their tasks.
constexpr auto kLateCells = std::chrono::seconds(5);
/// Slurm's own default of MaxArraySize.
constexpr std::size_t kArrayMax = 1001;

/// What a command said, both outputs together, and how it ended.
struct Ran {
  int code = -1;
  std::string text;
};

Ran run_shell(const std::string& command) {
  Ran out;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> block;
  for (std::size_t count = 0; (count = fread(block.data(), 1, block.size(), pipe)) > 0;)
    out.text.append(block.data(), count);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) out.code = WEXITSTATUS(status);
  while (!out.text.empty() && out.text.back() == '\n') out.text.pop_back();
  return out;
}

/// Highest index of an array, by the cluster's settings.
std::size_t array_index_max() {
  const Ran asked = run_shell("scontrol show config");
  const std::size_t at = asked.text.find("MaxArraySize");
  if (asked.code != 0 || at == asked.text.npos) return kArrayMax - 1;
  const std::size_t digits = asked.text.find_first_of("0123456789", at);
  const std::size_t end = asked.text.find_first_not_of("0123456789", digits);
  const auto size = parsed_number<std::size_t>(asked.text.substr(digits, end - digits));
  return size && *size > 1 ? *size - 1 : kArrayMax - 1;
}

/// Cells in as many tasks as there may be, in order.
std::vector<std::vector<std::size_t>> split(const std::vector<std::size_t>& numbers,
                                            std::size_t tasks_max) {
  const std::size_t each = (numbers.size() + tasks_max - 1) / tasks_max;
  std::vector<std::vector<std::size_t>> tasks;
  for (std::size_t i = 0; i < numbers.size(); i += each)
    tasks.emplace_back(
        numbers.begin() + static_cast<std::ptrdiff_t>(i),
        numbers.begin() + static_cast<std::ptrdiff_t>(std::min(i + each, numbers.size())));
  return tasks;
}

/// Whether the array still waits or runs. Not sure (Slurm does not answer): it does.
bool is_queued(const std::string& job) {
  const Ran asked = run_shell("squeue -h -j " + shell_word(job) + " -o %T");
  if (asked.code == 0) return !asked.text.empty();
  return asked.text.find("Invalid job id") == asked.text.npos;
}

class SlurmArray {
 public:
  SlurmArray(const SweepPlan& plan, const SweepStore& store, Console& console)
      : plan_(plan),
        store_(store),
        console_(console),
        folder_(fs::absolute(store.folder() / "slurm")) {
    std::error_code code;
    fs::create_directories(folder_, code);
  }

  Result<std::vector<FailedCell>> run(const std::vector<std::size_t>& numbers,
                                      const SweepLauncher& launcher) {
    std::vector<std::size_t> due = numbers;
    if (const std::string job = earlier_job(); !job.empty()) {
      console_.err("remark: the job array " + job +
                   " of an earlier process is still queued; its end is awaited first\n");
      wait_for(job, due);
      due = missing_of(due);
    }
    if (interrupted() || due.empty()) return std::vector<FailedCell>{};
    tasks_ = split(due, array_index_max());
    std::string lines;
    for (const auto& task : tasks_) lines += cell_list_text(task) + "\n";
    if (const Status written = store_.put("slurm/tasks", lines); !written) return written.errors();
    const Ran submitted = run_shell(submission(launcher));
    // "123" or "123;cluster".
    const std::string job = submitted.text.substr(0, submitted.text.find(';'));
    if (submitted.code != 0 || !parsed_number<std::uint64_t>(job))
      return Error{.code = ErrorCode::Unavailable,
                   .subject = "--launcher",
                   .message = "sbatch took no job: " + submitted.text +
                              "; see that Slurm is up and allows it (options for sbatch stand "
                              "behind slurm: --launcher 'slurm --partition=all')"};
    if (const Status written = store_.put("slurm/job", job + "\n"); !written)
      return written.errors();
    wait_for(job, due);
    if (interrupted()) return std::vector<FailedCell>{};
    return failed_of(due);
  }

 private:
  std::string submission(const SweepLauncher& launcher) const {
    const std::string script = "exec " +
                               cells_command(plan_,
                                             store_,
                                             "\"$(sed -n \"${SLURM_ARRAY_TASK_ID}p\" " +
                                                 shell_word((folder_ / "tasks").string()) + ")\"") +
                               " --parallel \"${SLURM_CPUS_PER_TASK:-1}\"";
    std::string command =
        "sbatch --parsable --job-name=" + shell_word("orrery-" + plan_.sweep.name) +
        " --output=" + shell_word((folder_ / "%a.out").string()) + " --array=1-" +
        std::to_string(tasks_.size());
    if (launcher.parallel > 0) command += "%" + std::to_string(launcher.parallel);
    return command + " " + launcher.words + " --wrap=" + shell_word(script);
  }

  /// The array that a process which was killed had submitted, while it is queued; else empty.
  std::string earlier_job() const {
    std::ifstream in(folder_ / "job", std::ios::binary);
    std::string job = rest_of(in).value_or("");
    while (!job.empty() && job.back() == '\n') job.pop_back();
    return !job.empty() && is_queued(job) ? job : std::string();
  }

  std::vector<std::size_t> missing_of(const std::vector<std::size_t>& numbers) const {
    std::vector<std::size_t> out;
    for (const std::size_t number : numbers)
      if (!store_.find(number)) out.push_back(number);
    return out;
  }

  /// Until the array is gone and what it left is in sight. An interrupt cancels it.
  void wait_for(const std::string& job, const std::vector<std::size_t>& numbers) const {
    using Clock = std::chrono::steady_clock;
    ProgressBar bar(console_, "sweep " + plan_.sweep.name + " (Slurm job " + job + ")");
    std::vector<std::size_t> left = numbers;
    auto ask_at = Clock::now();
    std::optional<Clock::time_point> gone;
    while (!left.empty() && !interrupted()) {
      left = missing_of(left);
      bar.show({.runs_done = numbers.size() - left.size(), .runs_total = numbers.size()});
      if (gone && Clock::now() - *gone > kLateCells) return;
      if (!gone && Clock::now() >= ask_at) {
        if (!is_queued(job)) gone = Clock::now();
        ask_at = Clock::now() + kQueuePoll;
      }
      poll(nullptr, 0, kCellsPoll_ms);
    }
    if (interrupted()) run_shell("scancel " + shell_word(job));
  }

  std::vector<FailedCell> failed_of(const std::vector<std::size_t>& numbers) const {
    std::vector<FailedCell> out;
    for (const std::size_t number : missing_of(numbers)) {
      const auto task = std::ranges::find_if(
          tasks_, [&](const auto& cells) { return std::ranges::binary_search(cells, number); });
      const fs::path log = folder_ / (std::to_string(task - tasks_.begin() + 1) + ".out");
      const std::string line = last_line_of(log);
      out.push_back({number,
                     ExitCode::Unmet,  // Slurm or a user has ended it: no bug of Orrery.
                     "its task of the array left no result" + (line.empty() ? "" : ": " + line),
                     log.string()});
    }
    return out;
  }

  const SweepPlan& plan_;
  const SweepStore& store_;
  Console& console_;
  fs::path folder_;
  std::vector<std::vector<std::size_t>> tasks_;
};

}  // namespace

Result<std::vector<FailedCell>> launch_slurm_array(const SweepPlan& plan,
                                                   const SweepStore& store,
                                                   const std::vector<std::size_t>& numbers,
                                                   const SweepLauncher& launcher,
                                                   Console& console) {
  return SlurmArray(plan, store, console).run(numbers, launcher);
}

}  // namespace orrery::cli
