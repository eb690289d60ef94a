// forecast --journal: when a job will start and end, and whom it would delay, from a journal's last
// state. Without --journal orrery-node asks the running controller.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/base/utc_text.hpp"
#include "core/driver/replay.hpp"
#include "core/forecast/forecast_json.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "scenarios/language/jobs/job_file.hpp"
#include "sim/rehearsal/answer.hpp"
#include "sim/rehearsal/forecast.hpp"
#include "tools/console/forecast_options.hpp"
#include "tools/console/forecast_text.hpp"
#include "tools/console/input_file.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/job_names.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using runtime::SqliteStore;

/// The policy that the state names, with the parameters of --set. Errors: those that are none.
Result<scenarios::PolicyChoice> policy_choice(const State& state, const Arguments& arguments) {
  scenarios::PolicyChoice policy = sim::forked_scenario(state).policy;
  Errors errors;
  constexpr std::string_view kPolicy = "policy.";
  for (const std::string& text : arguments.values("--set")) {
    const auto set = scenarios::parse_override(text);
    if (!set) {
      errors.insert(errors.end(), set.errors().begin(), set.errors().end());
    } else if (!set->path.starts_with(kPolicy)) {
      errors.push_back({.file = "--set " + text,
                        .subject = set->path,
                        .message = "is not of the policy, and all else is as the state says; set "
                                   "policy.NAME, or ask orrery replay"});
    } else {
      policy.parameters.push_back({set->path.substr(kPolicy.size()), set->value, "--set " + text});
    }
  }
  if (!errors.empty()) return errors;
  return policy;
}

/// Puts into `question` the job that an operand names, or the one in the file that it names.
Status name_job(const std::string& operand, const State& state, ForecastQuestion& question) {
  const JobId id = state.named(full_name(operand));
  if (!id.is_none() && !is_final(state.job(id).row.phase)) {
    question.job = id;
    return Done{};
  }
  std::error_code code;
  if (operand != "-" && !std::filesystem::exists(operand, code))
    return Error{.subject = operand,
                 .message = id.is_none()
                                ? "is neither a job of the journal nor a file; orrery history and "
                                  "orrery get tell which jobs there are"
                                : "is over since " + utc_text(state.job(id).finished_at) +
                                      ", a job that waits or runs is needed; name another, or a "
                                      "file"};
  const std::string name = operand == "-" ? "standard input" : operand;
  const auto text = read_input_or_stdin(operand);
  if (!text) return text.errors();
  const auto file = scenarios::parse_job_file(*text, name, {.groups = state.declared});
  if (!file) return file.errors();
  if (file->jobs.size() > 1)
    return Error{.file = name,
                 .message = "has " + std::to_string(file->jobs.size()) +
                            " jobs, one is asked for at a time; write the others elsewhere"};
  question.submitted = std::make_shared<const JobSpec>(file->jobs.front());
  return Done{};
}

Result<ForecastAnswer> answered(Controller from,
                                const scenarios::PolicyChoice& policy,
                                const ForecastQuestion& question) {
  scenarios::Scenario scenario = sim::forked_scenario(from.state());
  scenario.policy = policy;
  sim::ForecastMeans means;
  means.policy = [&scenario] { return fresh_policy(scenario, {}); };
  means.stop = [] { return interrupted(); };
  return sim::answer(std::move(from), question, means);
}

std::string json_of(const ForecastAnswer& answer) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object();
  write_forecast(json, answer);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace

ExitCode run_journal_forecast(const Arguments& arguments, Console& console) {
  const auto refuse = [&console](const Errors& errors) {
    console.errors(errors);
    return ExitCode::BadInput;
  };
  auto question = forecast_question(arguments);
  if (!question) return refuse(question.errors());
  // Without one the controller is asked, and this is not called.
  const std::string path = arguments.value("--journal").value_or("");
  const auto store = SqliteStore::open(path, SqliteStore::Access::ReadOnly);
  if (!store) return refuse(store.errors());
  Controller controller;
  const auto read = replay(**store, controller);
  if (interrupted()) return ExitCode::Interrupted;
  if (!read) {
    Errors errors = read.errors();
    for (Error& error : errors)
      if (error.file.empty()) error.file = path;
    return refuse(errors);
  }
  const auto policy = policy_choice(controller.state(), arguments);
  if (!policy) return refuse(policy.errors());
  const bool about_all = arguments.operands().empty();
  if (!about_all)
    if (const Status named = name_job(arguments.operands().front(), controller.state(), *question);
        !named)
      return refuse(named.errors());
  const auto answer = answered(std::move(controller), *policy, *question);
  if (interrupted()) return ExitCode::Interrupted;
  if (!answer) return refuse(answer.errors());
  if (!answer->refused.empty()) {
    console.err("refused: " + answer->refused + "\n");
    return ExitCode::Unmet;
  }
  console.out(arguments.has("--json") ? json_of(*answer)
              : about_all             ? forecast_table(*answer, console.traits())
                                      : forecast_page(*answer));
  console.err(forecast_remark(*answer));
  return !about_all && answer->jobs.front().never_fits ? ExitCode::Unmet : ExitCode::Met;
}

}  // namespace orrery::cli
