// check: validates scenarios and the policies that they name; opens no workload, runs nothing.
#include <string>

#include "scenarios/loader.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {

ExitCode run_check(const Arguments& arguments, Console& console) {
  Errors errors;
  std::string sound;
  for (const std::string& path : arguments.operands()) {
    const auto scenario = scenarios::load_scenario(path);
    if (!scenario) {
      errors.insert(errors.end(), scenario.errors().begin(), scenario.errors().end());
    } else if (const auto policy = fresh_policy(*scenario, nullptr); !policy) {
      errors.insert(errors.end(), policy.errors().begin(), policy.errors().end());
    } else {
      sound += path + ": sound\n";
    }
  }
  console.out(sound);
  console.errors(errors);
  return errors.empty() ? ExitCode::Met : ExitCode::BadInput;
}

}  // namespace orrery::cli
