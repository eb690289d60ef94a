// What a job wants done when something fails: limits, triggers, detection.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/enum_names.hpp"
#include "core/base/units.hpp"

namespace orrery {

/// What a job does when its controller is lost and another takes over.
enum class RecoveryMode : std::uint8_t {
  Continue,  ///< Every job goes on from the journal.
  Strict,    ///< DLRover's rule: only a Running job goes on, any other fails.
};

/// When a worker whose own program ended with an error (exit codes 1 to 127) is acted upon. A
/// worker that was ended by a signal (128 and above) or vanished always counts at once.
enum class FailureTrigger : std::uint8_t {
  Now,
  AtEnd,  ///< When every other required worker has ended.
  Skip,   ///< Never: it counts as done.
};

/// What is done then.
enum class FailureResponse : std::uint8_t {
  Recover,  ///< The job's own recovery scope.
  Role,     ///< All workers of the role start anew.
  Job,      ///< All workers of the job start anew.
  Stop,     ///< The job fails.
};

template <>
struct EnumNames<RecoveryMode> {
  static constexpr std::array kNames{"continue", "strict"};
};

template <>
struct EnumNames<FailureTrigger> {
  static constexpr std::array kNames{"now", "at_end", "skip"};
};

template <>
struct EnumNames<FailureResponse> {
  static constexpr std::array kNames{"recover", "role", "job", "stop"};
};

/// A limit that does not bind.
inline constexpr std::int32_t kUnlimited = -1;

/// Failover of one job. Each limit is the largest count that is still recovered from; one more ends
/// the job (or, for `worker_node_failures_max`, asks for another node).
struct FailoverSpec {
  RecoveryMode mode = RecoveryMode::Continue;
  FailureTrigger trigger = FailureTrigger::Now;
  FailureResponse response = FailureResponse::Recover;
  std::int32_t worker_failures_max = kUnlimited;       ///< Charged failures of one replica.
  std::int32_t worker_node_failures_max = kUnlimited;  ///< Of one replica on one node: relaunch.
  std::int32_t role_restarts_max = kUnlimited;         ///< Restarts of one role as a whole.
  std::int32_t job_restarts_max = kUnlimited;          ///< Restarts of the job as a whole.
  std::int32_t node_losses_max = kUnlimited;           ///< Recoveries from nodes and devices lost.
  std::int32_t preemptions_max = kUnlimited;           ///< Preemptions and leaving nodes.
  std::int32_t nodes_relaunched_max = 10;
  Duration reset_window = Duration::forever();  ///< So long without an incident clears budgets.
  double jitter = 0;            ///< Share of the backoff delay that is drawn at random, 0 to 1.
  bool relaunch_group = false;  ///< A node that does not come back takes its group along.
  Duration relaunch_timeout = Duration::seconds(900);         ///< Above 0.
  Duration relaunch_group_timeout = Duration::seconds(1800);  ///< Above 0.
  Duration sub_master_timeout = Duration::seconds(60);        ///< Longest wait for its next word.
  Duration hang_after = Duration::forever();  ///< No progress for so long: hung. Above 0.
  bool hang_restarts = true;                  ///< False: a hang is only told.
  double straggler_factor = 0;   ///< Step time over the lower median of its role; 0: not looked at.
  bool straggler_moves = false;  ///< True: a straggler is started again on another node.

  friend bool operator==(const FailoverSpec&, const FailoverSpec&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("mode", self.mode);
    v.field("trigger", self.trigger);
    v.field("response", self.response);
    v.field("worker_failures_max", self.worker_failures_max);
    v.field("worker_node_failures_max", self.worker_node_failures_max);
    v.field("role_restarts_max", self.role_restarts_max);
    v.field("job_restarts_max", self.job_restarts_max);
    v.field("node_losses_max", self.node_losses_max);
    v.field("preemptions_max", self.preemptions_max);
    v.field("nodes_relaunched_max", self.nodes_relaunched_max);
    v.field("reset_window", self.reset_window);
    v.field("jitter", self.jitter);
    v.field("relaunch_group", self.relaunch_group);
    v.field("relaunch_timeout", self.relaunch_timeout);
    v.field("relaunch_group_timeout", self.relaunch_group_timeout);
    v.field("sub_master_timeout", self.sub_master_timeout);
    v.field("hang_after", self.hang_after);
    v.field("hang_restarts", self.hang_restarts);
    v.field("straggler_factor", self.straggler_factor);
    v.field("straggler_moves", self.straggler_moves);
  }
};

}  // namespace orrery
