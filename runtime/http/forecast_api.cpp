#include "runtime/http/forecast_api.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/json_text.hpp"
#include "core/base/utc_text.hpp"
#include "core/forecast/forecast_json.hpp"
#include "runtime/http/submission.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;
using runtime::ForecastAccuracy;
using runtime::ForecastLoss;
using runtime::ForecastOutcome;
using runtime::ForecastReply;
using Then = ControlClient::Then;

int status_of(ForecastLoss loss) {
  switch (loss) {
    case ForecastLoss::Unavailable:
      return 503;
    case ForecastLoss::Late:
      return 504;
    case ForecastLoss::OutOfMemory:
      return 507;
    case ForecastLoss::None:
    case ForecastLoss::NotStarted:
    case ForecastLoss::Ended:
    case ForecastLoss::Failed:
      break;
  }
  return 500;
}

void answer(const CallPtr& call, const ForecastReply& reply) {
  if (reply.answer == nullptr) return fail(call, status_of(reply.loss), reply.why);
  if (!reply.answer->refused.empty()) return fail(call, 422, reply.answer->refused);
  JsonText json;
  json.begin_object();
  write_forecast(json, *reply.answer);
  json.field("age_s", reply.age.in_seconds()).end_object();
  call->exchange->respond(json_response(json.take()));
}

/// What calls share.
struct ForecastCalls {
  ControlClient client;
  runtime::Forecasts* forecasts;
  std::shared_ptr<TextReader> reader;

  // On the I/O thread.
  void ask(const CallPtr& call, ForecastQuestion question) const {
    const auto told = [call, executor = client.executor()](const ForecastReply& reply) {
      executor->post([call, reply] { answer(call, reply); });
    };
    if (!forecasts->ask(std::move(question), told))
      fail(call,
           429,
           "more than " + std::to_string(runtime::kForecastsWaitingMax) +
               " forecasts wait to be made; ask again in a moment");
  }
};

// False where the call was answered: the query is not sound.
bool read_question(const CallPtr& call, ForecastQuestion& question, std::string_view known) {
  question.runs = static_cast<std::uint32_t>(
      call->query.take_number("runs", question.runs, 1, kForecastRunsMax));
  question.seed = call->query.take_number("seed", question.seed, 1, INT64_MAX);
  const std::string arrivals = call->query.take("arrivals").value_or("none");
  if (!query_is_sound(call, known)) return false;
  const auto word = enum_from<Arrivals>(arrivals);
  if (word) {
    question.arrivals = *word;
    return true;
  }
  fail(call,
       400,
       "query arrivals: found '" + arrivals + "', one of " + enum_choices<Arrivals>() +
           " is needed");
  return false;
}

void about_known(const CallPtr& call, const ForecastCalls& calls) {
  ForecastQuestion question;
  const std::string name = call->query.take("job").value_or("");
  if (!read_question(call, question, "job, runs, arrivals, seed")) return;
  if (name.empty())
    return calls.client.look(
        call, [=](const ControlView&) -> Then { return [=] { calls.ask(call, question); }; });
  calls.client.look_at_job(call, name, [=](const ControlView&, const JobState& job) -> Then {
    if (is_final(job.row.phase)) {
      fail(call,
           409,
           job.spec->name + " is over since " + utc_text(job.finished_at) +
               ", a job that waits or runs is needed; name another, or send a job file");
      return {};
    }
    return [=, id = job.row.id]() mutable {
      question.job = id;
      calls.ask(call, question);
    };
  });
}

void about_file(const CallPtr& call, const ForecastCalls& calls) {
  ForecastQuestion question;
  JobText text;
  text.file = call->query.take("file").value_or("");
  text.sets = call->query.take_all("set");
  const std::string only = call->query.take("only").value_or("");
  if (!read_question(call, question, "file, set (PATH=VALUE), only (NAME), runs, arrivals, seed"))
    return;
  text.text = std::move(call->request.body);
  read_jobs(call, calls.client, calls.reader, text, [=](ReadJobs jobs) mutable {
    if (!only.empty())
      std::erase_if(jobs.jobs,
                    [&](const JobSpec& spec) { return spec.name != full_job_name(only); });
    if (jobs.jobs.size() != 1)
      return fail(call,
                  400,
                  "the text has " + std::to_string(jobs.jobs.size()) + " jobs" +
                      (only.empty() ? "" : " of the name " + full_job_name(only)) +
                      ", one is asked for at a time; name one with only");
    question.submitted = std::make_shared<const JobSpec>(std::move(jobs.jobs.front()));
    calls.ask(call, question);
  });
}

void put_outcome(JsonText& json, const ForecastOutcome& outcome) {
  json.begin_object().field("name", outcome.name).field("submitted", utc_text(outcome.submitted));
  json.field("foretold_at", utc_text(outcome.foretold_at));
  json.field("foretold", utc_text(outcome.foretold));
  json.field("started", utc_text(outcome.started));
  json.field("waited_s", (outcome.started - outcome.submitted).in_seconds());
  json.field("later_s", (outcome.started - outcome.foretold).in_seconds());
  json.field("error", outcome.error()).end_object();
}

void tell_accuracy(const CallPtr& call, const ForecastCalls& calls) {
  if (!query_is_sound(call, "")) return;
  // Only its leader knows what a cluster's forecasts came to.
  calls.client.look(call, [=](const ControlView&) -> Then {
    return [=] {
      const auto accuracy = calls.forecasts->accuracy();
      JsonText json;
      json.begin_object().field("outcomes", accuracy->outcomes);
      json.field("waiting", accuracy->waiting);
      json.field("error_p50", accuracy->error_p50).field("error_p90", accuracy->error_p90);
      json.field("error_s_p50", accuracy->error_s_p50);
      json.field("error_s_p90", accuracy->error_s_p90);
      json.key("latest").begin_array();
      for (const ForecastOutcome& outcome : accuracy->latest) put_outcome(json, outcome);
      json.end_array().end_object();
      call->exchange->respond(json_response(json.take()));
    };
  });
}

}  // namespace

void add_forecast_api(Router& router,
                      const ControlClient& client,
                      runtime::Forecasts* forecasts,
                      const std::shared_ptr<TextReader>& reader) {
  const ForecastCalls calls{client, forecasts, reader};
  const auto add = [&](const char* method,
                       const char* path,
                       void (*handle)(const CallPtr&, const ForecastCalls&)) {
    router.add(method, path, Role::User, [calls, handle](const CallPtr& call) {
      if (calls.forecasts == nullptr) return fail(call, 501, "this server makes no forecasts");
      handle(call, calls);
    });
  };
  add("GET", "/api/v1/forecast", about_known);
  add("POST", "/api/v1/forecast", about_file);
  add("GET", "/api/v1/forecast/accuracy", tell_accuracy);
}

}  // namespace orrery::http
