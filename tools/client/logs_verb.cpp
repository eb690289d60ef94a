// logs: what workers wrote, once or as they write it.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
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

/// Prints one log, or adds it to `documents`.
void print_log(Session& session, const LogWish& wish, const LogSource& source, json& documents) {
  std::string target = log_target(wish, source);
  if (wish.tail) target += "&tail_lines=" + std::to_string(*wish.tail);
  const Result<HttpReply> reply = session.client().send({.target = target, .accept = "text/plain"});
  const std::string subject =
      wish.subject() +
      (source.prefix.empty() ? "" : ", " + source.role + " " + std::to_string(source.rank));
  if (!reply) {
    session.tell(reply.errors());
  } else if (!reply->is_good()) {
    session.tell(*reply, subject);
  } else {
    const std::string_view text =
        wish.tail ? last_lines(reply->body, *wish.tail) : std::string_view(reply->body);
    if (!wish.as_json) return print_text(session.console(), wish, source, text);
    json log = {{"rank", source.rank}, {"lines", lines_json(text)}};
    if (!source.role.empty()) log["role"] = source.role;
    documents.push_back(std::move(log));
  }
}

// --- as it comes ---

/// The workers of the job, or of one of its roles. Empty where that was told.
std::vector<LogSource> all_sources(Session& session, const LogWish& wish) {
  std::vector<LogSource> out;
  const json job = session.ask({.target = job_target(wish.job)}, wish.subject());
  if (job.is_null()) return out;
  std::size_t width = 0;
  for (const json& member : list_of(job, "members")) {
    const std::string role = text_of(member, "role");
    if (!wish.role.empty() && role != wish.role) continue;
    LogSource source;
    source.role = role;
    source.rank =
        static_cast<std::uint64_t>(std::max<std::int64_t>(number_of(member, "local_rank"), 0));
    source.prefix = role + " " + std::to_string(source.rank);
    width = std::max(width, source.prefix.size());
    out.push_back(std::move(source));
  }
  for (LogSource& source : out) {
    source.prefix.resize(width, ' ');
    source.prefix += " | ";
  }
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

/// A thread for each log; Ctrl-C ends the program, whatever they wait for.
ExitCode follow_all(const ClientOptions& options,
                    Console& console,
                    const LogWish& wish,
                    std::vector<LogSource> sources) {
  std::atomic<std::size_t> left = sources.size();
  std::atomic<int> code = 0;
  std::vector<std::thread> threads;
  for (LogSource& source : sources)
    threads.emplace_back([&, source = std::move(source)]() mutable {
      const ExitCode own = follower_of(options, console, wish, std::move(source)).run();
      if (own != ExitCode::Met) code = static_cast<int>(own);
      --left;
    });
  while (left > 0 && !interrupted()) ::poll(nullptr, 0, kLookMs);
  if (interrupted()) std::_Exit(static_cast<int>(ExitCode::Interrupted));
  for (std::thread& thread : threads) thread.join();
  return static_cast<ExitCode>(code.load());
}

}  // namespace

ExitCode run_logs(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  const auto wish = log_wish(arguments);
  if (!options) console.errors(options.errors());
  if (!wish) console.errors(wish.errors());
  if (!options || !wish) return ExitCode::BadInput;
  Session session(*options, console);
  std::vector<LogSource> sources;
  if (wish->all) sources = all_sources(session, *wish);
  if (session.code() != ExitCode::Met) return session.code();
  // Without workers the answer to rank 0 says why there are none.
  if (sources.empty()) sources.push_back({.role = wish->role, .rank = wish->rank});
  if (wish->follow && sources.size() == 1)
    return follower_of(*options, console, *wish, std::move(sources.front())).run();
  if (wish->follow && sources.size() > kFollowedMax) {
    console.err(wish->subject() + ": " + std::to_string(sources.size()) +
                " workers found, at most 256 logs can be followed at once; name a --role or a "
                "--rank\n");
    return ExitCode::BadInput;
  }
  if (wish->follow) return follow_all(*options, console, *wish, std::move(sources));
  json documents = json::array();
  for (const LogSource& source : sources) {
    print_log(session, *wish, source, documents);
    if (session.code() == ExitCode::Unreachable || session.code() == ExitCode::Interrupted) break;
  }
  if (wish->as_json)
    console.out(json{{"job", full_name(wish->job)}, {"logs", documents}}.dump(
                    2, ' ', false, json::error_handler_t::replace) +
                "\n");
  return session.code();
}

}  // namespace orrery::cli
