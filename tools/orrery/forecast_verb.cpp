// forecast: when a job will start and end, and whom it would delay, from a journal's last state.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/base/utc_text.hpp"
#include "core/driver/replay.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "scenarios/language/jobs/job_file.hpp"
#include "sim/rehearsal/forecast.hpp"
#include "tools/console/input_file.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/job_names.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using runtime::SqliteStore;
using sim::Forecast;
using sim::JobForecast;

constexpr std::size_t kDelayedShown = 10;
/// An instant of the model is as exact as what it is told; less is no delay.
constexpr double kDelayLeast_s = 0.001;

/// A job that ends later because of another one.
struct Delay {
  std::string name;
  std::optional<double> seconds;  ///< None: it does not end any more.
};

/// What is asked about.
struct Question {
  JobId job;                                 ///< Of the state; none: `submitted`, or all.
  std::shared_ptr<const JobSpec> submitted;  ///< May be null.
};

/// What is answered.
struct Answer {
  Forecast with;
  std::optional<std::vector<Delay>> delays;  ///< By the job that was asked about, where it waits.
};

/// Runs forecasts from one state.
class Forecaster {
 public:
  Forecaster(const Controller& from, const Arguments& arguments) : from_(from) {
    scenario_ = sim::forked_scenario(from.state());
    for (const std::string& text : arguments.values("--set")) parameter(text);
  }

  const Errors& errors() const { return errors_; }

  Result<Forecast> run(std::shared_ptr<const JobSpec> submitted, JobId without) const {
    const auto policy = fresh_policy(scenario_, {});
    if (!policy) return policy.errors();
    sim::ForecastOptions options;
    options.submitted = std::move(submitted);
    options.without = without;
    options.stop = [] { return interrupted(); };
    return sim::forecast(from_, scenario_, **policy, options);
  }

 private:
  void parameter(const std::string& text) {
    const auto set = scenarios::parse_override(text);
    constexpr std::string_view kPolicy = "policy.";
    if (!set) {
      errors_.insert(errors_.end(), set.errors().begin(), set.errors().end());
    } else if (!set->path.starts_with(kPolicy)) {
      errors_.push_back({.file = "--set " + text,
                         .subject = set->path,
                         .message = "is not of the policy, and all else is as the state says; set "
                                    "policy.NAME, or ask orrery replay"});
    } else {
      scenario_.policy.parameters.push_back(
          {set->path.substr(kPolicy.size()), set->value, "--set " + text});
    }
  }

  const Controller& from_;
  scenarios::Scenario scenario_;
  Errors errors_;
};

std::vector<Delay> delays_of(const Forecast& with, const Forecast& without) {
  std::map<JobId, const JobForecast*> before;
  for (const JobForecast& job : without.jobs) before[job.id] = &job;
  std::vector<Delay> out;
  for (const JobForecast& job : with.jobs) {
    const auto found = before.find(job.id);
    if (found == before.end() || found->second->end.is_never()) continue;
    if (job.end.is_never()) {
      out.push_back({job.name, std::nullopt});
      continue;
    }
    const double later = (job.end - found->second->end).in_seconds();
    if (later >= kDelayLeast_s) out.push_back({job.name, later});
  }
  std::ranges::stable_sort(
      out, std::greater<>(), [](const Delay& delay) { return delay.seconds.value_or(1e300); });
  return out;
}

Result<Answer> answered(const Forecaster& forecaster,
                        const Controller& from,
                        const Question& asked) {
  auto with = forecaster.run(asked.submitted, JobId::none());
  if (!with) return with.errors();
  Answer answer{std::move(*with), std::nullopt};
  const JobState* job = asked.job.is_none() ? nullptr : from.state().find(asked.job);
  const bool waits = asked.submitted != nullptr || (job != nullptr && !job->row.holds);
  if (!waits || !answer.with.refused.empty()) return answer;
  auto without = forecaster.run(nullptr, asked.job);
  if (!without) return without.errors();
  std::vector<Delay> delays = delays_of(answer.with, *without);
  std::erase_if(
      delays, [&](const Delay& delay) { return job != nullptr && delay.name == job->spec->name; });
  answer.delays = std::move(delays);
  return answer;
}

