// compare: the same scenario under several policies and seeds.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "sim/reports/comparison_data.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/approximations.hpp"
#include "tools/orrery/kept_runs.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/pool_progress.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/seed_statistics.hpp"
#include "tools/orrery/summary_table.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

/// One scenario per run, policies outermost; they share what was loaded.
struct Comparison {
  std::shared_ptr<const LoadedScenario> loaded;
  Digest input;  ///< What all runs depend on.
  std::vector<scenarios::Scenario> runs;
  std::size_t parallel = 1;
};

/// The scenario's own policy and seed where the command line names none.
Result<Comparison> comparison_of(const Arguments& arguments) {
  Errors errors;
  const auto overrides = overrides_of(arguments);
  if (!overrides) append(errors, overrides.errors());
  std::optional<std::vector<std::string>> names;
  if (const auto text = arguments.value("--policies")) {
    auto list = comma_list("--policies", *text);
    if (list) {
      names = std::move(*list);
    } else {
      append(errors, list.errors());
    }
  }
  std::optional<SeedRange> seeds;
  if (const auto text = arguments.value("--seeds")) {
    const auto range = seed_range("--seeds", *text);
    if (range) {
      seeds = *range;
    } else {
      append(errors, range.errors());
    }
  }
  Comparison comparison;
  comparison.parallel = processors();
  if (const auto text = arguments.value("--parallel")) {
    const auto number = whole_number("--parallel", *text, 1, 1024);
    if (number) {
      comparison.parallel = static_cast<std::size_t>(*number);
    } else {
      append(errors, number.errors());
    }
  }
  if (!errors.empty()) return errors;

  auto loaded = open_scenario(
      arguments.operands().front(), *overrides, names ? RunsUnder::Another : RunsUnder::Own);
  if (!loaded) {
    errors = loaded.errors();
    if (names) {
      const auto known = choose_policies({}, *names, "--policies");
      if (!known) append(errors, known.errors());
    }
    return errors;
  }
  comparison.loaded = std::make_shared<const LoadedScenario>(std::move(*loaded));
  const scenarios::Scenario& base = comparison.loaded->scenario;
  comparison.input = input_digest(base, *overrides);
  if (!names) names = {base.policy.name};
  if (!seeds) seeds = SeedRange{base.seed, base.seed};
  auto chosen = choose_policies(base, *names, "--policies");
  if (!chosen) return chosen.errors();
  for (scenarios::Scenario& run : *chosen) {
    const auto policy = fresh_policy(run, comparison.loaded->workload.models());
    if (!policy) append(errors, policy.errors());
    for (std::uint64_t i = 0; i < seeds->count(); ++i) {
      run.seed = seeds->first + i;
      comparison.runs.push_back(run);
    }
  }
  if (!errors.empty()) return errors;
  return comparison;
}

std::string folder_name(const scenarios::Scenario& run) {
  return run.policy.name + "-" + std::to_string(run.seed);
}

/// `missing`: runs that an interrupt took away.
void put_comparison(std::span<const sim::Summary> results,
                    sim::MeasuredAs measured,
                    std::size_t missing,
                    JsonText& json) {
  json.begin_object().field("scenario", results.front().scenario);
  if (missing > 0) json.field("runs_missing", missing);
  json.key("results").begin_array();
  for (const sim::Summary& summary : results) sim::put_summary(summary, measured, json);
  const auto statistics = sim::statistics_of(results);
  json.end_array().key("policies");
  put_statistics(statistics, json);
  json.key("differences");
  put_differences(sim::differences_of(results), json);
  json.key("method").begin_object();
  json.field("interval", sim::kIntervalMethod).field("test", sim::kTestMethod).end_object();
  if (const std::string advice = advice_on_seeds(statistics.front().seeds, statistics.size());
      !advice.empty())
    json.field("advice", advice);
  if (const std::string note = note_on_unfinished(results); !note.empty()) json.field("note", note);
  json.end_object();
}

/// How the policies differ over their seeds, and how that was judged; empty where there is one.
std::string text_of_differences(std::span<const sim::Summary> results, std::size_t width_max) {
  const std::string method = "[low, high]: " + std::string(sim::kIntervalMethod) + "\n";
  const auto differences = sim::differences_of(results);
  if (differences.empty()) return "\n" + method;
  return "\ndifferences over the same seeds\n\n" + differences_table(differences, width_max) +
         "\n" + method + std::string(sim::kTestMethod) + "\n";
}

