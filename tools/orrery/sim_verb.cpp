// sim: one run of a scenario.
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tools/console/input_file.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/documents/rlinf_documents.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/pool_progress.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/summary_table.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

/// A scenario, or a document of RLinf as one.
Result<LoadedScenario> opened_as_asked(const Arguments& arguments,
                                       const std::vector<scenarios::Override>& overrides,
                                       RunsUnder policy,
                                       Errors& warnings) {
  const std::vector<std::string>& operands = arguments.operands();
  const std::string& path = operands.front();
  const Result<std::string> text = read_input(path);
  if (!text)
    return open_scenario(path, overrides, policy);  // Its error names the files that are there.
  if (is_rlinf_text(*text)) {
    const auto context = placement_context({path,
                                            {operands.begin() + 1, operands.end()},
                                            arguments.values("--config-dir"),
                                            arguments.value("--nodes"),
                                            arguments.value("--program")});
    if (!context) return context.errors();
    const auto scenario =
        rlinf_scenario(*text, *context, {.name = scenarios::job_name_of_file(path)}, warnings);
    if (!scenario) return scenario.errors();
    return open_scenario_text(*scenario, path, overrides, policy);
  }
  Errors errors;
  for (const char* option : {"--nodes", "--config-dir", "--program"})
    if (arguments.has(option))
      errors.push_back({.subject = option,
                        .message = "is for documents of RLinf, and " + path +
                                   " is none; remove it, or write cluster in the scenario"});
  if (operands.size() > 1)
    errors.push_back({.subject = operands[1],
                      .message = "found a second operand, one scenario is needed; write --set " +
                                 operands[1] + " to change the scenario"});
  if (!errors.empty()) return errors;
  return open_scenario(path, overrides, policy);
}

/// The scenario as the command line wants it, with all that is wrong at once.
Result<LoadedScenario> loaded_as_asked(const Arguments& arguments, Errors& warnings) {
  const auto overrides = overrides_of(arguments);
  if (!overrides) return overrides.errors();
  Errors errors;
  std::optional<std::uint64_t> seed;
  if (const auto text = arguments.value("--seed")) {
    const auto number = whole_number("--seed", *text, 0, std::numeric_limits<std::uint64_t>::max());
    if (number)
      seed = *number;
    else
      append(errors, number.errors());
  }
  const auto policy_name = arguments.value("--policy");
  auto loaded = opened_as_asked(
      arguments, *overrides, policy_name ? RunsUnder::Another : RunsUnder::Own, warnings);
  if (!loaded) append(errors, loaded.errors());
  if (policy_name) {
    scenarios::Scenario unread;
    const Status chosen =
        choose_policy(loaded ? loaded->scenario : unread, *policy_name, "--policy");
    if (!chosen) append(errors, chosen.errors());
  }
  if (!errors.empty()) return errors;
  if (seed) loaded->scenario.seed = *seed;
  const auto policy = fresh_policy(loaded->scenario, loaded->workload.models());
  if (!policy) return policy.errors();
  return loaded;
}

void print(const RunAnswer& answer, bool as_json, Console& console) {
  if (as_json) {
    JsonText json(JsonText::Layout::Indented);
    sim::put_summary(answer.summary, sim::MeasuredAs::Fields, json);
    console.out(json.take() + "\n");
    return;
  }
  console.out(answer.summary.scenario + ", world " + answer.summary.world + ", seed " +
              std::to_string(answer.summary.seed) + "\n");
  console.out(account_lines(answer.summary));
  console.out("\n" + runs_table({&answer.summary, 1},
                                console.traits().colour,
                                console.traits().table_width()));
}

}  // namespace

ExitCode run_sim(const Arguments& arguments, Console& console) {
  Errors warnings;
  const auto loaded = loaded_as_asked(arguments, warnings);
  if (!loaded) {
    console.errors(loaded.errors());
    return ExitCode::BadInput;
  }
  console.warnings(warnings);
  std::optional<OutputFolder> folder;
  RunOutputs outputs;
  const auto path = output_path(arguments, loaded->scenario);
  if (!path && arguments.has("--journal")) {
    console.err("orrery sim: --journal: no folder to keep it in, needed --out DIR; add it\n");
    return ExitCode::BadInput;
  }
  if (path) {
    auto prepared = OutputFolder::prepare(*path, files_read(loaded->scenario));
    if (!prepared) {
      console.errors(prepared.errors());
      return ExitCode::BadInput;
    }
    folder.emplace(std::move(*prepared));
    outputs.folder = folder->scratch();
    if (arguments.has("--journal")) outputs.journal = folder->scratch() / "journal.db";
  }
  const Task task = [&](ChildReport& report) {
    return run_one(loaded->scenario, loaded->workload, outputs, report);
  };
  const auto ends = run_with_bar({task},
                                 1,
                                 jobs_expected(loaded->scenario, loaded->workload),
                                 "sim " + loaded->scenario.name,
                                 console);
  if (interrupted()) return ExitCode::Interrupted;
  const RunAnswer answer = answer_of(ends.front());
  if (!answer.errors.empty()) {
    console.errors(answer.errors);
    return ends.front().code;
  }
  if (folder) {
    const Status finished = folder->finish();
    if (!finished) {
      console.errors(finished.errors());
      return ExitCode::BadInput;
    }
  }
  print(answer, arguments.has("--json"), console);
  console.err(remarks_of(answer, ""));
  if (folder) console.err(remark_on_page(loaded->scenario));
  return ends.front().code;
}

}  // namespace orrery::cli
