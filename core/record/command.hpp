// Orders out, and notices of what was decided. Identified by (journal sequence, index).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/alternative.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/job/job_enums.hpp"
#include "core/record/event.hpp"
#include "core/record/plan.hpp"

namespace orrery {

/// One worker to start: where, as what, with which devices.
struct WorkerStart {
  Rank rank;
  RoleIndex role;
  std::int32_t local_rank = 0;  ///< Index inside the role.
  NodeId node;
  Incarnation incarnation;
  std::uint64_t devices = 0;  ///< Bit i: device i of the node.
  Share share;                ///< Part of the one device; whole otherwise.
  Rank birth_rank;  ///< Rank of its first membership: with job and incarnation its lasting name.
                    ///< None: `rank` itself, as in every StartWorkers.
  std::uint64_t hardware = 0;   ///< Bit i: piece i of the node's custom hardware.
  std::int32_t first_port = 0;  ///< Of its block in the node's port ledger; 0: it has none.
  JobId beside;                 ///< The job on whose devices it is put; none: on its own.

  friend bool operator==(const WorkerStart&, const WorkerStart&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("rank", self.rank);
    v.field("role", self.role);
    v.field("local_rank", self.local_rank);
    v.field("node", self.node);
    v.field("incarnation", self.incarnation);
    v.field("devices", self.devices);
    v.field("share", self.share);
    v.field("birth_rank", self.birth_rank);
    v.field("hardware", self.hardware);
    v.field("first_port", self.first_port);
    v.field_since(5, "beside", self.beside);
  }
};

/// Start these workers of this generation. Starting one that runs is a no-op.
struct StartWorkers {
  JobId job;
  Generation generation;
  std::uint32_t world_size = 0;  ///< Workers of the whole generation.
  std::vector<WorkerStart> workers;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("generation", self.generation);
    v.field("world_size", self.world_size);
    v.field("workers", self.workers);
  }
};

/// One worker to stop.
struct WorkerStop {
  Rank rank;  ///< In the generation of the command.
  NodeId node;
  Incarnation incarnation;
  Rank birth_rank;  ///< With job and incarnation its lasting name, which a node knows even where it
                    ///< has not heard of the generation. None: `rank` tells.

  friend bool operator==(const WorkerStop&, const WorkerStop&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("rank", self.rank);
    v.field("node", self.node);
    v.field("incarnation", self.incarnation);
    v.field("birth_rank", self.birth_rank);
  }
};

/// Stop these workers: ask, wait for `grace`, then kill. The world reports each exit.
struct StopWorkers {
  JobId job;
  Generation generation;
  Duration grace;  ///< Zero: kill at once, nothing is saved.
  std::vector<WorkerStop> workers;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("generation", self.generation);
    v.field("grace", self.grace);
    v.field("workers", self.workers);
  }
};

/// The membership changed and these workers stay: their ranks from now on.
struct UpdateMembership {
  JobId job;
  Generation generation;  ///< The new one.
  std::uint32_t world_size = 0;
  std::vector<WorkerStart> members;  ///< Every worker of the generation, in rank order.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("generation", self.generation);
    v.field("world_size", self.world_size);
    v.field("members", self.members);
  }
};

/// The job is over: remove what its clean-pod policy does not keep, services included.
struct CleanJob {
  JobId job;
  CleanPodPolicy policy = CleanPodPolicy::Running;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("policy", self.policy);
  }
};

/// The answer to a client's request.
struct AnswerRequest {
  std::uint64_t request = 0;
  JobId job;  ///< None where the request named no known job.
  bool accepted = true;
  std::string message;  ///< With a refusal: what was found, what is needed.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("job", self.job);
    v.field("accepted", self.accepted);
    v.field("message", self.message);
  }
};

/// What a controller tells a role's sub-master. Repeated whenever the sub-master starts anew.
enum class SubMasterOrder : std::uint8_t {
  Recover,    ///< "Your role has failed: lead its recovery."
  State,      ///< The answer to AskState: what is to be done is to ask for a restart.
  Restarted,  ///< "All its workers are ready: start the role."
};

template <>
struct EnumNames<SubMasterOrder> {
  static constexpr std::array kNames{"recover", "state", "restarted"};
};