/// The job that an operand names, or the one in the file that it names.
Result<Question> question_of(const std::string& operand, const State& state) {
  const JobId id = state.named(full_name(operand));
  if (!id.is_none() && !is_final(state.job(id).row.phase)) return Question{id, nullptr};
  std::error_code code;
  if (operand != "-" && !std::filesystem::exists(operand, code))
    return Error{.subject = operand,
                 .message = id.is_none()
                                ? "is neither a job of the journal nor a file; orrery history and "
                                  "orrery get tell which jobs there are"
                                : "is over since " + utc_text(state.job(id).finished_at) +
                                      ", a job that waits or runs is needed; name another, or a "
                                      "file"};
  const auto text = read_input(operand);
  if (!text) return text.errors();
  const auto file = scenarios::parse_job_file(*text, operand, {.groups = state.declared});
  if (!file) return file.errors();
  if (file->jobs.size() > 1)
    return Error{.file = operand,
                 .message = "has " + std::to_string(file->jobs.size()) +
                            " jobs, one is asked for at a time; write the others elsewhere"};
  return Question{JobId::none(), std::make_shared<const JobSpec>(file->jobs.front())};
}

// --- for people ---

std::string in_text(Instant at, Instant now) {
  if (at.is_never()) return "not foreseen";
  return at == now  ? std::string("at once")
         : at < now ? "since " + time_in_words((now - at).in_seconds())
                    : "in " + time_in_words((at - now).in_seconds());
}

std::string nodes_text(const std::vector<std::string>& nodes) {
  constexpr std::size_t kShown = 8;
  std::string out;
  for (std::size_t i = 0; i < nodes.size() && i < kShown; ++i)
    out += (i > 0 ? ", " : "") + nodes[i];
  if (nodes.size() > kShown) out += " and " + std::to_string(nodes.size() - kShown) + " more";
  return out;
}

std::string said_of(const JobForecast& job, Instant now) {
  std::string out = short_name(job.name) + ": ";
  if (job.never_fits) return out + "can never fit on this cluster: " + job.waits_for + "\n";
  out += job.runs ? "runs since " + time_in_words((now - job.start).in_seconds())
                  : "starts " + in_text(job.start, now);
  if (!job.nodes.empty()) out += " on " + nodes_text(job.nodes);
  out += ", ends " + in_text(job.end, now);
  if (!job.end.is_never()) out += job.succeeds ? "" : " without success";
  out += "\n";
  if (!job.runs && !job.waits_for.empty()) out += "  now: " + job.waits_for + "\n";
  out += "  what is left of it is known by: " + std::string(to_string(job.known)) + " (" +
         time_in_words(job.remaining.in_seconds()) + ")\n";
  return out;
}

std::string said_of(const std::vector<Delay>& delays) {
  if (delays.empty()) return "  delays nobody\n";
  std::string out =
      "  delays " + std::to_string(delays.size()) + (delays.size() == 1 ? " job:\n" : " jobs:\n");
  for (std::size_t i = 0; i < delays.size() && i < kDelayedShown; ++i)
    out += "    " + short_name(delays[i].name) + " by " +
           (delays[i].seconds ? time_in_words(*delays[i].seconds)
                              : std::string("more than is foreseen")) +
           "\n";
  if (delays.size() > kDelayedShown)
    out += "    and " + std::to_string(delays.size() - kDelayedShown) + " more\n";
  return out;
}

std::string waiting_table(const Forecast& forecast, const ConsoleTraits& traits) {
  Table table({{.title = "job", .left = true},
               {.title = "starts", .left = true},
               {.title = "ends", .left = true},
               {.title = "on", .left = true, .spare = 2},
               {.title = "known by", .left = true, .spare = 1}});
  for (const JobForecast& job : forecast.jobs)
    table.add_row({{.text = short_name(job.name)},
                   {.text = job.never_fits ? "never" : in_text(job.start, forecast.now)},
                   {.text = in_text(job.end, forecast.now)},
                   {.text = nodes_text(job.nodes)},
                   {.text = std::string(to_string(job.known))}});
  return table.text(traits.colour, traits.table_width());
}

