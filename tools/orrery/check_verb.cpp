// check: validates scenarios with the policies that they name, and files of jobs; opens no
// workload, runs nothing.
#include <string>

#include "scenarios/language/jobs/job_file.hpp"
#include "scenarios/language/loader.hpp"
#include "tools/console/input_file.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

/// What is found out about the files of one command.
struct Checked {
  std::string sound;
  Errors warnings;
  Errors errors;

  void take(const Errors& found) { errors.insert(errors.end(), found.begin(), found.end()); }
};

void check_jobs(const std::string& text, const std::string& path, Checked& checked) {
  const auto jobs = scenarios::parse_job_file(text, path);
  if (!jobs) return checked.take(jobs.errors());
  checked.warnings.insert(checked.warnings.end(), jobs->warnings.begin(), jobs->warnings.end());
  const std::size_t count = jobs->jobs.size();
  checked.sound += path + ": sound, " + std::to_string(count) + (count == 1 ? " job\n" : " jobs\n");
}

void check_scenario(const Result<scenarios::Scenario>& scenario,
                    const std::string& path,
                    Checked& checked) {
  if (!scenario) return checked.take(scenario.errors());
  if (const auto policy = fresh_policy(*scenario, nullptr); !policy)
    return checked.take(policy.errors());
  checked.sound += path + ": sound\n";
}

}  // namespace

ExitCode run_check(const Arguments& arguments, Console& console) {
  Checked checked;
  for (const std::string& path : arguments.operands()) {
    const auto text = read_input(path);
    if (!text)
      check_scenario(scenarios::load_scenario(path), path, checked);
    else if (scenarios::kind_of_file(*text) == scenarios::FileKind::Jobs)
      check_jobs(*text, path, checked);
    else
      check_scenario(scenarios::parse_scenario(*text, path), path, checked);
  }
  console.out(checked.sound);
  for (Error& warning : checked.warnings) warning.message.insert(0, "warning: ");
  console.errors(checked.warnings);
  console.errors(checked.errors);
  return checked.errors.empty() ? ExitCode::Met : ExitCode::BadInput;
}

}  // namespace orrery::cli
