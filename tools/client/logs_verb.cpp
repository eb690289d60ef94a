// logs: what workers wrote, once or as they write it.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tools/client/json_reading.hpp"
#include "tools/client/log_following.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"
#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr std::uint64_t kRankMax = 1'000'000;
constexpr std::uint64_t kTailMax = 100'000;
constexpr int kLookMs = 300;
constexpr std::size_t kFollowedMax = 256;  // Logs at once: a thread and a connection each.

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

Result<LogWish> log_wish(const Arguments& arguments) {
  LogWish out;
  Errors errors;
  const auto number = [&](const char* option, std::uint64_t most) -> std::optional<std::uint64_t> {
    const auto text = arguments.value(option);
    if (!text) return std::nullopt;
    const auto value = whole_number(std::string("orrery logs: ") + option, *text, 0, most);
    if (value) return *value;
    errors.insert(errors.end(), value.errors().begin(), value.errors().end());
    return std::nullopt;
  };
  out.job = arguments.operands().front();
  out.role = arguments.value("--role").value_or("");
  out.rank = number("--rank", kRankMax).value_or(0);
  out.tail = number("--tail", kTailMax);
  out.follow = arguments.has("--follow");
  out.previous = arguments.has("--previous");
  out.all = arguments.has("--all");
  out.as_json = arguments.has("--json");
  if (out.all && arguments.has("--rank"))
    errors.push_back({.subject = "orrery logs: --all",
                      .message = "found beside --rank, needed one of them; leave one out"});
  if (out.follow && out.previous)
    errors.push_back({.subject = "orrery logs: --follow",
                      .message = "found beside --previous, whose worker writes no more; leave one "
                                 "of them out"});
  if (!errors.empty()) return errors;
  return out;
}

json line_json(const LogSource& source, std::string_view line) {
  json out;
  if (!source.role.empty()) out["role"] = source.role;
  out["rank"] = source.rank;
  out["line"] = line;
  return out;
}

/// One line of a followed log, or of one of several. Whole lines are one write.
void print_line(Console& console,
                const LogWish& wish,
                const LogSource& source,
                std::string_view line) {
  console.out(wish.as_json
                  ? line_json(source, line).dump(-1, ' ', false, json::error_handler_t::replace) +
                        "\n"
                  : source.prefix + std::string(line) + "\n");
}

// --- once ---

