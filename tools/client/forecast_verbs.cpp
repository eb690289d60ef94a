// forecast, accuracy: when jobs will start, by the controller that decides it, and how right that
// was.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/client/forecast_reading.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"
#include "tools/console/forecast_options.hpp"
#include "tools/console/forecast_text.hpp"
#include "tools/console/table.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kOutcomesShown = 20;

/// A name is a job's, unless there is a file of that name and no such job.
bool names_file(Session& session, const std::string& operand) {
  if (operand == "-") return true;
  std::error_code code;
  if (!std::filesystem::exists(operand, code)) return false;
  if (operand.find('/') != operand.npos || operand.ends_with(".yaml")) return true;
  const auto reply = session.client().send({.target = job_target(operand)});
  return !reply || !reply->is_good();
}

/// The question; nothing where what is wrong was told.
std::optional<HttpRequest> question_of(Session& session,
                                       const Arguments& arguments,
                                       const ForecastQuestion& how) {
  const std::vector<std::string> sets = arguments.values("--set");
  const bool all = arguments.operands().empty();
  const std::string operand = all ? "" : arguments.operands().front();
  if (!all && names_file(session, operand)) {
    Errors warnings;
    const auto sources = read_job_sources({operand}, sets, warnings);
    session.console().warnings(warnings);
    if (sources && sources->front().jobs.size() == 1) return hypothetical(sources->front(), how);
    session.console().errors(
        sources ? Errors{{.file = operand,
                          .message = "has " + std::to_string(sources->front().jobs.size()) +
                                     " jobs, one is asked for at a time; write the others "
                                     "elsewhere"}}
                : sources.errors());
    session.note(ExitCode::BadInput);
    return std::nullopt;
  }
  if (!sets.empty()) {
    session.console().errors({{.subject = "--set",
                               .message = "stands beside no file, one is needed; name a job file, "
                                          "or with --journal a parameter of the policy"}});
    session.note(ExitCode::BadInput);
    return std::nullopt;
  }
  std::string target = "/api/v1/forecast?";
  if (!all) target += "job=" + url_escaped(full_name(operand)) + "&";
  return HttpRequest{.target = target + forecast_query(how).substr(1),
                     .patience = kForecastPatience};
}

std::string outcomes_table(const json& accuracy, const ConsoleTraits& traits) {
  Table table({{.title = "job", .left = true},
               {.title = "started", .left = true},
               {.title = "waited"},
               {.title = "foretold", .left = true},
               {.title = "error"}});
  std::size_t shown = 0;
  for (const json& each : list_of(accuracy, "latest")) {
    if (++shown > kOutcomesShown) break;
    const double later = real_of(each, "later_s");
    table.add_row({{.text = short_name(text_of(each, "name"))},
                   {.text = text_of(each, "started").substr(0, 19)},
                   {.text = time_in_words(real_of(each, "waited_s"))},
                   {.text = later > 0   ? time_in_words(later) + " sooner"
                            : later < 0 ? time_in_words(-later) + " later"
                                        : "to the moment"},
                   {.text = with_commas(100 * real_of(each, "error"), 1) + " %"}});
  }
  return table.text(traits.colour, traits.table_width());
}

std::string accuracy_text(const json& accuracy, const ConsoleTraits& traits) {
  const std::int64_t outcomes = number_of(accuracy, "outcomes");
  const std::int64_t waiting = number_of(accuracy, "waiting");
  const std::string wait =
      waiting == 0   ? ""
      : waiting == 1 ? "; 1 foretold start is still to come"
                     : "; " + std::to_string(waiting) + " foretold starts are still to come";
  if (outcomes == 0) return "no start was foretold and has come yet" + wait + "\n";
  return (outcomes == 1 ? "1 start was foretold and has come"
                        : std::to_string(outcomes) + " starts were foretold and have come") +
         wait + "\nerror over the time waited (a minute at least): median " +
         with_commas(100 * real_of(accuracy, "error_p50"), 1) + " %, 9 of 10 below " +
         with_commas(100 * real_of(accuracy, "error_p90"), 1) + " %\nerror in time: median " +
         time_in_words(real_of(accuracy, "error_s_p50")) + ", 9 of 10 below " +
         time_in_words(real_of(accuracy, "error_s_p90")) + "\n\n" +
         outcomes_table(accuracy, traits);
}

}  // namespace

ExitCode run_forecast(const Arguments& arguments, Console& console) {
  const auto how = forecast_question(arguments);
  const auto options = client_options(arguments);
  Errors errors;
  if (!how) errors = how.errors();
  if (!options) errors.insert(errors.end(), options.errors().begin(), options.errors().end());
  if (arguments.value("--journal"))
    errors.push_back({.subject = "--journal",
                      .message = "found, which the program orrery reads; use orrery forecast, or "
                                 "ask a controller"});
  if (!errors.empty()) {
    console.errors(errors);
    return ExitCode::BadInput;
  }
  Session session(*options, console);
  const auto question = question_of(session, arguments, *how);
  if (!question) return session.code();
  const bool all = arguments.operands().empty();
  const json document = session.ask(*question, all ? "forecast" : arguments.operands().front());
  if (document.is_null()) return session.code();
  const ForecastAnswer answer = forecast_of(document);
  if (arguments.has("--json")) {
    console.out(document.dump(2) + "\n");
  } else if (all && answer.jobs.empty()) {
    console.err("no job waits or runs\n");
  } else {
    console.out(all ? forecast_table(answer, console.traits()) : forecast_page(answer));
  }
  console.err(forecast_remark(answer));
  const bool never = !all && !answer.jobs.empty() && answer.jobs.front().never_fits;
  return never ? ExitCode::Unmet : ExitCode::Met;
}

ExitCode run_accuracy(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  if (!options) {
    console.errors(options.errors());
    return ExitCode::BadInput;
  }
  Session session(*options, console);
  const json document = session.ask({.target = "/api/v1/forecast/accuracy"}, "accuracy");
  if (document.is_null()) return session.code();
  console.out(arguments.has("--json") ? document.dump(2) + "\n"
                                      : accuracy_text(document, console.traits()));
  return session.code();
}

}  // namespace orrery::cli