void print(const std::vector<sim::Summary>& results,
           std::size_t missing,
           bool as_json,
           Console& console) {
  if (as_json) {
    JsonText json(JsonText::Layout::Indented);
    put_comparison(results, sim::MeasuredAs::Fields, missing, json);
    console.out(json.take() + "\n");
    return;
  }
  const sim::Summary& first = results.front();
  const bool several = std::ranges::any_of(
      results, [&](const sim::Summary& summary) { return summary.seed != first.seed; });
  console.out(first.scenario + ", world " + first.world +
              (several ? ", seeds " + std::to_string(first.seed) + " to " +
                             std::to_string(results.back().seed)
                       : ", seed " + std::to_string(first.seed)) +
              "\n" + account_lines(first) + "\n");
  const ConsoleTraits& traits = console.traits();
  const auto statistics = sim::statistics_of(results);
  if (several) {
    console.out(policies_table(statistics, traits.colour, traits.table_width()));
    console.out(text_of_differences(results, traits.table_width()));
  } else {
    console.out(runs_table(results, traits.colour, traits.table_width()));
  }
  if (const std::string advice = advice_on_seeds(statistics.front().seeds, statistics.size());
      !advice.empty())
    console.out("\n" + advice + "\n");
  if (const std::string note = note_on_unfinished(results); !note.empty())
    console.out("\n" + note + "\n");
}

/// Answers in order; errors and warnings that several runs share are said once.
struct Answers {
  std::vector<sim::Summary> results;
  std::vector<sim::ComparedRun> runs;
  std::vector<std::string> warnings;
  Errors errors;
  std::string remarks;
  ExitCode worst = ExitCode::Met;
};

/// Whether the run came to its own end.
bool has_ended(const TaskEnd& end) { return end.code != ExitCode::Interrupted; }

Answers gathered(const std::vector<TaskEnd>& ends) {
  Answers out;
  for (const TaskEnd& end : ends) {
    if (!has_ended(end)) continue;
    out.worst = std::max(out.worst, end.code);
    RunAnswer answer = answer_of(end);
    out.remarks += remarks_of(
        answer,
        ends.size() == 1 ? ""
                         : answer.summary.policy + ", seed " + std::to_string(answer.summary.seed));
    for (const Error& error : answer.errors)
      if (std::ranges::find(out.errors, error.text(), &Error::text) == out.errors.end())
        out.errors.push_back(error);
    for (std::string& warning : answer.warnings)
      if (std::ranges::find(out.warnings, warning) == out.warnings.end())
        out.warnings.push_back(std::move(warning));
    if (!answer.errors.empty()) continue;
    out.runs.push_back({answer.summary,
                        {},
                        std::move(answer.completion),
                        std::move(answer.waiting),
                        std::move(answer.slowdown),
                        std::move(answer.jobs)});
    out.results.push_back(std::move(answer.summary));
  }
  return out;
}

/// One finished run as a line of progress.
std::string line_of(const sim::Summary& summary, double wall_s) {
  return summary.policy + ", seed " + std::to_string(summary.seed) + ": done in " +
         time_in_words(wall_s) + ", " + std::to_string(summary.jobs_finished) + " of " +
         std::to_string(summary.jobs_total) + " jobs finished, JCT avg " +
         time_in_words(summary.jct_avg_s) + ", makespan " + time_in_words(summary.makespan_s);
}

/// The page of the comparison, with links to the pages of its runs.
Status write_page(const Comparison& comparison, Answers& answers, const OutputFolder& folder) {
  for (std::size_t i = 0; i < answers.runs.size(); ++i)
    answers.runs[i].page = folder_name(comparison.runs[i]) + "/report.html";
  const sim::ComparisonPage page{
      .fidelity = to_string(comparison.loaded->scenario.fidelity),
      .runs = answers.runs,
      .approximated = approximations(comparison.loaded->scenario, answers.warnings)};
  return write_file(folder.scratch() / "report.html",
                    sim::report_page(sim::comparison_page_data(page)));
}

/// compare.json and the page, and the folder put in place.
Status write_comparison(const Comparison& comparison, Answers& answers, OutputFolder& folder) {
  JsonText json(JsonText::Layout::Indented);
  put_comparison(answers.results, sim::MeasuredAs::SubObject, 0, json);
  Status written = write_file(folder.scratch() / "compare.json", json.take() + "\n");
  const bool wants_page =
      comparison.loaded->scenario.outputs.wants(scenarios::OutputFormat::Report) &&
      sim::report_page_absence().empty();
  if (written && wants_page) written = write_page(comparison, answers, folder);
  return written ? folder.finish() : written;
}

/// Removes what an earlier comparison has left in its folder, but for the runs that are taken over:
/// files of a run that was interrupted, and of runs that this comparison does not have.
void clear_leftovers(const Comparison& comparison,
                     const OutputFolder& folder,
                     const KeptRuns& kept) {
  std::set<std::string> taken;
  for (const scenarios::Scenario& run : comparison.runs)
    if (kept.find(folder_name(run))) taken.insert(folder_name(run));
  std::error_code code;
  std::vector<std::filesystem::path> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.scratch(), code)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.') && !taken.contains(name)) left.push_back(entry.path());
  }
  for (const std::filesystem::path& path : left) std::filesystem::remove_all(path, code);
}

