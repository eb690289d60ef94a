#include "tools/client/run_following.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "tools/client/json_reading.hpp"
#include "tools/client/views.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/printable.hpp"

namespace orrery::cli {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kFirstPause = 50ms;
constexpr auto kLastPause = 500ms;
constexpr auto kOutputLimit = 10s;  // For the rest of the output, once the job is over.
constexpr int kSentenceLooks = 20;  // At kFirstPause: what an agent says of an end comes after it.
constexpr int kShownLines = 20;

std::string indented_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += "    " + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// Whether a worker has not ended yet.
bool some_live(const json& job) {
  return std::ranges::any_of(list_of(job, "members"), [](const json& member) {
    const std::string state = text_of(member, "state");
    return state == "Starting" || state == "Ready" || state == "Draining";
  });
}

}  // namespace

TerminalHost::TerminalHost() {
  const sigset_t set = interrupt_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool TerminalHost::wait(std::chrono::milliseconds limit) {
  if (caught_) {
    ::poll(nullptr, 0, static_cast<int>(limit.count()));
    return true;
  }
  const sigset_t set = interrupt_signals();
  const timespec time{limit.count() / 1000, limit.count() % 1000 * 1'000'000};
  if (!interrupted() && ::sigtimedwait(&set, nullptr, &time) <= 0) return true;
  caught_ = true;
  exit_at_interrupt();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  return false;
}

RunFollowing::RunFollowing(Session& session, RunHost& host, RunFollowed what)
    : session_(session),
      host_(host),
      what_(std::move(what)),
      output_(session.client().options(), session.console(), what_.job, what_.view),
      absence_(session) {}

ExitCode RunFollowing::run() {
  auto pause = kFirstPause;
  while (true) {
    look();
    if (ended_) return end();
    if (session_.code() == ExitCode::Unreachable) return session_.code();
    if (!host_.wait(pause)) {
      if (interrupted_) return ExitCode::Interrupted;
      interrupted_ = true;
      stop("interrupted; the job is stopped (Ctrl-C again leaves at once)");
    }
    pause = std::min<std::chrono::milliseconds>(pause * 2, kLastPause);
  }
}

void RunFollowing::look() {
  const Result<HttpReply> reply = session_.client().send({.target = job_target(what_.job)});
  if (!reply || reply->status == 503) return absence_.goes_on(reply ? Errors{} : reply.errors());
  absence_.end();
  if (!reply->is_good()) {
    session_.tell(*reply, "job " + what_.job);
    job_ = nullptr;
    ended_ = true;
    return;
  }
  json job = json::parse(reply->body, nullptr, false);
  if (!own_.is(job)) return look_past();
  take(std::move(job));
}

// Another job has the name, so this one is over.
void RunFollowing::look_past() {
  const Result<HttpReply> reply = own_.ask_past(session_.client());
  if (!reply || reply->status == 503) return;
  job_ = reply->is_good() ? own_.past(*reply) : json();
  ended_ = true;
  is_past_ = true;
  if (!reply->is_good()) {
    session_.tell(*reply, "job " + what_.job);
  } else if (job_.is_object()) {
    tell_phase();
    if (text_of(job_, "phase") == "Failed") session_.console().err(failure_text(job_));
  } else {
    session_.tell(Errors{
        {.subject = "job " + what_.job, .message = "was deleted, and another job has its name"}});
  }
}

void RunFollowing::take(json job) {
  job_ = std::move(job);
  const std::string phase = text_of(job_, "phase");
  ended_ = phase == "Succeeded" || phase == "Failed";
  if (!ended_) tell_restarts();
  tell_phase();
  output_.take(job_);
  const json& failures = list_of(job_, "failures");
  if ((phase == "Starting" || phase == "Running") && !failures.empty())
    failures_until_ = number_of(failures.back(), "at");
  if (!ended_ && text_of(job_, "reason") == "Infeasible" && host_.has_all_nodes() && !stopping_)
    stop("there will be no other nodes; the job is stopped");
}

void RunFollowing::tell_phase() {
  const std::string phase = text_of(job_, "phase");
  const std::string message = shown_text_of(job_, "message");
  // Why a job waits changes while it waits.
  if (phase == told_phase_ && (phase != "Pending" || message == told_message_)) return;
  told_phase_ = phase;
  told_message_ = message;
  session_.console().err(short_name(what_.job) + ": " + phase +
                         (message.empty() ? "" : " (" + message + ")") + "\n");
}

void RunFollowing::tell_restarts() {
  const std::int64_t restarts = number_of(job_, "restarts");
  if (restarts == restarts_) return;
  restarts_ = restarts;
  const json& failures = list_of(job_, "failures");
  if (failures.empty()) return;
  session_.console().err(short_name(what_.job) + ": restart " + std::to_string(restarts) + " of " +
                         std::to_string(what_.max_restarts) + ": " +
                         shown_text_of(failures.back(), "message") + "\n");
}

void RunFollowing::stop(const std::string& why) {
  stopping_ = true;
  session_.console().err(why + "\n");
  // The name may be another job's by now.
  const Result<HttpReply> now = session_.client().send({.target = job_target(what_.job)});
  if (now && now->is_good() && !own_.may_be(json::parse(now->body, nullptr, false))) return;
  const Result<HttpReply> reply =
      session_.client().send({.method = "POST", .target = job_target(what_.job, "/stop")});
  if (reply && (reply->is_good() || reply->status == 409)) return;  // 409: it is over.
  if (reply) {
    session_.tell(*reply, "job " + what_.job);
  } else {
    session_.console().errors(reply.errors());
  }
  session_.console().err("it could not be stopped; orrery stop " + short_name(what_.job) +
                         " does so once the controller answers\n");
}

/// Workers of a job that is over may still be in their grace, and write. False where a second
/// Ctrl-C came.
bool RunFollowing::drain_output() {
  // Of a job that never started there is nothing to read.
  if (number_of(job_, "generation") > 0) output_.take_missed(what_.world_min);
  Clock::time_point limit = Clock::now() + kOutputLimit;
  auto pause = kFirstPause;
  while (!output_.is_complete()) {
    if (Clock::now() > limit) {
      session_.console().err("the end of what some ranks wrote has not come; orrery logs " +
                             short_name(what_.job) + " --all prints it\n");
      return true;
    }
    if (!host_.wait(pause) && std::exchange(interrupted_, true)) return false;
    pause = std::min<std::chrono::milliseconds>(pause * 2, kLastPause);
    refresh();
    if (some_live(job_)) limit = Clock::now() + kOutputLimit;
  }
  return true;
}

/// The document of now, where the controller has one.
void RunFollowing::refresh() {
  const Result<HttpReply> reply = session_.client().send({.target = job_target(what_.job)});
  if (!reply || !reply->is_good()) return;
  json job = json::parse(reply->body, nullptr, false);
  if (job.is_object() && own_.may_be(job)) job_ = std::move(job);
}

void RunFollowing::tell_failure() {
  for (int i = 0; i < kSentenceLooks && !interrupted_; ++i) {
    const json& failures = list_of(job_, "failures");
    if (failures.empty() || !text_of(failures.back(), "sentence").empty()) break;
    if (!host_.wait(kFirstPause)) interrupted_ = true;
    refresh();
  }
  const json& failures = list_of(job_, "failures");
  if (failures.empty()) return;
  // Others fail because the first one did.
  const auto later = std::ranges::find_if(
      failures, [&](const json& each) { return number_of(each, "at") > failures_until_; });
  const json& first = later == failures.end() ? failures.back() : *later;
  const std::string rank = text_of(first, "rank");
  std::string lines;
  const Result<HttpReply> log = session_.client().send(
      {.target = job_target(what_.job,
                            "/logs?rank=" + rank + "&tail_lines=" + std::to_string(kShownLines)),
       .accept = "text/plain",
       .asks_again = false});  // Its node may have gone for good.
  if (log && log->is_good()) lines = log->body;
  if (lines.empty()) lines = text_of(first, "last_lines");
  session_.console().err(
      "rank " + rank + " failed first: " + shown_text_of(first, "message") +
      (lines.empty() ? "\n" : "; it wrote last:\n" + indented_lines(printable(lines))));
}

ExitCode RunFollowing::end() {
  if (!job_.is_object()) return ExitCode::Unmet;  // It was deleted.
  // What is asked by name would be told of another job.
  if (!is_past_ && !drain_output()) return ExitCode::Interrupted;
  const bool failed = text_of(job_, "phase") == "Failed";
  if (failed && !stopping_ && !is_past_) tell_failure();
  if (what_.view.as_json)
    session_.console().out(
        json{{"job", job_}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  if (interrupted_) return ExitCode::Interrupted;
  return failed ? ExitCode::Unmet : ExitCode::Met;
}

}  // namespace orrery::cli