// --- for programs ---

void put_in(JsonText& json, std::string_view key, Instant at, Instant now) {
  if (at.is_never())
    json.key(key).null();
  else
    json.field(key, (at - now).in_seconds());
}

void put(JsonText& json, const JobForecast& job, Instant now) {
  json.begin_object().field("name", job.name).field("runs", job.runs);
  put_in(json, "starts_in_s", job.start, now);
  put_in(json, "ends_in_s", job.end, now);
  json.field("succeeds", job.succeeds).field("never_fits", job.never_fits);
  json.key("nodes").begin_array();
  for (const std::string& node : job.nodes) json.value(node);
  json.end_array().field("waits_for", job.waits_for);
  json.field("remaining_s", job.remaining.in_seconds());
  json.field("remaining_known", to_string(job.known)).end_object();
}

std::string json_of(const Answer& answer, const std::vector<const JobForecast*>& jobs) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("at", utc_text(answer.with.now)).key("jobs").begin_array();
  for (const JobForecast* job : jobs) put(json, *job, answer.with.now);
  json.end_array().key("delays");
  if (answer.delays) {
    json.begin_array();
    for (const Delay& delay : *answer.delays) {
      json.begin_object().field("name", delay.name);
      if (delay.seconds)
        json.field("by_s", *delay.seconds);
      else
        json.key("by_s").null();
      json.end_object();
    }
    json.end_array();
  } else {
    json.null();
  }
  json.field("records", answer.with.records).field("cut_short", answer.with.cut_short);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace

ExitCode run_forecast(const Arguments& arguments, Console& console) {
  const auto refuse = [&console](const Errors& errors) {
    console.errors(errors);
    return ExitCode::BadInput;
  };
  const auto path = arguments.value("--journal");
  if (!path)
    return refuse({{.subject = "orrery forecast",
                    .message = "no journal was named, one is needed; add --journal FILE, which may "
                               "be one that its controller writes: journal.db in the folder of "
                               "orrery up --state"}});
  const auto store = SqliteStore::open(*path, SqliteStore::Access::ReadOnly);
  if (!store) return refuse(store.errors());
  Controller controller;
  const auto read = replay(**store, controller);
  if (interrupted()) return ExitCode::Interrupted;
  if (!read) {
    Errors errors = read.errors();
    for (Error& error : errors)
      if (error.file.empty()) error.file = *path;
    return refuse(errors);
  }
  const Forecaster forecaster(controller, arguments);
  if (!forecaster.errors().empty()) return refuse(forecaster.errors());
  Question asked;
  if (!arguments.operands().empty()) {
    auto question = question_of(arguments.operands().front(), controller.state());
    if (!question) return refuse(question.errors());
    asked = std::move(*question);
  }
  const auto answer = answered(forecaster, controller, asked);
  if (interrupted()) return ExitCode::Interrupted;
  if (!answer) return refuse(answer.errors());
  if (!answer->with.refused.empty()) {
    console.err("refused: " + answer->with.refused + "\n");
    return ExitCode::Unmet;
  }
  const bool about_all = arguments.operands().empty();
  std::vector<const JobForecast*> jobs;
  for (const JobForecast& job : answer->with.jobs)
    if (about_all || (asked.submitted == nullptr && job.id == asked.job)) jobs.push_back(&job);
  if (asked.submitted != nullptr) jobs.push_back(&answer->with.jobs.back());
  if (arguments.has("--json")) {
    console.out(json_of(*answer, jobs));
  } else if (about_all) {
    console.out(waiting_table(answer->with, console.traits()));
  } else {
    console.out(said_of(*jobs.front(), answer->with.now));
    if (answer->delays) console.out(said_of(*answer->delays));
  }
  if (answer->with.cut_short)
    console.err("remark: the run was ended after " + std::to_string(answer->with.records) +
                " records; what comes later is not foreseen\n");
  const bool never = !about_all && jobs.front()->never_fits;
  return never ? ExitCode::Unmet : ExitCode::Met;
}

}  // namespace orrery::cli
