#include "runtime/http/api.hpp"

#include <utility>

#include "core/base/json_text.hpp"
#include "core/record/codec.hpp"

namespace orrery::http {
namespace {

using runtime::Admission;
using runtime::ControlView;

Response error_response(const CallPtr& call,
                        int status,
                        const std::string& message,
                        const std::vector<std::string>& details,
                        const std::string& leader) {
  JsonText json;
  json.begin_object();
  if (call->envelope) {
    std::string all = message;
    for (const std::string& line : details) all += "\n" + line;
    json.field("success", false).field("code", 1).field("message", all).key("data").null();
  } else {
    json.key("error").begin_object().field("message", message);
    if (!details.empty()) {
      json.key("details").begin_array();
      for (const std::string& line : details) json.value(line);
      json.end_array();
    }
    if (!leader.empty()) json.field("leader", leader);
    json.end_object();
  }
  json.end_object();
  Response out = json_response(json.take(), status);
  if (status == 503) out.headers.push_back({"Retry-After", "1"});
  if (status == 401) out.headers.push_back({"WWW-Authenticate", "Bearer"});
  return out;
}

// True where the call was answered: there is nothing to look at here, or nothing may be changed,
// nor tried. What the state holds then may never become durable, so it is no ground for an answer
// to who wants a change: "a live job has this name" of a job that is lost with this process,
// "unchanged" even more.
bool is_answered(const CallPtr& call, const runtime::ControllerFacts& facts) {
  if (facts.admission == Admission::Starting) {
    fail(call, 503, facts.why.empty() ? "the controller is starting; ask again" : facts.why);
    return true;
  }
  if (!facts.has_state && facts.admission != Admission::Following) {
    fail(call, 503, "the controller knows no jobs yet: " + facts.why);
    return true;
  }
  if (facts.admission == Admission::StoreFailed && call->request.method != "GET") {
    fail(call, 503, facts.why);
    return true;
  }
  if (facts.admission != Admission::Following) return false;
  const int status = facts.leader_url.empty() ? 503 : 307;
  Response out = error_response(
      call,
      status,
      facts.leader_url.empty() ? "another controller leads, and it is not known which; ask again"
                               : "another controller leads: " + facts.leader_url,
      {},
      facts.leader_url);
  if (status == 307) out.headers.push_back({"Location", facts.leader_url + call->request.target});
  call->exchange->respond(std::move(out));
  return true;
}

}  // namespace

Response json_response(std::string body, int status) {
  Response out;
  out.status = status;
  out.body = std::move(body);
  out.body += '\n';
  return out;
}

void fail(const CallPtr& call,
          int status,
          const std::string& message,
          const std::vector<std::string>& details,
          const std::vector<Header>& headers) {
  Response out = error_response(call, status, message, details, {});
  out.headers.insert(out.headers.end(), headers.begin(), headers.end());
  call->exchange->respond(std::move(out));
}

void fail(const CallPtr& call, int status, const Errors& errors) {
  std::vector<std::string> details;
  for (const Error& error : errors) details.push_back(error.text());
  const std::string first = details.front();
  if (details.size() == 1) details.clear();
  fail(call, status, details.empty() ? first : first + " (and more)", details);
}

void fail_without_job(const CallPtr& call, const std::string& name) {
  fail(call, 404, "there is no job " + name);
}

bool knows_jobs(const runtime::ControllerFacts& facts) {
  return facts.has_state && facts.admission != Admission::Starting &&
         facts.admission != Admission::Following;
}

bool query_is_sound(const CallPtr& call, std::string_view known) {
  const Errors errors = call->query.errors(known);
  if (errors.empty()) return true;
  fail(call, 400, errors);
  return false;
}

std::string full_job_name(const std::string& name) {
  return name.find('.') == std::string::npos ? "default." + name : name;
}

void ControlClient::look(CallPtr call, std::function<Then(const ControlView&)> find) const {
  control_->read([call = std::move(call), find = std::move(find), executor = executor_](
                     const ControlView& view) {
    if (is_answered(call, view.facts)) return;
    if (Then then = find(view)) executor->post(std::move(then));
  });
}

void ControlClient::look_at_job(
    CallPtr call,
    const std::string& name,
    std::function<Then(const ControlView&, const JobState&)> find) const {
  look(call,
       [call, name = full_job_name(name), find = std::move(find)](const ControlView& view) -> Then {
         const JobState* job = view.state.find(view.state.named(name));
         if (job != nullptr && !job->is_forgotten()) return find(view, *job);
         fail_without_job(call, name);
         return {};
       });
}

void ControlClient::ask(CallPtr call,
                        EventBody request,
                        std::function<void(const runtime::RequestOutcome&)> then) const {
  try_to_ask(
      std::move(request),
      [call = std::move(call), then = std::move(then)](const runtime::RequestOutcome& outcome) {
        if (outcome.kind == runtime::RequestOutcome::Kind::Unavailable)
          return fail(call, 503, outcome.message);
        then(outcome);
      });
}

void ControlClient::try_to_ask(EventBody request,
                               std::function<void(const runtime::RequestOutcome&)> then) const {
  control_->ask(
      std::move(request),
      [then = std::move(then), executor = executor_](const runtime::RequestOutcome& outcome) {
        executor->post([then, outcome] { then(outcome); });
      });
}

void ControlClient::settle(CallPtr call, Then then) const {
  control_->when_durable([call = std::move(call), then = std::move(then), executor = executor_](
                             const runtime::RequestOutcome& outcome) {
    if (outcome.kind == runtime::RequestOutcome::Kind::Unavailable)
      return fail(call, 503, outcome.message);
    executor->post(then);
  });
}

void ControlClient::ask_once(CallPtr call,
                             EventBody request,
                             std::function<void(const runtime::RequestOutcome&)> then) const {
  const std::string_view said = call->request.header("Idempotency-Key");
  if (said.empty()) return ask(std::move(call), std::move(request), std::move(then));
  if (said.size() > kKeyBytesMax)
    return fail(call, 400, "the Idempotency-Key is longer than 256 bytes; send a shorter one");
  // What is asked for, job and all: a body may be long, and a name another job's by now.
  ByteWriter asked_for;
  encode(Event{{}, {}, Origin::External, request}, asked_for);
  const std::string key =
      call->identity.name + "\n" + std::string(said) + "\n" + std::string(asked_for.text());
  const auto [at, is_new] = asked_->by_key.try_emplace(key);
  Asked& asked = at->second;
  if (asked.outcome) return then(*asked.outcome);
  asked.waiting.push_back([call, then = std::move(then)](const runtime::RequestOutcome& outcome) {
    if (outcome.kind == runtime::RequestOutcome::Kind::Unavailable)
      return fail(call, 503, outcome.message);
    then(outcome);
  });
  if (!is_new) return;
  control_->ask(
      std::move(request),
      [asked = asked_, key, executor = executor_](const runtime::RequestOutcome& outcome) {
        executor->post([asked, key, outcome] { tell(*asked, key, outcome); });
      });
}

void ControlClient::tell(AskedOnce& asked,
                         const std::string& key,
                         const runtime::RequestOutcome& outcome) {
  constexpr std::size_t kKept = 1000;
  const auto at = asked.by_key.find(key);
  const auto waiting = std::exchange(at->second.waiting, {});
  if (outcome.kind == runtime::RequestOutcome::Kind::Unavailable) {
    asked.by_key.erase(at);  // It may be asked again.
  } else {
    at->second.outcome = outcome;
    asked.keys.push_back(key);
    if (asked.keys.size() > kKept) {
      asked.by_key.erase(asked.keys.front());
      asked.keys.pop_front();
    }
  }
  for (const auto& each : waiting) each(outcome);
}

}  // namespace orrery::http
