// Logs of workers: which, where, and as they are written.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "tools/client/own_job.hpp"
#include "tools/client/session.hpp"

namespace orrery::cli {

/// Which logs, and how.
struct LogWish {
  std::string job;   ///< As it was given.
  std::string role;  ///< Empty: ranks are those in the job.
  std::uint64_t rank = 0;
  std::optional<std::uint64_t> tail;
  bool follow = false;
  bool previous = false;
  bool all = false;
  bool as_json = false;

  std::string subject() const { return "job " + full_name(job); }
};

/// One worker whose log is wanted.
struct LogSource {
  std::string role;              ///< Empty: `rank` is the one in the job.
  std::uint64_t rank = 0;        ///< In the role, else in the job.
  std::string prefix;            ///< Before each line of several logs.
  std::int64_t incarnation = 0;  ///< Of the start that is being read; 0: not known.
};

/// The path and query of a log.
std::string log_target(const LogWish& wish, const LogSource& source);

/// Whether a member of a job has begun, so that there is a log of it.
bool worker_has_begun(const nlohmann::json& member);

/// What becomes of a log that is followed.
struct LogHooks {
  std::function<void(const LogSource& source, std::string_view line)> line;
  bool tells = true;                        ///< On standard error: starts, losses, refusals.
  const std::atomic<bool>* over = nullptr;  ///< Once true nothing more is waited for; may be null.
};

/// Follows the log of one replica over restarts of its worker, its job and the controller, until
/// the job is over.
class LogFollower {
 public:
  LogFollower(const ClientOptions& options,
              Console& console,
              LogWish wish,
              LogSource source,
              LogHooks hooks)
      : session_(options, console),
        wish_(std::move(wish)),
        source_(std::move(source)),
        hooks_(std::move(hooks)) {}

  ExitCode run();

  /// The start that was read last; 0: not known.
  std::int64_t incarnation() const { return source_.incarnation; }

  /// Whether something came, be it only the end of an empty log.
  bool has_begun() const { return has_begun_; }

 private:
  enum class Ending : std::uint8_t {
    Ended,    ///< The worker has ended, and all that it wrote has come.
    Lost,     ///< It broke off.
    Refused,  ///< There is none; told.
  };

  bool is_over() const;
  void tell(const std::string& text);
  nlohmann::json job_now();
  std::string target() const;
  void take(const ServerEvent& event);
  Ending follow();
  bool await_rest();
  bool await_next_start();

  Session session_;
  LogWish wish_;
  LogSource source_;
  LogHooks hooks_;
  std::uint64_t lines_ = 0;          ///< Printed, of this start.
  std::string last_id_;              ///< Of the line printed last; empty: none was told.
  std::optional<std::string> part_;  ///< Of a line that broke off, not printed yet.
  bool has_begun_ = false;
  bool is_whole_ = true;  ///< Printed from its first line on.
  bool waits_ = false;
  bool is_gone_ = false;
  bool is_replaced_ = false;  ///< Gone, and another job has its name.
  OwnJob own_;
  int asks_once_over_ = 0;   ///< For the rest of the log, since the job was over.
  bool is_cut_off_ = false;  ///< The rest has not come.
};

}  // namespace orrery::cli
