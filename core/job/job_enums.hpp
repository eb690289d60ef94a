// The words of a job: every enumeration that users, journal and logs share, each with one spelling.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/enum_names.hpp"

namespace orrery {

/// Which system's documented semantics a specification follows where they differ.
enum class JobFamily : std::uint8_t {
  Native,  ///< Orrery's own: task semantics, backoffLimit 3.
  Group,   ///< DI-orchestrator v1.0: one group with min and max; a failed worker fails the job.
  Tasks,   ///< DI-orchestrator v1.1: tasks, backoffLimit 3.
};

/// Whose conventions a worker's environment follows (core/workers/family_variables.hpp). All have
/// the ORRERY_* variables and those that show devices.
enum class WorkerFamily : std::uint8_t {
  Native,   ///< Nothing else.
  Torch,    ///< torch.distributed, as torchrun starts it; its peers are all workers of the job.
  RLinf,    ///< A worker of an RLinf component; its peers are those of the role.
  NemoRl,   ///< A worker of a NeMo-RL worker group; its peers are those of the role.
  DLRover,  ///< A worker of a DLRover Unified elastic workload; its peers are those of the role.
};

/// DI-engine's kinds of task; `none` for everything else.
enum class TaskType : std::uint8_t { None, Learner, Collector, Evaluator };

/// Whether a role's exit counts towards the job's success.
enum class Completion : std::uint8_t {
  Required,  ///< All its workers must exit 0.
  Follower,  ///< Drained once all required workers have succeeded.
};

/// What is left of a finished job's workers (DI-orchestrator's cleanPodPolicy).
enum class CleanPodPolicy : std::uint8_t {
  Running,  ///< Workers that still run are removed; finished ones stay readable.
  All,      ///< Every worker is removed.
  None,     ///< Every worker is kept; followers run on until they end by themselves.
};

/// DI-orchestrator v1.0: which workers connect to which.
enum class Topology : std::uint8_t { Star, Alone, Mesh };

/// Which workers one failure restarts.
enum class RecoveryScope : std::uint8_t {
  Worker,  ///< The failed ones only.
  Role,    ///< All workers of their role.
  Job,     ///< Everybody: what collectives without a rendezvous need.
};

/// What a change of membership does to the workers that stay.
enum class RescaleMode : std::uint8_t {
  InPlace,  ///< They keep running and learn of the new membership, by whatever way they know.
  Restart,  ///< Checkpoint, stop all, start all anew.
  Auto,     ///< Those that said hello to their agent are told in place; all others start anew.
};

/// Where an estimate of a job's duration comes from.
enum class EstimateSource : std::uint8_t { None, Declared, Oracle, Measured };

/// Where a job stands. Legal edges: core/job/phase.hpp.
enum class JobPhase : std::uint8_t {
  Pending,
  Starting,
  Running,
  Rescheduling,
  Restarting,
  Unknown,
  Succeeded,
  Failed,
};

/// Why a job is in its phase; one list for conditions, notices and results.
enum class Reason : std::uint8_t {
  Submitted,
  Infeasible,
  Granted,
  AllReady,
  Rescaled,
  Moved,
  Preempted,
  WorkerFailed,
  WorkerLost,
  NodeLost,
  BackoffLimitReached,
  RequiredSucceeded,
  StoppedByUser,
  InvalidSpec,
  StartDeadline,
  ContactLost,
  ContactRegained,
  WorkerHung,           ///< A worker lives and does nothing.
  WorkerStraggling,     ///< A worker is far slower than its peers.
  DeviceLost,           ///< A device under a worker is gone.
  NodeLeaving,          ///< A node has announced that it goes away.
  NodeRelaunched,       ///< A node was replaced after too many failures on it.
  NodeRelaunchFailed,   ///< A replacement was asked for and did not come.
  SubMasterLate,        ///< A sub-master did not lead its role's recovery on in time.
  WorkerErred,          ///< A worker's program ended with an error, and that ends the job.
  FailureLimitReached,  ///< A limit other than the backoff limit; the job's message says which.
  RecoveryRefused,      ///< Strict recovery: the controller was lost while the job did not run.
  WaitDeadline,
  RunDeadline,
  CannotStart,  ///< A worker's program or folder is not there or cannot be used: no retry helps.
  PortInUse,    ///< Something else on the host listens at a port of a worker: it gets others.
  WorkerStuck,  ///< A worker was killed and does not end: its node is excluded.
  NotAdmitted,  ///< Its policy cannot guarantee what it asks for: it gets what others leave.
  NodeBlamed,   ///< A worker failed and said that its node is at fault.
};

/// What one worker is doing, as last reported.
enum class WorkerState : std::uint8_t {
  Claimed,    ///< Placed; its devices are not free yet.
  Starting,   ///< Told to start.
  Ready,      ///< Reported ready.
  Draining,   ///< Told to stop.
  Succeeded,  ///< Exited 0.
  Failed,     ///< Exited otherwise, or never came up.
  Stopped,    ///< Gone because it was told to.
  Lost,       ///< Gone without an exit: deleted from outside, or its node was lost.
};

/// What is reported of workers.
enum class WorkerFact : std::uint8_t {
  Ready,         ///< Up and able to work; it is told of changes of membership.
  Exited,        ///< Ended with an exit code.
  Lost,          ///< Missing from its node's complete list, or deleted from outside.
  LaunchFailed,  ///< Never came up: refused by the node.
  Running,       ///< Its process runs, but it said no hello to its agent: it cannot be notified of
                 ///< changes.
};

template <>
struct EnumNames<JobFamily> {
  static constexpr std::array kNames{"native", "group", "tasks"};
};

template <>
struct EnumNames<WorkerFamily> {
  static constexpr std::array kNames{"native", "torch", "rlinf", "nemo_rl", "dlrover"};
};

template <>
struct EnumNames<TaskType> {
  static constexpr std::array kNames{"none", "learner", "collector", "evaluator"};
};

template <>
struct EnumNames<Completion> {
  static constexpr std::array kNames{"required", "follower"};
};

template <>
struct EnumNames<CleanPodPolicy> {
  static constexpr std::array kNames{"Running", "All", "None"};
};

template <>
struct EnumNames<Topology> {
  static constexpr std::array kNames{"star", "alone", "mesh"};
};

template <>
struct EnumNames<RecoveryScope> {
  static constexpr std::array kNames{"worker", "role", "job"};
};

template <>
struct EnumNames<RescaleMode> {
  static constexpr std::array kNames{"in_place", "restart", "auto"};
};

template <>
struct EnumNames<EstimateSource> {
  static constexpr std::array kNames{"none", "declared", "oracle", "measured"};
};

template <>
struct EnumNames<JobPhase> {
  static constexpr std::array kNames{"Pending",
                                     "Starting",
                                     "Running",
                                     "Rescheduling",
                                     "Restarting",
                                     "Unknown",
                                     "Succeeded",
                                     "Failed"};
};

template <>
struct EnumNames<Reason> {
  static constexpr std::array kNames{"Submitted",
                                     "Infeasible",
                                     "Granted",
                                     "AllReady",
                                     "Rescaled",
                                     "Moved",
                                     "Preempted",
                                     "WorkerFailed",
                                     "WorkerLost",
                                     "NodeLost",
                                     "BackoffLimitReached",
                                     "RequiredSucceeded",
                                     "StoppedByUser",
                                     "InvalidSpec",
                                     "StartDeadline",
                                     "ContactLost",
                                     "ContactRegained",
                                     "WorkerHung",
                                     "WorkerStraggling",
                                     "DeviceLost",
                                     "NodeLeaving",
                                     "NodeRelaunched",
                                     "NodeRelaunchFailed",
                                     "SubMasterLate",
                                     "WorkerErred",
                                     "FailureLimitReached",
                                     "RecoveryRefused",
                                     "WaitDeadline",
                                     "RunDeadline",
                                     "CannotStart",
                                     "PortInUse",
                                     "WorkerStuck",
                                     "NotAdmitted",
                                     "NodeBlamed"};
};

template <>
struct EnumNames<WorkerState> {
  static constexpr std::array kNames{
      "Claimed", "Starting", "Ready", "Draining", "Succeeded", "Failed", "Stopped", "Lost"};
};

template <>
struct EnumNames<WorkerFact> {
  static constexpr std::array kNames{"Ready", "Exited", "Lost", "LaunchFailed", "Running"};
};

/// Whether the fact is about a worker that lives.
constexpr bool is_up(WorkerFact fact) {
  return fact == WorkerFact::Ready || fact == WorkerFact::Running;
}

/// Exit codes of a worker whose program, or working directory, cannot be run, as a shell has them:
/// it is there but cannot be used, or it is not there.
inline constexpr std::int32_t kCannotRun = 126;
inline constexpr std::int32_t kNotFound = 127;

/// Exit code of a worker that was lost before it started, since a port of its own was in use.
inline constexpr std::int32_t kPortInUse = 98;

/// Succeeded and Failed are final.
constexpr bool is_final(JobPhase phase) {
  return phase == JobPhase::Succeeded || phase == JobPhase::Failed;
}

}  // namespace orrery