/// Runs what is not kept from before. Ends stand in the order of the runs.
std::vector<TaskEnd> run_all(const Comparison& comparison,
                             const std::optional<OutputFolder>& folder,
                             const std::optional<KeptRuns>& kept,
                             Console& console) {
  const LoadedScenario& loaded = *comparison.loaded;
  std::vector<TaskEnd> ends(comparison.runs.size());
  std::vector<std::size_t> due;
  std::vector<Task> tasks;
  if (folder) clear_leftovers(comparison, *folder, *kept);
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const scenarios::Scenario& run = comparison.runs[i];
    RunOutputs outputs;
    if (folder) {
      if (auto end = kept->find(folder_name(run))) {
        ends[i] = std::move(*end);
        continue;
      }
      outputs.folder = folder->scratch() / folder_name(run);
      std::filesystem::create_directory(outputs.folder);
    }
    due.push_back(i);
    tasks.push_back([&run, &loaded, outputs](ChildReport& report) {
      return run_one(run, loaded.workload, outputs, report);
    });
  }
  if (due.size() < ends.size())
    console.err("remark: " + std::to_string(ends.size() - due.size()) + " of " +
                std::to_string(ends.size()) +
                " runs are taken from an earlier comparison that was interrupted\n");
  const auto on_end = [&](std::size_t task, const TaskEnd& end) -> std::string {
    const scenarios::Scenario& run = comparison.runs[due[task]];
    const RunAnswer answer = answer_of(end);
    if (!answer.errors.empty()) return {};
    if (kept) kept->keep(folder_name(run), end);
    return line_of(answer.summary, end.wall_s);
  };
  std::vector<TaskEnd> ran = run_with_bar(tasks,
                                          comparison.parallel,
                                          jobs_expected(loaded.scenario, loaded.workload),
                                          "compare " + loaded.scenario.name,
                                          console,
                                          on_end);
  for (std::size_t k = 0; k < due.size(); ++k) ends[due[k]] = std::move(ran[k]);
  return ends;
}

/// The results of the seeds that every policy has of which any run has ended: others would stand in
/// one table with means over other seeds.
std::vector<sim::Summary> of_common_seeds(const std::vector<sim::Summary>& results) {
  std::map<std::uint64_t, std::size_t> policies_by_seed;
  std::set<std::string> policies;
  for (const sim::Summary& summary : results) {
    ++policies_by_seed[summary.seed];
    policies.insert(summary.policy);
  }
  std::vector<sim::Summary> out;
  for (const sim::Summary& summary : results)
    if (policies_by_seed[summary.seed] == policies.size()) out.push_back(summary);
  return out;
}

/// What there is after an interrupt: the runs that had ended, as a table, and how to go on.
ExitCode tell_of_interrupt(const std::vector<TaskEnd>& ends,
                           std::optional<OutputFolder>& folder,
                           bool as_json,
                           Console& console) {
  const Answers answers = gathered(ends);
  const std::vector<sim::Summary> shown = of_common_seeds(answers.results);
  if (!shown.empty()) print(shown, ends.size() - shown.size(), as_json, console);
  console.err("interrupted: " + std::to_string(answers.results.size()) + " of " +
              std::to_string(ends.size()) + " runs have ended");
  if (folder && !answers.results.empty()) {
    console.err("; they are kept in " + folder->scratch().string() +
                ", and the same command goes on with them");
    folder->keep();
  } else if (!folder && !answers.results.empty()) {
    console.err("; with --out DIR they would be kept, and the same command would go on with them");
  }
  if (shown.size() < answers.results.size())
    console.err("; " + std::to_string(answers.results.size() - shown.size()) +
                " of them are not shown, as no run with their seed has ended of every policy");
  console.err("\n");
  return ExitCode::Interrupted;
}

}  // namespace

ExitCode run_compare(const Arguments& arguments, Console& console) {
  const auto comparison = comparison_of(arguments);
  if (!comparison) {
    console.errors(comparison.errors());
    return ExitCode::BadInput;
  }
  std::optional<OutputFolder> folder;
  std::optional<KeptRuns> kept;
  if (const auto path = output_path(arguments, comparison->loaded->scenario)) {
    auto prepared =
        OutputFolder::prepare_to_resume(*path, files_read(comparison->loaded->scenario));
    if (!prepared) {
      console.errors(prepared.errors());
      return ExitCode::BadInput;
    }
    folder.emplace(std::move(*prepared));
    kept.emplace(folder->scratch() / ".runs", comparison->input);
  }
  const std::vector<TaskEnd> ends = run_all(*comparison, folder, kept, console);
  if (interrupted()) return tell_of_interrupt(ends, folder, arguments.has("--json"), console);
  Answers answers = gathered(ends);
  if (!answers.errors.empty()) {
    console.errors(answers.errors);
    return answers.worst;
  }
  if (folder) {
    kept->remove();
    const Status written = write_comparison(*comparison, answers, *folder);
    if (!written) {
      console.errors(written.errors());
      return ExitCode::BadInput;
    }
  }
  print(answers.results, 0, arguments.has("--json"), console);
  console.err(answers.remarks);
  if (folder) console.err(remark_on_page(comparison->loaded->scenario));
  return answers.worst;
}

}  // namespace orrery::cli