/// One word to the sub-master of a role.
struct TellSubMaster {
  JobId job;
  RoleIndex role;           ///< The role that it leads.
  RoleIndex master;         ///< Its own role.
  NodeId node;              ///< Where the sub-master runs,
  Incarnation incarnation;  ///< and which start of it is meant: others drop the order.
  std::uint32_t incident = 0;
  SubMasterOrder word = SubMasterOrder::Recover;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("role", self.role);
    v.field("master", self.master);
    v.field("node", self.node);
    v.field("incarnation", self.incarnation);
    v.field("incident", self.incident);
    v.field("word", self.word);
  }
};

/// Asks the extension for new machines in place of these nodes; NodesRelaunched answers.
struct RelaunchNodes {
  JobId job;
  std::uint32_t incident = 0;
  std::vector<NodeId> nodes;
  Duration timeout;  ///< An answer that comes later is not waited for.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("incident", self.incident);
    v.field("nodes", self.nodes);
    v.field("timeout", self.timeout);
  }
};

/// Alternatives are appended, never reordered.
using CommandKinds = std::variant<StartWorkers,
                                  StopWorkers,
                                  UpdateMembership,
                                  CleanJob,
                                  AnswerRequest,
                                  TellSubMaster,
                                  RelaunchNodes>;

/// One of them; compiled once, as EventBody.
struct CommandBody : CommandKinds {
  CommandBody();
  CommandBody(const CommandBody& other);
  CommandBody(CommandBody&& other) noexcept;
  CommandBody& operator=(const CommandBody& other);
  CommandBody& operator=(CommandBody&& other) noexcept;
  ~CommandBody();

  template <class Kind>

  requires is_alternative<Kind, CommandKinds> CommandBody(Kind kind)
      : CommandKinds(std::in_place_type<Kind>, std::move(kind)) {}
};

/// One order, idempotent under its id.
struct Command {
  Sequence sequence;        ///< The record whose step gave it.
  std::uint32_t index = 0;  ///< Position among that step's commands.
  Epoch epoch;
  CommandBody body;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("sequence", self.sequence);
    v.field("index", self.index);
    v.field("epoch", self.epoch);
    v.field("body", self.body);
  }
};

/// Why something from outside, or a part of a plan, changed nothing.
enum class Ignored : std::uint8_t {
  UnknownJob,
  StaleGeneration,
  StaleIncarnation,
  JobFinished,
  NotInThisPhase,
  AlreadyKnown,
  UnknownRank,
  UnknownNode,
  FixedJob,
  OutOfBounds,
  DoesNotFit,
  OverQuota,
  BadSpecification,
  RecoveryUnderWay,  ///< The scope of the report recovers already.
  StaleIncident,     ///< Of a recovery that is over.
};

template <>
struct EnumNames<Ignored> {
  static constexpr std::array kNames{"UnknownJob",
                                     "StaleGeneration",
                                     "StaleIncarnation",
                                     "JobFinished",
                                     "NotInThisPhase",
                                     "AlreadyKnown",
                                     "UnknownRank",
                                     "UnknownNode",
                                     "FixedJob",
                                     "OutOfBounds",
                                     "DoesNotFit",
                                     "OverQuota",
                                     "BadSpecification",
                                     "RecoveryUnderWay",
                                     "StaleIncident"};
};

/// What a notice tells.
enum class NoticeKind : std::uint8_t {
  PhaseChanged,     ///< A job went from one phase to another.
  Allocated,        ///< A job's replicas or nodes changed.
  Counted,          ///< A counter (restarts, reschedules, preemptions) went up.
  IgnoredReport,    ///< An event changed nothing, with the reason.
  GrantDropped,     ///< Part of a plan was not carried out, with the reason.
  GrantClipped,     ///< Part of a plan was cut to what fits.
  NodeChanged,      ///< A node went silent or came back.
  WorkersReported,  ///< A worker became ready, exited or was lost.
  IncidentOpened,   ///< A cause of failure was recognised, and charged or not.
  IncidentClosed,   ///< The job works again, or has ended.
  WorkerRestarted,  ///< A replica of a job that had been started before was started anew.
  WorkLost,         ///< A job went back to its last checkpoint.
  WorkerSuspected,  ///< A worker that lives does not do its part; nothing is done about it.
  PlanLost,         ///< The policy gave no plan that can be used; allocations stay.
  PolicyChosen,     ///< A policy of several adopts one of them; `State::chosen` has which and why.
};