void print_text(Console& console,
                const LogWish& wish,
                const LogSource& source,
                std::string_view text) {
  if (source.prefix.empty()) return console.out(text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    print_line(console, wish, source, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The lines of a text, as a document.
json lines_json(std::string_view text) {
  json out = json::array();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// Prints one log, or adds it to `documents`. False where no controller answers.
bool print_log(Session& session, const LogWish& wish, const LogSource& source, json& documents) {
  std::string target = log_target(wish, source);
  if (wish.tail) target += "&tail_lines=" + std::to_string(*wish.tail);
  // One node that is out of reach is waited for, not each of many.
  const Result<HttpReply> reply =
      session.client().send({.target = target,
                             .accept = "text/plain",
                             .asks_again = session.code() != ExitCode::Unreachable});
  const std::string subject =
      wish.subject() +
      (source.prefix.empty() ? "" : ", " + source.role + " " + std::to_string(source.rank));
  if (!reply) {
    session.tell(reply.errors());
    return false;
  } else if (!reply->is_good()) {
    session.tell(*reply, subject);
  } else {
    const std::string_view text =
        wish.tail ? last_lines(reply->body, *wish.tail) : std::string_view(reply->body);
    if (!wish.as_json) {
      print_text(session.console(), wish, source, text);
      return true;
    }
    json log = {{"rank", source.rank}, {"lines", lines_json(text)}};
    if (!source.role.empty()) log["role"] = source.role;
    documents.push_back(std::move(log));
  }
  return true;
}

// --- as it comes ---

/// A worker of the job, or of the role that is wished; nothing where it is of another one.
std::optional<LogSource> source_of(const LogWish& wish, const json& member) {
  LogSource out;
  out.role = text_of(member, "role");
  if (!wish.role.empty() && out.role != wish.role) return std::nullopt;
  out.rank = static_cast<std::uint64_t>(std::max<std::int64_t>(number_of(member, "local_rank"), 0));
  out.prefix = out.role + " " + std::to_string(out.rank);
  return out;
}

/// Lets all prefixes be as wide as the widest, at least `width`, and returns how wide that is.
std::size_t align(std::vector<LogSource>& sources, std::size_t width) {
  for (const LogSource& source : sources) width = std::max(width, source.prefix.size());
  for (LogSource& source : sources) {
    source.prefix.resize(width, ' ');
    source.prefix += " | ";
  }
  return width;
}

/// The workers of a job's document that are wished.
std::vector<LogSource> all_sources(const LogWish& wish, const json& job) {
  std::vector<LogSource> out;
  for (const json& member : list_of(job, "members"))
    if (std::optional<LogSource> source = source_of(wish, member))
      out.push_back(std::move(*source));
  align(out, 0);
  return out;
}

/// Prints the lines of one log. `console` and `wish` outlive it.
LogFollower follower_of(const ClientOptions& options,
                        Console& console,
                        const LogWish& wish,
                        LogSource source) {
  return LogFollower(options,
                     console,
                     wish,
                     std::move(source),
                     {.line = [&](const LogSource& from, std::string_view line) {
                       print_line(console, wish, from, line);
                     }});
}

/// Follows the logs of all workers, those that come later too: a thread for each. Ctrl-C ends the
/// program, whatever they wait for.
class AllLogs {
 public:
  /// All outlive it.
  AllLogs(Session& session, Console& console, const LogWish& wish)
      : session_(session), console_(console), wish_(wish) {}

  ExitCode run() {
    while (!look() && !interrupted()) ::poll(nullptr, 0, kLookMs);
    if (interrupted()) std::_Exit(static_cast<int>(ExitCode::Interrupted));
    for (auto& [name, reader] : readers_) reader.thread.join();
    return static_cast<ExitCode>(code_.load());
  }

 private:
  struct Reader {
    std::thread thread;
    std::atomic<bool> done = false;
    std::int64_t incarnation = 0;  ///< Of the start that was read last, once it is done.
  };

  /// Begins with the logs of workers that have begun since; whether nothing more will come.
  bool look() {
    const bool all_done =
        std::ranges::all_of(readers_, [](const auto& each) { return each.second.done.load(); });
    // Of a job that can be read no longer nothing will come either.
    const bool all_refused = all_done && !readers_.empty() && refused_ == readers_.size();
    const Result<HttpReply> reply = session_.client().send({.target = job_target(wish_.job)});
    if (!reply || reply->status == 503) return all_refused;
    if (!reply->is_good()) return all_done;
    const json job = json::parse(reply->body, nullptr, false);
    const std::string phase = text_of(job, "phase");
    // Looked at before the job: what a worker wrote while it ended is read.
    const bool begun = take(job);
    return all_refused || (all_done && !begun && (phase == "Succeeded" || phase == "Failed"));
  }

  /// Whether it began with one.
  bool take(const json& job) {
    std::vector<LogSource> sources;
    for (const json& member : list_of(job, "members")) {
      std::optional<LogSource> source = source_of(wish_, member);
      if (!source || !worker_has_begun(member)) continue;
      const auto known = readers_.find({source->role, source->rank});
      // One that read the log of a worker that ended well does not wait for another start.
      if (known != readers_.end() &&
          (!known->second.done || known->second.incarnation >= number_of(member, "incarnation")))
        continue;
      source->incarnation = number_of(member, "incarnation");
      sources.push_back(std::move(*source));
    }
    width_ = align(sources, width_);
    for (LogSource& source : sources) read(std::move(source));
    return !sources.empty();
  }

  void read(LogSource source) {
    const std::pair name(source.role, source.rank);
    if (readers_.size() >= kFollowedMax && !readers_.contains(name)) {
      if (!std::exchange(told_too_many_, true))
        console_.err(wish_.subject() + ": " + std::to_string(kFollowedMax) +
                     " logs are followed, the most at once; those of other workers are not\n");
      return;
    }
    Reader& reader = readers_[name];
    if (reader.thread.joinable()) reader.thread.join();
    reader.done = false;
    // The session's client turns to other controllers meanwhile.
    reader.thread = std::thread([this,
                                 &reader,
                                 options = session_.client().options(),
                                 source = std::move(source)]() mutable {
      const std::int64_t begun = source.incarnation;
      LogFollower follower = follower_of(options, console_, wish_, std::move(source));
      const ExitCode own = follower.run();
      if (own != ExitCode::Met) code_ = static_cast<int>(own);
      if (own != ExitCode::Met && !follower.has_begun()) ++refused_;
      reader.incarnation = std::max(begun, follower.incarnation());
      reader.done = true;
    });
  }

  Session& session_;
  Console& console_;
  const LogWish& wish_;
  std::map<std::pair<std::string, std::uint64_t>, Reader> readers_;  ///< By role and rank in it.
  std::size_t width_ = 0;
  std::atomic<std::size_t> refused_ = 0;
  std::atomic<int> code_ = 0;
  bool told_too_many_ = false;
};

}  // namespace

ExitCode run_logs(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  const auto wish = log_wish(arguments);
  if (!options) console.errors(options.errors());
  if (!wish) console.errors(wish.errors());
  if (!options || !wish) return ExitCode::BadInput;
  Session session(*options, console);
  std::vector<LogSource> sources;
  if (wish->all) {
    const json job = session.ask({.target = job_target(wish->job)}, wish->subject());
    if (session.code() != ExitCode::Met) return session.code();
    sources = all_sources(*wish, job);
  }
  const bool several = !sources.empty();
  // Without workers the answer to rank 0 says why there are none.
  if (!several) sources.push_back({.role = wish->role, .rank = wish->rank});
  if (wish->follow && !several)
    return follower_of(*options, console, *wish, std::move(sources.front())).run();
  if (wish->follow && sources.size() > kFollowedMax) {
    console.err(wish->subject() + ": " + std::to_string(sources.size()) +
                " workers found, at most 256 logs can be followed at once; name a --role or a "
                "--rank\n");
    return ExitCode::BadInput;
  }
  if (wish->follow) return AllLogs(session, console, *wish).run();
  json documents = json::array();
  for (const LogSource& source : sources) {
    if (!print_log(session, *wish, source, documents) || interrupted()) break;
  }
  if (wish->as_json)
    console.out(json{{"job", full_name(wish->job)}, {"logs", documents}}.dump(
                    2, ' ', false, json::error_handler_t::replace) +
                "\n");
  return session.code();
}

}  // namespace orrery::cli
