// sweep: a grid of parameters, policies and seeds of one scenario, resumable.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/console/interrupt.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/sweep_launchers.hpp"
#include "tools/orrery/sweep_output.hpp"
#include "tools/orrery/sweep_plan.hpp"
#include "tools/orrery/verb_functions.hpp"
#include "tools/sweep/cell_list.hpp"
#include "tools/sweep/shell_words.hpp"

namespace orrery::cli {
namespace {

/// What the command line asks for.
struct SweepWish {
  SweepPlan plan;
  SweepLauncher launcher;
  std::string out;
  std::optional<std::vector<std::size_t>> cells;  ///< Only these, without tables.
};

/// Options that do not go together.
Errors contradictions(const Arguments& arguments) {
  Errors errors;
  const auto both = [&](const char* one, const char* other, const std::string& why) {
    if (arguments.has(one) && arguments.has(other))
      errors.push_back(
          {.subject = one,
           .message = std::string("stands beside ") + other + ", " + why + "; keep one of them"});
  };
  both("--cells", "--launcher", "which would start a sweep within a sweep");
  both("--cells", "--dry-run", "which runs no cell");
  both("--cells", "--json", "but some cells make no document");
  return errors;
}

Result<SweepWish> sweep_wish(const Arguments& arguments) {
  Errors errors = contradictions(arguments);
  const auto add = [&](const Errors& more) {
    errors.insert(errors.end(), more.begin(), more.end());
  };
  SweepWish wish;
  if (const auto text = arguments.value("--launcher")) {
    auto launcher = launcher_of(*text);
    if (launcher)
      wish.launcher = std::move(*launcher);
    else
      add(launcher.errors());
  }
  if (const auto text = arguments.value("--parallel")) {
    const auto number = whole_number("--parallel", *text, 1, 1024);
    if (number)
      wish.launcher.parallel = static_cast<std::size_t>(*number);
    else
      add(number.errors());
  }
  const bool some = arguments.has("--cells");
  auto plan = plan_sweep(arguments.operands().front(), some ? SweepCheck::Parts : SweepCheck::All);
  if (!plan) {
    add(plan.errors());
    return errors;
  }
  wish.plan = std::move(*plan);
  wish.out = arguments.value("--out").value_or("out/sweep-" + wish.plan.sweep.name);
  if (const auto text = arguments.value("--cells")) {
    auto cells = cell_list("--cells", *text, wish.plan.cells.size());
    if (cells)
      wish.cells = std::move(*cells);
    else
      add(cells.errors());
  }
  if (!errors.empty()) return errors;
  return wish;
}

std::vector<std::size_t> all_numbers(const SweepPlan& plan) {
  std::vector<std::size_t> out;
  for (const SweepCell& cell : plan.cells) out.push_back(cell.number);
  return out;
}

std::vector<std::size_t> not_finished(const SweepStore& store,
                                      const std::vector<std::size_t>& numbers) {
  std::vector<std::size_t> out;
  for (const std::size_t number : numbers)
    if (!store.find(number)) out.push_back(number);
  return out;
}

constexpr std::size_t kFailuresTold = 10;

/// The first cells that failed, why, and how to run it alone.
void tell_of_failures(const SweepPlan& plan,
                      const std::vector<FailedCell>& failed,
                      Console& console) {
  for (std::size_t i = 0; i < std::min(failed.size(), kFailuresTold); ++i) {
    const FailedCell& each = failed[i];
    const SweepCell& cell = plan.cells[each.number - 1];
    console.err("cell " + std::to_string(each.number) + " (" + words_of(plan.sweep, cell) +
                "): failed: " + each.why + "\n");
    if (!each.log.empty()) console.err("  its output: " + each.log + "\n");
    console.err("  alone: " + command_of(plan.sweep, cell) + "\n");
  }
  if (failed.size() > kFailuresTold)
    console.err("and " + std::to_string(failed.size() - kFailuresTold) + " more cells failed\n");
}

ExitCode worst_of(const std::vector<FailedCell>& failed) {
  ExitCode worst = ExitCode::Unmet;
  // A command of the user's ends with what code it likes.
  for (const FailedCell& each : failed)
    if (each.code <= ExitCode::Unreachable) worst = std::max(worst, each.code);
  return worst;
}

/// How far the sweep is, where it did not come to its end.
ExitCode tell_of_rest(const SweepWish& wish,
                      const SweepStore& store,
                      const std::vector<FailedCell>& failed,
                      Console& console) {
  const std::size_t total = wish.plan.cells.size();
  const std::size_t done = total - not_finished(store, all_numbers(wish.plan)).size();
  if (interrupted()) console.err("interrupted: ");
  tell_of_failures(wish.plan, failed, console);
  console.err(std::to_string(done) + " of " + std::to_string(total) +
              " cells are done and kept in " + store.folder().string() +
              "; the same command goes on with the others\n");
  return interrupted() ? ExitCode::Interrupted : worst_of(failed);
}

/// Runs some cells for a launcher: one line for each, no tables.
ExitCode run_some(const SweepWish& wish, const SweepStore& store, Console& console) {
  const std::vector<std::size_t> due = not_finished(store, *wish.cells);
  const auto failed = launch_cells(wish.plan, store, due, wish.launcher, console);
  if (!failed) {
    console.errors(failed.errors());
    return ExitCode::BadInput;
  }
  if (interrupted()) return tell_of_rest(wish, store, *failed, console);
  for (const std::size_t number : *wish.cells)
    if (const auto cell = store.find(number))
      console.out("cell " + std::to_string(number) + ": done, exit code " +
                  std::to_string(static_cast<int>(cell->code)) + "\n");
  tell_of_failures(wish.plan, *failed, console);
  return failed->empty() ? ExitCode::Met : worst_of(*failed);
}

/// All results in order, and what is to be said of them. Every cell is finished.
struct Gathered {
  std::vector<SweepResult> results;
  std::string remarks;
  ExitCode worst = ExitCode::Met;
};

Gathered gathered_cells(const SweepPlan& plan, const SweepStore& store) {
  Gathered out;
  std::map<std::string, std::size_t> unmet;  // Sentence: how many cells.
  for (const SweepCell& cell : plan.cells) {
    const auto kept = store.find(cell.number);
    RunAnswer answer = answer_of({.code = kept->code, .result = kept->answer});
    for (const std::string& warning : answer.warnings)
      ++unmet["remark: " + answer.summary.policy + ": " + warning];
    for (const std::string& sentence : answer.summary.unmet) ++unmet["unmet: " + sentence];
    out.worst = std::max(out.worst, kept->code);
    out.results.push_back({cell, static_cast<int>(kept->code), std::move(answer.summary)});
  }
  for (const auto& [sentence, cells] : unmet)
    out.remarks +=
        sentence + " (" + std::to_string(cells) + (cells == 1 ? " cell)\n" : " cells)\n");
  return out;
}

ExitCode run_dry(const SweepWish& wish, bool as_json, Console& console) {
  const std::vector<std::size_t> done = SweepStore::finished(wish.out, wish.plan.identity);
  console.out(as_json ? dry_run_json(wish.plan, done) : dry_run_table(wish.plan, done, console));
  return ExitCode::Met;
}

/// Runs what is not finished yet, then writes and prints the tables.
ExitCode run_all_cells(const SweepWish& wish,
                       const SweepStore& store,
                       bool as_json,
                       Console& console) {
  const std::vector<std::size_t> due = not_finished(store, all_numbers(wish.plan));
  const std::size_t total = wish.plan.cells.size();
  if (due.size() < total)
    console.err("remark: " + std::to_string(total - due.size()) + " of " + std::to_string(total) +
                " cells were done before\n");
  const auto failed = launch_cells(wish.plan, store, due, wish.launcher, console);
  if (!failed) {
    console.errors(failed.errors());
    return ExitCode::BadInput;
  }
  if (interrupted() || !failed->empty()) return tell_of_rest(wish, store, *failed, console);
  store.remove_halves();
  const Gathered all = gathered_cells(wish.plan, store);
  const SweepNumbers numbers = numbers_of(wish.plan, all.results);
  const Status written = write_sweep(wish.plan, all.results, numbers, store);
  if (!written) {
    console.errors(written.errors());
    return ExitCode::BadInput;
  }
  console.out(as_json ? sweep_json(wish.plan, all.results, numbers)
                      : sweep_text(wish.plan, numbers, console));
  console.err(all.remarks);
  console.err("remark: written to " + store.folder().string() + ": " + written_files() + "\n");
  return all.worst;
}

}  // namespace

ExitCode run_sweep(const Arguments& arguments, Console& console) {
  const auto wish = sweep_wish(arguments);
  if (!wish) {
    console.errors(wish.errors());
    return ExitCode::BadInput;
  }
  if (arguments.has("--dry-run")) return run_dry(*wish, arguments.has("--json"), console);
  const auto store = SweepStore::open(
      wish->out, wish->plan.identity, wish->cells ? SweepAccess::Beside : SweepAccess::Alone);
  if (!store) {
    console.errors(store.errors());
    return ExitCode::BadInput;
  }
  return wish->cells ? run_some(*wish, *store, console)
                     : run_all_cells(*wish, *store, arguments.has("--json"), console);
}

}  // namespace orrery::cli
