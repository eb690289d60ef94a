// A job that is followed to its end: phases on standard error, output of the ranks, how it ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/client/absence.hpp"
#include "tools/client/own_job.hpp"
#include "tools/client/run_output.hpp"
#include "tools/client/session.hpp"

namespace orrery::cli {

/// Where a run waits. Once one is there, Ctrl-C and SIGTERM interrupt no request any more.
class RunHost {
 public:
  virtual ~RunHost() = default;

  /// Waits so long at most. False where Ctrl-C or SIGTERM came.
  virtual bool wait(std::chrono::milliseconds limit) = 0;

  /// Whether all nodes that there will ever be are there.
  virtual bool has_all_nodes() const = 0;
};

/// The client alone: after the first Ctrl-C a second one ends the process at once, with code 130.
class TerminalHost final : public RunHost {
 public:
  TerminalHost();
  bool wait(std::chrono::milliseconds limit) override;

  bool has_all_nodes() const override { return false; }

 private:
  bool caught_ = false;
};

struct RunFollowed {
  std::string job;             ///< Its full name.
  std::int32_t world_min = 1;  ///< Ranks that it has at least.
  std::int32_t max_restarts = 0;
  RunView view;
};

/// Follows one job. Ctrl-C stops it, and it is followed to its end; a second one leaves at once.
class RunFollowing {
 public:
  RunFollowing(Session& session, RunHost& host, RunFollowed what);

  /// 0: succeeded; 1: failed, which was told with the rank that failed first and the end of what it
  /// wrote; 5: the controller stayed away; 130: interrupted.
  ExitCode run();

 private:
  using Clock = std::chrono::steady_clock;

  void look();
  void look_past();
  void take(nlohmann::json job);
  void tell_phase();
  void tell_restarts();
  void stop(const std::string& why);
  bool drain_output();
  void refresh();
  void tell_failure();
  ExitCode end();

  Session& session_;
  RunHost& host_;
  RunFollowed what_;
  RunOutput output_;
  nlohmann::json job_;
  std::string told_phase_;
  std::string told_message_;
  std::int64_t restarts_ = 0;
  std::int64_t failures_until_ = 0;  ///< Of failures of starts before the present one: the last.
  Absence absence_;
  OwnJob own_;
  bool ended_ = false;
  bool is_past_ = false;  ///< Ended, and another job has its name.
  bool interrupted_ = false;
  bool stopping_ = false;
};

}  // namespace orrery::cli
