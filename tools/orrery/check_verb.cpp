// check: validates scenarios with the policies that they name, sweeps, files of jobs, and workloads
// of Batsim that stand for a scenario; opens no workload that a scenario names, runs nothing.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_text.hpp"
#include "scenarios/language/jobs/job_file.hpp"
#include "scenarios/language/loader.hpp"
#include "scenarios/language/spec/approximated.hpp"
#include "tools/console/input_file.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/sweep_plan.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

/// One file of one command.
struct CheckedFile {
  std::string path;
  bool sound = false;
  std::optional<std::size_t> jobs;   ///< Of a sound file of jobs.
  std::optional<std::size_t> cells;  ///< Of a sound sweep.
};

/// What is found out about the files of one command.
struct Checked {
  std::vector<CheckedFile> files;
  Errors warnings;
  Errors errors;

  void take(const Errors& found) { errors.insert(errors.end(), found.begin(), found.end()); }
};

void check_jobs(const std::string& text, const std::string& path, Checked& checked) {
  const auto jobs = scenarios::parse_job_file(text, path, {.other_priority_classes = true});
  if (!jobs) return checked.take(jobs.errors());
  checked.warnings.insert(checked.warnings.end(), jobs->warnings.begin(), jobs->warnings.end());
  checked.files.back().jobs = jobs->jobs.size();
  const auto leave_to_controller = [&](const char* subject, const std::string& finding) {
    checked.warnings.push_back(
        {.file = path,
         .subject = subject,
         .message = finding + "; let a controller check it: orrery submit " + path + " --dry-run"});
  };
  if (jobs->needs_cluster)
    leave_to_controller("placement", "was read without a cluster, whose nodes it names");
  if (jobs->needs_priority_classes)
    leave_to_controller("priority", "is neither normal, high nor a number, but may be a class");
}

void check_sweep(const std::string& path, Checked& checked) {
  const auto plan = plan_sweep(path, SweepCheck::Parts);
  if (!plan) return checked.take(plan.errors());
  checked.files.back().cells = plan->cells.size();
}

void warn_of_approximated(const scenarios::Scenario& scenario, Checked& checked) {
  for (const scenarios::Approximated& each : scenarios::approximated(scenario))
    checked.warnings.push_back(
        {.file = scenario.file, .subject = each.subject, .message = each.sentence});
}

/// `text`: what was read at `path`; where nothing could be, the loader says why.
void check_scenario(const std::string* text, const std::string& path, Checked& checked) {
  scenarios::PolicyChoice policy;
  const auto scenario = text != nullptr ? scenarios::load_scenario_text(*text, path, {}, &policy)
                                        : scenarios::load_scenario(path, {}, &policy);
  if (!scenario) checked.take(scenario.errors());
  checked.take(errors_of(policy));
  if (scenario) warn_of_approximated(*scenario, checked);
}

void check_workload(const std::string& path, Checked& checked) {
  const auto opened = open_scenario(path, {});
  if (!opened) return checked.take(opened.errors());
  warn_of_approximated(opened->scenario, checked);
}

std::string text_of(const std::vector<CheckedFile>& files) {
  std::string out;
  for (const CheckedFile& file : files) {
    if (!file.sound) continue;
    out += file.path + ": sound";
    if (file.jobs) out += ", " + std::to_string(*file.jobs) + (*file.jobs == 1 ? " job" : " jobs");
    if (file.cells) out += ", " + std::to_string(*file.cells) + " cells";
    out += "\n";
  }
  return out;
}

void add_list(JsonText& json, std::string_view key, const Errors& errors) {
  json.key(key).begin_array();
  for (const Error& error : errors)
    json.begin_object()
        .field("file", error.file)
        .field("line", error.line)
        .field("subject", error.subject)
        .field("message", error.message)
        .end_object();
  json.end_array();
}

std::string json_of(const Checked& checked) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().key("files").begin_array();
  for (const CheckedFile& file : checked.files) {
    json.begin_object().field("file", file.path).field("sound", file.sound);
    if (file.jobs) json.field("jobs", *file.jobs);
    if (file.cells) json.field("cells", *file.cells);
    json.end_object();
  }
  json.end_array();
  add_list(json, "warnings", checked.warnings);
  add_list(json, "errors", checked.errors);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace

ExitCode run_check(const Arguments& arguments, Console& console) {
  Checked checked;
  for (const std::string& path : arguments.operands()) {
    const auto text = read_input(path);
    const std::size_t errors = checked.errors.size();
    checked.files.push_back({path, false, std::nullopt, std::nullopt});
    if (!text)
      check_scenario(nullptr, path, checked);
    else if (scenario_around(path))
      check_workload(path, checked);
    else if (is_sweep(*text))
      check_sweep(path, checked);
    else if (scenarios::kind_of_file(*text) == scenarios::FileKind::Jobs)
      check_jobs(*text, path, checked);
    else
      check_scenario(&*text, path, checked);
    checked.files.back().sound = checked.errors.size() == errors;
  }
  if (arguments.has("--json")) {
    console.out(json_of(checked));
  } else {
    console.out(text_of(checked.files));
    console.warnings(checked.warnings);
    console.errors(checked.errors);
  }
  return checked.errors.empty() ? ExitCode::Met : ExitCode::BadInput;
}

}  // namespace orrery::cli
