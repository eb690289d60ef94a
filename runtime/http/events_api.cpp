#include "runtime/http/events_api.hpp"

#include <utility>

#include "core/base/json_text.hpp"

namespace orrery::http {
namespace {

constexpr std::uint64_t kBacklog = 100;

void answer_latest(const CallPtr& call,
                   const EventFeed& feed,
                   const EventFilter& filter,
                   std::size_t lines) {
  JsonText json;
  json.begin_object().key("events").begin_array();
  for (const std::string& line : feed.latest(filter, lines)) json.raw(line);
  json.end_array().end_object();
  call->exchange->respond(json_response(json.take()));
}

void events(const CallPtr& call,
            const ControlClient& client,
            const std::shared_ptr<EventFeed>& feed) {
  EventFilter filter;
  if (const auto job = call->query.take("job")) filter.job = full_job_name(*job);
  const std::uint64_t backlog =
      call->query.take_number("backlog", kBacklog, 0, EventFeed::kLinesMax);
  const bool wants_stream =
      call->request.header("Accept").find("text/event-stream") != std::string_view::npos;
  const bool follow = call->query.take_flag("follow") || wants_stream;
  std::string since = call->query.take("since").value_or("");
  if (!query_is_sound(call, "job, backlog, since, follow")) return;
  if (const std::string_view last = call->request.header("Last-Event-ID"); !last.empty())
    since = last;
  // A client that says where it stopped wants all that came since then.
  const bool resumes = !since.empty();
  if (resumes) {
    const std::optional<std::uint64_t> number = feed->number_of(since);
    if (!number)
      return fail(call, 400, "since: found '" + since + "', the id of an event is needed");
    filter.since = *number;
  }
  const std::size_t lines = resumes ? EventFeed::kLinesMax : backlog;
  client.look(call, [=](const runtime::ControlView&) -> ControlClient::Then {
    return [=] {
      if (follow)
        feed->follow(call->exchange, filter, lines);
      else
        answer_latest(call, *feed, filter, lines);
    };
  });
}

}  // namespace

void add_events_api(Router& router,
                    const ControlClient& client,
                    const std::shared_ptr<EventFeed>& feed) {
  router.add("GET", "/api/v1/events", Role::User, [client, feed](const CallPtr& call) {
    events(call, client, feed);
  });
}

}  // namespace orrery::http
