// events: what was decided and what happened, once or as it comes.
#include <poll.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "tools/client/event_stream.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/moment.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr std::uint64_t kBacklog = 1000;     // Events of the time before that are listed,
constexpr std::uint64_t kRecent = 20;        // that stand before those that are followed,
constexpr std::uint64_t kBacklogMax = 4096;  // and all that a controller keeps.
constexpr int kReconnectMs = 300;

/// Which events, and how.
struct EventWish {
  std::string job;                    ///< Full name; empty: all.
  std::optional<std::int64_t> since;  ///< Nanoseconds since the Unix epoch.
  bool as_json = false;

  bool takes(const json& event) const { return !since || number_of(event, "at") >= *since; }
};

/// Prints events as they come, over restarts of the controller.
class EventFollower {
 public:
  EventFollower(Session& session, EventWish wish) : session_(session), wish_(std::move(wish)) {}

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
      if (reply && !reply->is_good() && reply->status != 503)
        return session_.tell(*reply, wish_.job);
      if (!was_connected_)
        return reply ? session_.tell(*reply, wish_.job) : session_.tell(reply.errors());
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
    out += last_id_.empty() ? "backlog=" + std::to_string(wish_.since ? kBacklogMax : kRecent)
                            : "since=" + url_escaped(last_id_);
    if (!wish_.job.empty()) out += "&job=" + url_escaped(wish_.job);
    return out;
  }

  void take(const ServerEvent& event) {
    const json line = json::parse(event.data, nullptr, false);
    if (!line.is_object()) return;
    waiting_ = false;
    if (!event.id.empty()) last_id_ = event.id;
    if (!wish_.takes(line)) return;
    session_.console().out(
        (wish_.as_json ? line.dump() : event_line(line, session_.console().traits().colour)) +
        "\n");
  }

  Session& session_;
  EventWish wish_;
  bool was_connected_ = false;
  bool waiting_ = false;
  std::string last_id_;
};

ExitCode print_events(Session& session, const EventWish& wish) {
  std::string target =
      "/api/v1/events?backlog=" + std::to_string(wish.since ? kBacklogMax : kBacklog);
  if (!wish.job.empty()) target += "&job=" + url_escaped(wish.job);
  json document = session.ask({.target = target}, wish.job.empty() ? "" : "job " + wish.job);
  if (document.is_null()) return session.code();
  json events = json::array();
  for (const json& event : list_of(document, "events"))
    if (wish.takes(event)) events.push_back(event);
  if (wish.as_json) {
    document["events"] = std::move(events);
    session.console().out(document.dump(2) + "\n");
    return session.code();
  }
  std::string text;
  for (const json& event : events)
    text += event_line(event, session.console().traits().colour) + "\n";
  session.console().out(text);
  return session.code();
}

}  // namespace

ExitCode run_events(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  if (!options) {
    console.errors(options.errors());
    return ExitCode::BadInput;
  }
  EventWish wish;
  wish.as_json = arguments.has("--json");
  if (const auto job = arguments.value("--job")) wish.job = full_name(*job);
  if (const auto text = arguments.value("--since")) {
    const auto since = moment("orrery events: --since", *text, now_ns());
    if (!since) {
      console.errors(since.errors());
      return ExitCode::BadInput;
    }
    wish.since = *since;
  }
  Session session(*options, console);
  if (!arguments.has("--follow")) return print_events(session, wish);
  return EventFollower(session, std::move(wish)).run();
}

}  // namespace orrery::cli
