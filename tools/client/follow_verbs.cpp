// logs, events: what was written and what happened, once or as it comes.
#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/client/event_stream.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"
#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr std::uint64_t kRankMax = 1'000'000;
constexpr std::uint64_t kTailMax = 1'000'000;
constexpr std::uint64_t kBacklog = 1000;  // Events asked for from the time before.
constexpr int kReconnectMs = 300;

/// The last `lines` lines of a text.
std::string_view last_lines(std::string_view text, std::uint64_t lines) {
  if (lines == 0) return {};
  std::size_t at = text.size();
  if (text.ends_with('\n')) --at;
  while (at > 0) {
    const std::size_t before = text.rfind('\n', at - 1);
    if (before == text.npos) return text;
    if (--lines == 0) return text.substr(before + 1);
    at = before;
  }
  return text;
}

struct LogWish {
  std::string target;
  std::optional<std::uint64_t> tail;
};

Result<LogWish> log_wish(const Arguments& arguments) {
  LogWish out;
  Errors errors;
  std::uint64_t rank = 0;
  if (const auto text = arguments.value("--rank")) {
    if (const auto number = whole_number("orrery logs: --rank", *text, 0, kRankMax)) {
      rank = *number;
    } else {
      errors = number.errors();
    }
  }
  if (const auto text = arguments.value("--tail")) {
    if (const auto number = whole_number("orrery logs: --tail", *text, 0, kTailMax)) {
      out.tail = *number;
    } else {
      errors.insert(errors.end(), number.errors().begin(), number.errors().end());
    }
  }
  if (!errors.empty()) return errors;
  out.target = job_target(arguments.operands().front(), "/logs?rank=" + std::to_string(rank));
  if (const auto role = arguments.value("--role")) out.target += "&role=" + url_escaped(*role);
  if (out.tail) out.target += "&tail_lines=" + std::to_string(*out.tail);
  if (arguments.has("--follow")) out.target += "&follow=1";
  return out;
}

ExitCode print_log(Session& session, const LogWish& wish, const std::string& subject) {
  const Result<HttpReply> reply =
      session.client().send({.target = wish.target, .accept = "text/plain"});
  if (!reply) return session.tell(reply.errors());
  if (!reply->is_good()) return session.tell(*reply, subject);
  session.console().out(wish.tail ? last_lines(reply->body, *wish.tail)
                                  : std::string_view(reply->body));
  return session.code();
}

/// One piece of a log as an event: lines, or the end.
bool take_log_event(Session& session, const ServerEvent& event, const std::string& subject) {
  if (event.name == "end") return false;
  if (event.name == "error") {
    session.console().err(subject + ": " + event.data + "\n");
    session.note(ExitCode::Unmet);
    return false;
  }
  session.console().out(event.data + "\n");
  return true;
}

ExitCode follow_log(Session& session, const LogWish& wish, const std::string& subject) {
  EventStreamParser parser;
  bool ended = false;
  const Result<HttpReply> reply = session.client().follow(
      {.target = wish.target, .accept = "text/event-stream"}, [&](std::string_view text) {
        parser.feed(text);
        while (const auto event = parser.next())
          if (!take_log_event(session, *event, subject)) ended = true;
        return !ended;
      });
  if (interrupted()) return ExitCode::Interrupted;
  if (!reply) return session.tell(reply.errors());
  if (!reply->is_good()) return session.tell(*reply, subject);
  return session.code();
}

/// Prints events as they come, over restarts of the controller.
class EventFollower {
 public:
  EventFollower(Session& session, std::string job, bool as_json)
      : session_(session), job_(std::move(job)), as_json_(as_json) {}

  ExitCode run() {
    while (!interrupted()) {
      bool heard = false;
      EventStreamParser parser;
      const Result<HttpReply> reply = session_.client().follow(
          {.target = target(), .accept = "text/event-stream"}, [&](std::string_view text) {
            heard = true;
            parser.feed(text);
            while (const auto event = parser.next()) take(*event);
            return true;
          });
      if (interrupted()) break;
      was_connected_ = was_connected_ || heard || (reply && reply->is_good());
      if (reply && !reply->is_good() && reply->status != 503) return session_.tell(*reply, job_);
      if (!was_connected_)
        return reply ? session_.tell(*reply, job_) : session_.tell(reply.errors());
      if (!waiting_) session_.console().err("the controller went away; waiting for it\n");
      waiting_ = true;
      ::poll(nullptr, 0, kReconnectMs);
    }
    return ExitCode::Interrupted;
  }

 private:
  std::string target() const {
    std::string out = "/api/v1/events?follow=1&";
    // Of another life of the controller, `since` means all that the new one has told.
    out +=
        last_id_.empty() ? "backlog=" + std::to_string(kBacklog) : "since=" + url_escaped(last_id_);
    if (!job_.empty()) out += "&job=" + url_escaped(job_);
    return out;
  }

  void take(const ServerEvent& event) {
    const json line = json::parse(event.data, nullptr, false);
    if (!line.is_object()) return;
    waiting_ = false;
    if (!event.id.empty()) last_id_ = event.id;
    session_.console().out(
        (as_json_ ? line.dump() : event_line(line, session_.console().traits().colour)) + "\n");
  }

  Session& session_;
  std::string job_;
  bool as_json_;
  bool was_connected_ = false;
  bool waiting_ = false;
  std::string last_id_;
};

ExitCode print_events(Session& session, const std::string& job, bool as_json) {
  std::string target = "/api/v1/events?backlog=" + std::to_string(kBacklog);
  if (!job.empty()) target += "&job=" + url_escaped(job);
  const json document = session.ask({.target = target}, job.empty() ? "" : "job " + job);
  if (as_json) {
    session.console().out(document.dump(2) + "\n");
    return session.code();
  }
  std::string text;
  for (const json& event : list_of(document, "events"))
    text += event_line(event, session.console().traits().colour) + "\n";
  session.console().out(text);
  return session.code();
}

}  // namespace

ExitCode run_logs(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  const auto wish = log_wish(arguments);
  if (!options) console.errors(options.errors());
  if (!wish) console.errors(wish.errors());
  if (!options || !wish) return ExitCode::BadInput;
  Session session(*options, console);
  const std::string subject = "job " + full_name(arguments.operands().front());
  return arguments.has("--follow") ? follow_log(session, *wish, subject)
                                   : print_log(session, *wish, subject);
}

ExitCode run_events(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  if (!options) {
    console.errors(options.errors());
    return ExitCode::BadInput;
  }
  Session session(*options, console);
  const auto given = arguments.value("--job");
  const std::string job = given ? full_name(*given) : "";
  if (!arguments.has("--follow")) return print_events(session, job, arguments.has("--json"));
  return EventFollower(session, job, arguments.has("--json")).run();
}

}  // namespace orrery::cli