template <>
struct EnumNames<NoticeKind> {
  static constexpr std::array kNames{"PhaseChanged",
                                     "Allocated",
                                     "Counted",
                                     "IgnoredReport",
                                     "GrantDropped",
                                     "GrantClipped",
                                     "NodeChanged",
                                     "WorkersReported",
                                     "IncidentOpened",
                                     "IncidentClosed",
                                     "WorkerRestarted",
                                     "WorkLost",
                                     "WorkerSuspected",
                                     "PlanLost",
                                     "PolicyChosen"};
};

/// Which counter a `Counted` notice is about.
enum class Counter : std::uint8_t {
  Restarts,
  Reschedules,
  Preemptions,
  NodeLosses,
  RoleRestarts,  ///< Of roles as a whole, all together.
  JobRestarts,   ///< Of the job as a whole.
  NodesRelaunched,
};

template <>
struct EnumNames<Counter> {
  static constexpr std::array kNames{"restarts",
                                     "reschedules",
                                     "preemptions",
                                     "node_losses",
                                     "role_restarts",
                                     "job_restarts",
                                     "nodes_relaunched"};
};

/// What became of a node.
enum class NodeChange : std::uint8_t {
  Silent,
  Returned,
  Excluded,  ///< By a user, as a lemon, or because its relaunch failed.
  Included,
  Leaving,
  DeviceLost,
  Relaunched,
  SpareUsed,   ///< A spare node is used from now on.
  SpareAgain,  ///< A node that came back is a spare from now on.
  HeldForCheck,
};

template <>
struct EnumNames<NodeChange> {
  static constexpr std::array kNames{"Silent",
                                     "Returned",
                                     "Excluded",
                                     "Included",
                                     "Leaving",
                                     "DeviceLost",
                                     "Relaunched",
                                     "SpareUsed",
                                     "SpareAgain",
                                     "HeldForCheck"};
};

/// What an incident takes with it. Each covers the ones after it: job, role, worker. A node
/// incident covers all workers of the node, of all jobs.
enum class IncidentScope : std::uint8_t { Node, Job, Role, Worker };

template <>
struct EnumNames<IncidentScope> {
  static constexpr std::array kNames{"node", "job", "role", "worker"};
};

/// One line of what a user or a metric wants to know. Derived, never journaled: replay gives it
/// again. Plain data; only the fields that its kind names are meaningful.
struct Notice {
  NoticeKind kind = NoticeKind::PhaseChanged;
  Instant at;
  Instant occurred_at;
  JobId job;
  NodeId node;
  Generation generation;
  JobPhase from = JobPhase::Pending;      ///< PhaseChanged.
  JobPhase to = JobPhase::Pending;        ///< PhaseChanged.
  Reason reason = Reason::Submitted;      ///< PhaseChanged. Incident*: its cause.
  Ignored ignored = Ignored::UnknownJob;  ///< IgnoredReport, GrantDropped.
  Counter counter = Counter::Restarts;    ///< Counted.
  WorkerFact fact = WorkerFact::Ready;    ///< WorkersReported.
  Rank first;                             ///< WorkersReported.
  std::int32_t count = 0;        ///< Counted: new value. Allocated: replicas. Workers: how many.
  std::int32_t devices = 0;      ///< Allocated: devices held; a part of one counts as a whole.
  std::int32_t thousandths = 0;  ///< Allocated: the same in thousandths, parts counted as parts.
  std::int32_t exit_code = 0;    ///< WorkersReported.
  bool up = false;               ///< NodeChanged: is it usable now?
  NodeChange change = NodeChange::Silent;       ///< NodeChanged.
  IncidentScope scope = IncidentScope::Worker;  ///< Incident*.
  std::uint32_t incident = 0;                   ///< Incident*: its number in the job, from 1.
  bool charged = false;                         ///< IncidentOpened: to the backoff limit.
  RoleIndex role;                         ///< WorkerRestarted; Incident*: of the root, if a worker.
  std::int32_t local_rank = 0;            ///< With `role`.
  Suspicion suspicion = Suspicion::Hung;  ///< WorkerSuspected.
  PlanLoss loss = PlanLoss::Late;         ///< PlanLost; `count`: how many in a row.
  double work = 0;                        ///< WorkLost: in the job's unit.
  std::uint16_t event_kind = 0;           ///< IgnoredReport: index into EventBody.
};

/// What one `step` gave, in order. Reused by the caller: `clear` keeps the memory.
struct Commands {
  std::vector<CommandBody> orders;
  std::vector<Notice> notices;

  void clear() {
    orders.clear();
    notices.clear();
  }
};

std::string_view kind_name(const CommandBody& body);

}  // namespace orrery
