#include "tools/client/log_following.hpp"

#include <poll.h>

#include <nlohmann/json.hpp>

#include "tools/client/event_stream.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr int kAskAgainMs = 300;

/// The member of a job's document that a source names; null where there is none now.
const json& member_for(const json& job, const LogSource& source) {
  for (const json& member : list_of(job, "members")) {
    const bool is_it =
        source.role.empty()
            ? number_of(member, "rank") == static_cast<std::int64_t>(source.rank)
            : text_of(member, "role") == source.role &&
                  number_of(member, "local_rank") == static_cast<std::int64_t>(source.rank);
    if (is_it) return member;
  }
  static const json kNone;
  return kNone;
}

}  // namespace

std::string log_target(const LogWish& wish, const LogSource& source) {
  std::string out = job_target(wish.job, "/logs?rank=" + std::to_string(source.rank));
  if (!source.role.empty()) out += "&role=" + url_escaped(source.role);
  if (wish.previous) out += "&previous=1";
  return out;
}

bool worker_has_begun(const json& member) {
  const std::string state = text_of(member, "state");
  return !state.empty() && state != "Claimed" && state != "Starting";
}

bool LogFollower::is_over() const {
  return interrupted() || (hooks_.over != nullptr && hooks_.over->load());
}

void LogFollower::tell(const std::string& text) {
  if (hooks_.tells) session_.console().err(text);
}

ExitCode LogFollower::run() {
  source_.incarnation = number_of(member_for(job_now(), source_), "incarnation");
  while (!is_over()) {
    const Ending ending = follow();
    if (ending == Ending::Refused || is_over()) break;
    if (ending == Ending::Lost) {
      if (!waits_) tell("the log broke off; waiting for the controller\n");
      waits_ = true;
      ::poll(nullptr, 0, kAskAgainMs);
      // The log of the next start is another one: nothing of it was printed.
      if (has_started_again() && !await_next_start()) break;
    } else if (!await_next_start()) {
      break;
    }
  }
  return interrupted() ? ExitCode::Interrupted : session_.code();
}

/// The job's document; null where no controller answers, or there is no such job.
json LogFollower::job_now() {
  const Result<HttpReply> reply = session_.client().send({.target = job_target(wish_.job)});
  is_gone_ = reply && reply->status == 404;
  if (!reply || !reply->is_good()) return nullptr;
  json out = json::parse(reply->body, nullptr, false);
  return out.is_object() ? out : json();
}

std::string LogFollower::target() const {
  std::string out = log_target(wish_, source_) + "&follow=1";
  if (!has_begun_ && wish_.tail) return out + "&tail_lines=" + std::to_string(*wish_.tail);
  // Where it began at its end, it goes on at the end: the byte before stands for a line.
  return has_begun_ && !is_whole_ ? out + "&tail_bytes=1" : out;
}

LogFollower::Ending LogFollower::follow() {
  EventStreamParser parser;
  Ending ending = Ending::Lost;
  std::uint64_t skipped = !has_begun_ ? 0 : is_whole_ ? lines_ : 1;
  if (!has_begun_) is_whole_ = !wish_.tail;
  bool ended = false;
  const Result<HttpReply> reply = session_.client().follow(
      {.target = target(), .accept = "text/event-stream"}, [&](std::string_view text) {
        has_begun_ = true;
        waits_ = false;
        parser.feed(text);
        while (const auto event = parser.next()) {
          if (event->name == "end" || event->name == "error") {
            ending = event->name == "end" ? Ending::Ended : Ending::Lost;
            ended = true;
          } else if (skipped > 0) {
            --skipped;
          } else {
            ++lines_;
            hooks_.line(source_, event->data);
          }
        }
        return !ended;
      });
  if (reply && reply->is_good()) has_begun_ = true;
  if (has_begun_ && (!reply || reply->is_good() || reply->status == 503)) return ending;
  if (has_begun_ && reply->status == 404) return Ending::Ended;  // It is forgotten meanwhile.
  if (is_over() || !hooks_.tells) return Ending::Refused;
  reply ? session_.tell(*reply, wish_.subject()) : session_.tell(reply.errors());
  return Ending::Refused;
}

bool LogFollower::has_started_again() {
  return source_.incarnation > 0 &&
         number_of(member_for(job_now(), source_), "incarnation") > source_.incarnation;
}

/// Waits for the next start of the replica; false where none will come.
bool LogFollower::await_next_start() {
  while (!is_over()) {
    const json job = job_now();
    if (is_gone_) return false;
    const json& member = member_for(job, source_);
    const std::int64_t incarnation = number_of(member, "incarnation");
    const std::string state = text_of(member, "state");
    if (incarnation > source_.incarnation && worker_has_begun(member)) {
      source_.incarnation = incarnation;
      lines_ = 0;
      is_whole_ = true;
      tell(wish_.job + ": " + text_of(member, "role") + " " + text_of(member, "local_rank") +
           " has started again on " + text_of(member, "node") + "\n");
      return true;
    }
    const std::string phase = text_of(job, "phase");
    // One that has ended well stays as it is while others run on.
    if (phase == "Succeeded" || phase == "Failed" ||
        (incarnation == source_.incarnation && state == "Succeeded"))
      return false;
    ::poll(nullptr, 0, kAskAgainMs);
  }
  return false;
}

}  // namespace orrery::cli
