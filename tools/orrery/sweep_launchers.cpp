#include "tools/orrery/sweep_launchers.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "core/base/stream_text.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/pool_progress.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/sweep/shell_words.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

/// Whether a program of this name is in a folder of PATH.
bool is_on_path(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (access((fs::path(folder) / name).c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
  }
  return false;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

/// The template with a cell filled in; without a word for it the command stands at its end.
std::string filled_in(const std::string& words,
                      const SweepPlan& plan,
                      const SweepStore& store,
                      std::size_t number) {
  const std::string cell = std::to_string(number);
  const std::string command = cells_command(plan, store, cell);
  std::string out = words;
  if (out.find("{command}") == out.npos && out.find("{cell}") == out.npos) out += " {command}";
  replace_all(out, "{file}", shell_word(plan.identity.file));
  replace_all(out, "{out}", shell_word(fs::absolute(store.folder()).string()));
  replace_all(out, "{cell}", cell);
  replace_all(out, "{command}", command);
  return out;
}

/// Becomes a shell that runs `command` with its words in `log`; returns only where it cannot.
ExitCode become(const std::string& command, const fs::path& log) {
  const int to = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int from = open("/dev/null", O_RDONLY);
  if (to < 0 || from < 0) return ExitCode::BadInput;
  dup2(from, STDIN_FILENO);
  dup2(to, STDOUT_FILENO);
  dup2(to, STDERR_FILENO);
  execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  return ExitCode::BadInput;
}

/// One finished cell as a line of progress.
std::string line_of_cell(const SweepPlan& plan, std::size_t number, const TaskEnd& end) {
  return "cell " + std::to_string(number) + " (" + words_of(plan.sweep, plan.cells[number - 1]) +
         "): done in " + time_in_words(end.wall_s);
}

/// Keeps what a process of ours sent; what is wrong with it, where it cannot be.
std::optional<FailedCell> kept_or_failed(const SweepStore& store,
                                         std::size_t number,
                                         const TaskEnd& end,
                                         Errors& errors) {
  const RunAnswer answer = answer_of(end);
  if (!answer.errors.empty()) {
    std::string why;
    for (const Error& error : answer.errors) why += (why.empty() ? "" : "; ") + error.text();
    return FailedCell{number, end.code, why, {}};
  }
  const Status kept = store.keep(number, {end.code, end.wall_s, end.result});
  if (!kept && errors.empty()) errors = kept.errors();
  return std::nullopt;
}

/// What a command of the user's left.
std::optional<FailedCell> found_or_failed(const SweepStore& store,
                                          std::size_t number,
                                          const TaskEnd& end,
                                          const fs::path& log) {
  if (store.find(number)) return std::nullopt;
  std::string why = end.note;
  if (why.empty()) {
    why = "its command ended with code " + std::to_string(static_cast<int>(end.code)) +
          " and left no result";
    if (const std::string line = last_line_of(log); !line.empty()) why += ": " + line;
  }
  return FailedCell{number, end.code, why, log.string()};
}

Result<std::vector<FailedCell>> launch_in_processes(const SweepPlan& plan,
                                                    const SweepStore& store,
                                                    const std::vector<std::size_t>& numbers,
                                                    const SweepLauncher& launcher,
                                                    Console& console) {
  const bool by_command = launcher.kind == SweepLauncher::Kind::Command;
  const auto log_of = [&](std::size_t number) {
    return store.folder() / "logs" / (std::to_string(number) + ".log");
  };
  if (by_command) {
    std::error_code code;
    fs::create_directories(store.folder() / "logs", code);
  }
  std::vector<Task> tasks;
  for (const std::size_t number : numbers)
    tasks.push_back([&, number, by_command](ChildReport& report) {
      return by_command ? become(filled_in(launcher.words, plan, store, number), log_of(number))
                        : run_cell(plan, plan.cells[number - 1], report);
    });
  Errors errors;
  std::vector<FailedCell> failed;
  const auto on_end = [&](std::size_t task, const TaskEnd& end) -> std::string {
    const std::size_t number = numbers[task];
    auto failure = by_command ? found_or_failed(store, number, end, log_of(number))
                              : kept_or_failed(store, number, end, errors);
    if (!failure) return line_of_cell(plan, number, end);
    failed.push_back(std::move(*failure));
    return {};
  };
  run_with_bar(tasks,
               launcher.parallel == 0 ? processors() : launcher.parallel,
               by_command ? 0 : plan.jobs_each,
               "sweep " + plan.sweep.name,
               console,
               on_end);
  if (!errors.empty()) return errors;
  std::ranges::sort(failed, {}, &FailedCell::number);
  return failed;
}

}  // namespace

Result<SweepLauncher> launcher_of(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos)
    return Error{.subject = "--launcher",
                 .message =
                     "an empty text found, needed local, slurm or a command; leave the "
                     "option out to run the cells on this machine"};
  const std::string first = text.substr(begin, text.find(' ', begin) - begin);
  const std::string rest = text.substr(std::min(text.size(), begin + first.size()));
  if (first == "local") {
    if (rest.find_first_not_of(' ') == rest.npos) return SweepLauncher{};
    return Error{.subject = "--launcher",
                 .message = "words stand behind local, which takes none; remove them"};
  }
  if (first != "slurm") return SweepLauncher{.kind = SweepLauncher::Kind::Command, .words = text};
  for (const char* program : {"sbatch", "squeue", "scancel"})
    if (!is_on_path(program))
      return Error{.code = ErrorCode::NotFound,
                   .subject = "--launcher",
                   .message = "slurm needs " + std::string(program) +
                              ", which is in no folder of PATH; start it where Slurm's clients are "
                              "(Debian: slurm-client), or leave the option out to run the cells on "
                              "this machine"};
  return SweepLauncher{.kind = SweepLauncher::Kind::Slurm, .words = rest};
}

Result<std::vector<FailedCell>> launch_cells(const SweepPlan& plan,
                                             const SweepStore& store,
                                             const std::vector<std::size_t>& numbers,
                                             const SweepLauncher& launcher,
                                             Console& console) {
  if (launcher.kind == SweepLauncher::Kind::Slurm)
    return launch_slurm_array(plan, store, numbers, launcher, console);
  return launch_in_processes(plan, store, numbers, launcher, console);
}

std::string cells_command(const SweepPlan& plan, const SweepStore& store, std::string_view cells) {
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  return shell_word(program.string()) + " sweep " + shell_word(plan.identity.file) + " --out " +
         shell_word(fs::absolute(store.folder()).string()) + " --cells " + std::string(cells);
}

std::string last_line_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text = rest_of(in).value_or("");
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const std::size_t line = text.rfind('\n');
  return line == text.npos ? text : text.substr(line + 1);
}

}  // namespace orrery::cli
