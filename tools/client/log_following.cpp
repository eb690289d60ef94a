#include "tools/client/log_following.hpp"

#include <poll.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/client/event_stream.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr int kAskAgainMs = 300;
constexpr int kAsksOnceOver = 20;  // For the rest of a log whose job is over.

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

/// Whether the controller counts on its process.
bool worker_lives(const json& member) {
  const std::string state = text_of(member, "state");
  return state == "Starting" || state == "Ready" || state == "Draining";
}

bool job_is_over(const json& job) {
  const std::string phase = text_of(job, "phase");
  return phase == "Succeeded" || phase == "Failed";
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
    if (!(ending == Ending::Lost ? await_rest() : await_next_start())) break;
  }
  if (part_ && !is_over()) hooks_.line(source_, *part_);
  if (interrupted()) return ExitCode::Interrupted;
  return is_cut_off_ ? ExitCode::Unreachable : session_.code();
}

/// The job's document; null where no controller answers, or there is no such job.
json LogFollower::job_now() {
  const Result<HttpReply> reply = session_.client().send({.target = job_target(wish_.job)});
  is_gone_ = reply && reply->status == 404;
  if (!reply || !reply->is_good()) return nullptr;
  json out = json::parse(reply->body, nullptr, false);
  if (!out.is_object()) return nullptr;
  is_gone_ = !own_.is(out);
  if (is_gone_) {
    if (!std::exchange(is_replaced_, true))
      tell(wish_.job + ": is over, and another job has its name now\n");
    return nullptr;
  }
  return out;
}

std::string LogFollower::target() const {
  std::string out = log_target(wish_, source_) + "&follow=1";
  if (!has_begun_ && wish_.tail) return out + "&tail_lines=" + std::to_string(*wish_.tail);
  if (!last_id_.empty()) return out + "&since=" + url_escaped(last_id_);
  // No id was told. Where it began at its end, it goes on at the end: the byte before stands for a
  // line.
  return has_begun_ && !is_whole_ ? out + "&tail_bytes=1" : out;
}

void LogFollower::take(const ServerEvent& event) {
  waits_ = false;
  asks_once_over_ = 0;
  if (event.name == "lost") {
    tell("of the log of " + wish_.job + ", " + event.data +
         " bytes that came meanwhile are kept no longer; log_size of the agents is too small\n");
    last_id_ = event.id;
    return;
  }
  // A line that broke off has the id of the one before; all of it comes again with the rest.
  if (!event.id.empty() && event.id == last_id_) {
    part_ = event.data;
    return;
  }
  part_.reset();
  last_id_ = event.id;
  ++lines_;
  hooks_.line(source_, event.data);
}

LogFollower::Ending LogFollower::follow() {
  EventStreamParser parser;
  Ending ending = Ending::Lost;
  std::uint64_t skipped = !has_begun_ || !last_id_.empty() ? 0 : is_whole_ ? lines_ : 1;
  if (!has_begun_) is_whole_ = !wish_.tail;
  bool ended = false;
  const Result<HttpReply> reply = session_.client().follow(
      // What is begun is asked for again by the caller, who looks for a new start before.
      {.target = target(), .accept = "text/event-stream", .asks_again = !has_begun_},
      [&](std::string_view text) {
        has_begun_ = true;
        parser.feed(text);
        while (const auto event = parser.next()) {
          if (event->name == "end" || event->name == "error") {
            ending = event->name == "end" ? Ending::Ended : Ending::Lost;
            ended = true;
          } else if (skipped > 0) {
            --skipped;
          } else {
            take(*event);
          }
        }
        return !ended;
      });
  if (reply && reply->is_good()) has_begun_ = true;
  if (has_begun_ && (!reply || reply->is_good() || reply->status == 503)) return ending;
  if (has_begun_ && reply->status == 404) {
    // Of a worker that lives there is one: whoever answered does not see it at the moment.
    const json job = job_now();
    const json& member = member_for(job, source_);
    return worker_lives(member) && number_of(member, "incarnation") == source_.incarnation
               ? Ending::Lost
               : Ending::Ended;
  }
  if (is_over() || !hooks_.tells) return Ending::Refused;
  const std::string subject =
      wish_.subject() +
      (source_.role.empty() ? "" : ", " + source_.role + " " + std::to_string(source_.rank));
  reply ? session_.tell(*reply, subject) : session_.tell(reply.errors());
  return Ending::Refused;
}

/// Waits a moment for the rest of a log that broke off, or for the next start; false where neither
/// will come.
bool LogFollower::await_rest() {
  if (!std::exchange(waits_, true))
    tell("the log broke off; waiting for the controller and the node's agent\n");
  ::poll(nullptr, 0, kAskAgainMs);
  const json job = job_now();
  if (is_gone_) {
    is_cut_off_ = is_replaced_;
    if (is_cut_off_) tell(wish_.job + ": the rest of its log cannot be read any more\n");
    return false;
  }
  // The log of the next start is another one: nothing of it was printed.
  if (source_.incarnation > 0 &&
      number_of(member_for(job, source_), "incarnation") > source_.incarnation)
    return await_next_start();
  if (!job_is_over(job) || ++asks_once_over_ < kAsksOnceOver) return true;
  tell(wish_.job + ": the job is over, and the rest of the log of " +
       (source_.role.empty() ? "rank" : source_.role) + " " + std::to_string(source_.rank) +
       " cannot be read: its node's agent does not answer\n");
  is_cut_off_ = true;
  return false;
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
      if (part_) hooks_.line(source_, *std::exchange(part_, {}));
      lines_ = 0;
      last_id_.clear();
      is_whole_ = true;
      tell(wish_.job + ": " + text_of(member, "role") + " " + text_of(member, "local_rank") +
           " has started again on " + text_of(member, "node") + "\n");
      return true;
    }
    // One that has ended well stays as it is while others run on.
    if (job_is_over(job) || (incarnation == source_.incarnation && state == "Succeeded"))
      return false;
    ::poll(nullptr, 0, kAskAgainMs);
  }
  return false;
}

}  // namespace orrery::cli
