// parity: predicted against measured.
#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/reports/report_html.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/parity_output.hpp"
#include "tools/orrery/parity_runs.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

// What --check demands.
constexpr double kCompletionP50 = 0.05;
constexpr double kCompletionMax = 0.15;
constexpr double kRecoveryMax = 0.25;

/// A whole number from 1 on under `option`, added to `errors` where it is none.
void read_count(const Arguments& arguments,
                std::string_view option,
                std::size_t most,
                std::size_t& to,
                Errors& errors) {
  const auto text = arguments.value(option);
  if (!text) return;
  std::size_t value = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (code == std::errc() && end == text->data() + text->size() && value >= 1 && value <= most) {
    to = value;
    return;
  }
  errors.push_back({.subject = std::string(option),
                    .message = "is '" + *text + "', a whole number from 1 to " +
                               std::to_string(most) + " is needed; correct it"});
}

Result<ParityPlan> plan_of(const Arguments& arguments) {
  ParityPlan plan;
  Errors errors;
  read_count(arguments, "--training", 1000, plan.training, errors);
  read_count(arguments, "--runs", 1000, plan.measured, errors);
  read_count(arguments, "--predicted", 10'000, plan.predicted, errors);
  read_count(arguments, "--parallel", 64, plan.parallel, errors);
  if (!errors.empty()) return errors;
  return plan;
}

Result<std::vector<LoadedScenario>> scenarios_of(const Arguments& arguments) {
  auto overrides = overrides_of(arguments);
  if (!overrides) return overrides.errors();
  overrides->push_back({"world", "cluster"});
  std::vector<LoadedScenario> out;
  Errors errors;
  for (const std::string& file : arguments.operands()) {
    auto loaded = open_scenario(file, *overrides);
    if (!loaded) {
      append(errors, loaded.errors());
      continue;
    }
    if (loaded->scenario.name.find('/') != std::string::npos)
      errors.push_back({.file = file,
                        .subject = "name",
                        .message = "is " + loaded->scenario.name +
                                   ", of which the name of a file is made; leave out the '/'"});
    for (const LoadedScenario& other : out)
      if (other.scenario.name == loaded->scenario.name)
        errors.push_back({.file = file,
                          .subject = "name",
                          .message = "is " + loaded->scenario.name + ", as that of " +
                                     other.scenario.file + "; give each a name of its own"});
    out.push_back(std::move(*loaded));
  }
  if (!errors.empty()) return errors;
  return out;
}

Status write_all(const std::vector<ParityScenario>& scenarios,
                 const std::string& json,
                 const fs::path& folder) {
  Status written = write_file(folder / "parity.json", json);
  for (const ParityScenario& scenario : scenarios)
    if (written)
      written =
          write_file(folder / (scenario.name + ".calibration.yaml"),
                     sim::calibration_yaml(scenario.calibration,
                                           std::to_string(scenario.calibration.journals) +
                                               " runs of " + scenario.name + " in world cluster"));
  if (written && sim::report_page_absence().empty())
    written = write_file(folder / "report.html", sim::report_page(json));
  return written;
}

bool is_within_limits(const std::vector<ParityScenario>& scenarios) {
  const auto totals = totals_of(scenarios);
  const sim::ParityTotal& completion = totals[static_cast<int>(sim::ParityFigure::Completion)];
  const sim::ParityTotal& recovery = totals[static_cast<int>(sim::ParityFigure::Recovery)];
  // What one world alone has is no error of a time, and cannot be the most of it either.
  const auto is_matched = [](const sim::ParityTotal& total) {
    return total.count >= total.unmatched;
  };
  return completion.count > 0 && is_matched(completion) && is_matched(recovery) &&
         completion.error_p50 <= kCompletionP50 && completion.error_max <= kCompletionMax &&
         recovery.error_max <= kRecoveryMax;
}

}  // namespace

ExitCode run_parity(const Arguments& arguments, Console& console) {
  const auto refuse = [&console](const Errors& errors) {
    if (interrupted()) return ExitCode::Interrupted;
    console.errors(errors);
    return ExitCode::BadInput;
  };
  const auto plan = plan_of(arguments);
  if (!plan) return refuse(plan.errors());
  const auto loaded = scenarios_of(arguments);
  if (!loaded) return refuse(loaded.errors());
  const std::string out = arguments.value("--out").value_or("out/parity");
  std::vector<std::string> inputs;
  for (const LoadedScenario& each : *loaded)
    for (std::string& file : files_read(each.scenario)) inputs.push_back(std::move(file));
  auto folder = OutputFolder::prepare(out, inputs);
  if (!folder) return refuse(folder.errors());
  const auto scenarios = run_parity_plan(*loaded, *plan, folder->scratch() / "journals", console);
  if (!scenarios) return refuse(scenarios.errors());
  const std::string json = parity_json(*scenarios, *plan);
  Status written = write_all(*scenarios, json, folder->scratch());
  if (written) written = folder->finish();
  if (!written) return refuse(written.errors());
  if (arguments.has("--json")) {
    console.out(json);
  } else {
    console.out(parity_table(*scenarios, console.traits()));
    for (const ParityScenario& scenario : *scenarios)
      for (const std::string& wrong : scenario.parity.wrong)
        console.err("wrong: " + scenario.name + ": " + wrong + "\n");
    console.err("wrote " + out + "\n");
  }
  return arguments.has("--check") && !is_within_limits(*scenarios) ? ExitCode::Unmet
                                                                   : ExitCode::Met;
}

Verb parity_verb() {
  return {
      {.name = "parity",
       .operands = "SCENARIO...",
       .operands_min = 1,
       .operands_max = -1,
       .summary = "predict runs on this machine, measure them, and show both on one page",
       .details =
           "Runs each scenario in world cluster (see orrery test): first the runs that its times "
           "are learned from, as by\norrery calibrate --from, then those that are measured, and "
           "were not learned from. World model predicts them\nwith the learned times, drawn anew "
           "in "
           "each of its runs. Told are the errors of completions, of steps, and of\nrecoveries. "
           "DIR "
           "gets report.html with error bars, the decisions of both worlds side by side, and where "
           "the\nsimulator was wrong; parity.json; the calibrations and the journals.",
       .options =
           {{.name = "--runs", .value = "N", .help = "measured runs of each scenario (default: 5)"},
            {.name = "--training",
             .value = "N",
             .help = "runs of each that times are learned from (default: 3)"},
            {.name = "--predicted",
             .value = "N",
             .help = "runs of the model of each scenario (default: 50)"},
            {.name = "--parallel",
             .value = "N",
             .help = "runs at the same time, which slow each other (default: 1)"},
            {.name = "--check",
             .help = "exit code 1 unless completions are within 5 % at the median and 15 % at "
                     "worst, recoveries within 25 %"},
            {.name = "--set",
             .value = "path=value",
             .help = "replace one value of the scenario, for example cluster.nodes=312",
             .repeatable = true},
            {.name = "--out",
             .value = "DIR",
             .help = "where the page and all else goes (default: out/parity)",
             .takes_path = true},
            {.name = "--json", .help = "print one JSON document, and nothing else"}},
       .examples = {{"orrery parity scenarios/parity/*.yaml --runs 4",
                     "rescales and faults, predicted and measured"},
                    {"orrery parity scenarios/parity/crash.yaml --json",
                     "one scenario, for a script"}}},
      run_parity};
}

}  // namespace orrery::cli
