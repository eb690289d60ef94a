// The agent of one node as a pure state machine: lease, self-fencing, complete worker lists,
// adoption. The daemon, the local world and the hollow agents of load tests drive this same one.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/agent/heartbeat.hpp"
#include "core/base/bytes.hpp"
#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"

namespace orrery {

/// One start of one replica: its name as long as the process lives, while generation, rank and slot
/// change with the membership.
struct WorkerName {
  JobId job;
  Incarnation incarnation;
  Rank birth_rank;  ///< Its rank when it was started.

  friend auto operator<=>(const WorkerName&, const WorkerName&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("incarnation", self.incarnation);
    v.field("birth_rank", self.birth_rank);
  }
};

/// The place of a replica in its job; no two processes may hold one.
struct WorkerSlot {
  RoleIndex role;
  std::int32_t local_rank = 0;  ///< Index inside the role.

  friend auto operator<=>(const WorkerSlot&, const WorkerSlot&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("role", self.role);
    v.field("local_rank", self.local_rank);
  }
};

/// What the agent does with one worker.
enum class AgentWorkerState : std::uint8_t {
  Waiting,   ///< Taken on; an older incarnation of its slot must end first.
  Starting,  ///< Spawned, not ready yet.
  Ready,     ///< Said that it is able to work.
  Asked,     ///< Asked to stop; killed when its grace is over.
  Killed,    ///< Killed; its exit has not been seen yet.
};

template <>
struct EnumNames<AgentWorkerState> {
  static constexpr std::array kNames{"Waiting", "Starting", "Ready", "Asked", "Killed"};
};

/// One worker that the agent answers for. Orders name it by its present generation and rank;
/// reports name it by those of its birth, which no later membership can make ambiguous.
struct AgentWorker {
  WorkerName name;
  WorkerSlot slot;
  Generation born;        ///< Generation of its birth rank.
  Generation generation;  ///< Its present one,
  Rank rank;              ///< and its rank in it.
  std::uint32_t world_size = 0;
  std::uint64_t devices = 0;  ///< Bit i: device i of the node.
  Share share;
  std::uint64_t hardware = 0;   ///< Bit i: piece i of the node's custom hardware.
  std::int32_t first_port = 0;  ///< Of its block of ports; 0: it has none.
  JobId beside;                 ///< The job on whose devices it was put; none: on its own.
  Generation environment;  ///< It has said no hello: whose membership its environment has. 0: it is
                           ///< told of memberships, or is not up.
  AgentWorkerState state = AgentWorkerState::Starting;
  bool fenced = false;                ///< Killed by the fence: reported Lost, not Exited.
  bool job_cleaned = false;           ///< Its end need not be remembered.
  bool stuck = false;                 ///< Reported Lost, though the kernel holds its process.
  Instant act_at = Instant::never();  ///< Asked: when to kill. Killed: when to kill again.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("name", self.name);
    v.field("slot", self.slot);
    v.field("born", self.born);
    v.field("generation", self.generation);
    v.field("rank", self.rank);
    v.field("world_size", self.world_size);
    v.field("devices", self.devices);
    v.field("share", self.share);
    v.field("hardware", self.hardware);
    v.field("first_port", self.first_port);
    v.field_since(5, "beside", self.beside);
    v.field("environment", self.environment);
    v.field("state", self.state);
    v.field("fenced", self.fenced);
    v.field("job_cleaned", self.job_cleaned);
    v.field("stuck", self.stuck);
    v.field("act_at", self.act_at);
  }
};

/// One worker that has ended, kept until its job is cleaned or its slot starts anew, so that a
/// report lost on the way can be repeated.
struct EndedWorker {
  WorkerName name;
  WorkerSlot slot;
  Generation born;
  Generation generation;  ///< Its last one,
  Rank rank;              ///< and its rank in it.
  WorkerFact fact = WorkerFact::Exited;
  std::int32_t exit_code = 0;
  std::string why;                ///< With LaunchFailed: the reason, for people.
  std::int32_t busy_port = 0;     ///< With LaunchFailed: see WorkersChanged.
  RarePart<Diagnosis> diagnosis;  ///< With Exited, not by success.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("name", self.name);
    v.field("slot", self.slot);
    v.field("born", self.born);
    v.field("generation", self.generation);
    v.field("rank", self.rank);
    v.field("fact", self.fact);
    v.field("exit_code", self.exit_code);
    v.field("why", self.why);
    v.field("busy_port", self.busy_port);
    v.field_since(5, "diagnosis", self.diagnosis);
  }
};

/// Of two starts of one job, living or ended: whether they were in the same slot, and `a` is the
/// one that the job has there since. A worker that was told a later membership moved to its slot in
/// that one, however old its start is; what was there before has left.
template <class One, class Other>
bool comes_after(const One& a, const Other& b) {
  if (a.slot != b.slot) return false;
  if (a.generation != b.generation) return a.generation > b.generation;
  return a.name.incarnation > b.name.incarnation;
}

/// An order from the controller. Only the parts for this node are looked at.
struct CommandReceived {
  Command command;
};

/// The controller heard the heartbeat that left at `sent_at` (the agent's clock).
struct LeaseRenewed {
  Epoch epoch;
  Instant sent_at;
};

/// A controller answers under this epoch but renews nothing: the agent must register first.
struct EpochAnnounced {
  Epoch epoch;
};

/// The worker is up and able to work, and is told of changes of membership.
struct WorkerReady {
  WorkerName worker;
};

/// The worker's program runs. Nothing was heard of it, so it knows the membership of its
/// environment and cannot be told of another; WorkerReady may follow.
struct WorkerRuns {
  WorkerName worker;
  Generation environment;  ///< Of that membership.
};

/// The worker's process is gone. `exit_code`: 0 to 255, or 128 plus the signal that ended it.
struct WorkerExited {
  WorkerName worker;
  std::int32_t exit_code = 0;
  Diagnosis diagnosis = {};  ///< What it said last of its end; not looked at where that is 0.
};

/// The worker's process was reaped by another process: how it ended is unknown. Reported Lost.
struct WorkerVanished {
  WorkerName worker;
};

/// The process could not be created, or not be made to run its program.
struct SpawnFailed {
  WorkerName worker;
  std::int32_t exit_code = 0;  ///< kCannotRun, kNotFound: no other try can help. 0: one may.
  std::string why;             ///< For people.
  std::int32_t busy_port = 0;  ///< A port of its own that is in use; 0: that is not the reason.
};

/// First event of an agent that finds workers of an earlier life of its node's agent.
struct AgentRestarted {
  Epoch epoch;          ///< As the shim knows it.
  Instant lease_until;  ///< The shim's fence.
  std::vector<AgentWorker> living;
  std::vector<EndedWorker> ended;
};

/// A new connection to the controller: what was sent on the old one may be lost.
struct Connected {};

/// The process of a role's sub-master says something to its controller.
struct SubMasterSpoke {
  WorkerName worker;  ///< The sub-master.
  RoleIndex role;     ///< The role that it leads.
  std::uint32_t incident = 0;
  SubMasterMessage word = SubMasterMessage::AskState;
};

/// The worker was killed, and what is left of it neither ends nor ever runs its program again: a
/// kill is pending for all of it, and the kernel does not get to it (uninterruptible sleep).
struct WorkerStuck {
  WorkerName worker;
};

/// Only time passed.
struct TimePassed {};

using AgentEvent = std::variant<CommandReceived,
                                LeaseRenewed,
                                EpochAnnounced,
                                WorkerReady,
                                WorkerRuns,
                                WorkerExited,
                                WorkerVanished,
                                SpawnFailed,
                                AgentRestarted,
                                Connected,
                                SubMasterSpoke,
                                WorkerStuck,
                                TimePassed>;

/// Create the process of this worker. Answered by WorkerReady, WorkerExited or SpawnFailed.
struct SpawnWorker {
  WorkerName worker;
  WorkerSlot slot;
  Generation born;        ///< Of the order to start it: reports name it by that.
  Generation generation;  ///< Its present one: while it waited it may have been told of another,
  Rank rank;              ///< and its rank in it.
  std::uint32_t world_size = 0;
  std::uint64_t devices = 0;  ///< Bit i: device i of the node.
  Share share;
  std::uint64_t hardware = 0;   ///< Bit i: piece i of the node's custom hardware.
  std::int32_t first_port = 0;  ///< Of its block of ports; 0: it has none.
  JobId beside;                 ///< The job on whose devices it is put; none: on its own.
};

/// How a process is told to end.
enum class WorkerSignal : std::uint8_t { Ask, Kill };

template <>
struct EnumNames<WorkerSignal> {
  static constexpr std::array kNames{"ask", "kill"};
};

/// Tell this worker's process to end. Nothing happens where it is gone already.
struct SignalWorker {
  WorkerName worker;
  WorkerSignal signal = WorkerSignal::Ask;
};

/// Tell this worker its place in the new membership.
struct TellMembership {
  WorkerName worker;
  Generation generation;
  Rank rank;
  std::uint32_t world_size = 0;
};

/// Pass the controller's word on to the process of a role's sub-master.
struct PassToSubMaster {
  WorkerName worker;  ///< The sub-master.
  RoleIndex role;     ///< The role that it leads.
  std::uint32_t incident = 0;
  SubMasterOrder word = SubMasterOrder::Recover;
};

using AgentAction = std::variant<SpawnWorker, SignalWorker, TellMembership, PassToSubMaster>;

/// Why an input changed nothing, or what the agent did by itself.
enum class AgentNote : std::uint8_t {
  StaleEpoch,        ///< From a controller that has been succeeded.
  StaleIncarnation,  ///< A newer start of the slot is known.
  AlreadyRunning,    ///< Start of what runs.
  AlreadyEnded,      ///< Start of what has ended: its end is reported again.
  NotRunning,        ///< Stop of what does not run: reported Lost.
  NoLease,           ///< Start without a lease: reported LaunchFailed.
  Full,              ///< Start beyond `workers_max`: reported LaunchFailed.
  UnknownWorker,     ///< Word of a process that the agent does not answer for.
  Replaced,          ///< An older incarnation is killed to make room.
  Fenced,            ///< The lease ran out: killed.
  Adopted,           ///< A living worker was taken over.
  Stuck,             ///< Killed, and held by the kernel: reported Lost.
};

template <>
struct EnumNames<AgentNote> {
  static constexpr std::array kNames{"StaleEpoch",
                                     "StaleIncarnation",
                                     "AlreadyRunning",
                                     "AlreadyEnded",
                                     "NotRunning",
                                     "NoLease",
                                     "Full",
                                     "UnknownWorker",
                                     "Replaced",
                                     "Fenced",
                                     "Adopted",
                                     "Stuck"};
};

/// One note, about `worker`; its job is none where the note is about a whole message.
struct AgentNotice {
  AgentNote note = AgentNote::StaleEpoch;
  WorkerName worker;
};

/// What steps gave. One output may collect several steps; the caller carries the actions out in
/// their order, packs and sends the reports, then sends the heartbeat.
struct AgentOutput {
  std::vector<AgentAction> actions;
  std::vector<WorkersChanged> reports;  ///< Single workers; see `pack_reports`.
  std::vector<SubMasterSaid> said;      ///< By sub-masters that run here.
  std::optional<Heartbeat> heartbeat;   ///< The latest one alone counts.
  std::vector<AgentNotice> notices;

  void clear() {
    actions.clear();
    reports.clear();
    said.clear();
    heartbeat.reset();
    notices.clear();
  }
};

/// Times and bounds of one agent.
struct AgentSettings {
  NodeId node;
  std::uint64_t session = 0;  ///< Higher than in every earlier life of this node's agent.
  Duration node_lease = Duration::seconds(10);
  Duration fence_margin = Duration::seconds(2);  ///< Below `node_lease`.
  Duration heartbeat_period = Duration::seconds(2);
  Duration kill_repeat = Duration::seconds(5);  ///< Between two kills of what does not end.
  Duration clean_grace = Duration::seconds(5);  ///< From "ask" to "kill" when a job is cleaned.
  std::size_t workers_max = 1024;
  std::size_t ended_max = 4096;  ///< Beyond it the oldest end is forgotten.

  /// The controller's durations; a heartbeat each fifth of a lease.
  static AgentSettings of(NodeId node, std::uint64_t session, const Settings& settings);
};

/// One node's agent. Pure: time comes in, orders to the operating system go out.
///
/// The lease runs from the *sending* of a heartbeat that the controller has heard, so it ends
/// `fence_margin` before the controller's own deadline whatever the network did. When it ends, all
/// workers are killed, and nothing starts until the controller is heard again.
class Agent {
 public:
  explicit Agent(const AgentSettings& settings);

  /// Takes one event at `now`, which never steps back; appends to `out`. A deadline that has passed
  /// is honoured before the event is looked at.
  void step(const AgentEvent& event, Instant now, AgentOutput& out);

  /// When `step` must be called at the latest.
  Instant next_deadline() const;

  Epoch epoch() const { return epoch_; }

  /// Whether starts are accepted.
  bool holds_lease() const { return lease_held_; }

  /// End of the lease that is held, or of the last one; what the shim's fence is set to.
  Instant lease_until() const { return lease_until_; }

  /// Every worker the agent answers for, by name; also those that are stuck, which no list has.
  const std::map<WorkerName, AgentWorker>& workers() const { return workers_; }

  /// Every end that is remembered, by name: what the agent's next session must be told.
  const std::map<WorkerName, EndedWorker>& ended() const { return ended_; }

  /// The same as the complete list of a heartbeat.
  const WorkerList& complete_list() const;

  /// All that decides what it does next, for comparison: of two agents with equal settings and
  /// equal bytes, equal events have equal effects. Nothing reads the bytes back.
  void save(ByteWriter& out) const;

 private:
  void on(const CommandReceived& event, Instant now, AgentOutput& out);
  void on(const LeaseRenewed& event, Instant now, AgentOutput& out);
  void on(const EpochAnnounced& event, Instant now, AgentOutput& out);
  void on(const WorkerReady& event, Instant now, AgentOutput& out);
  void on(const WorkerRuns& event, Instant now, AgentOutput& out);
  void on(const WorkerExited& event, Instant now, AgentOutput& out);
  void on(const WorkerVanished& event, Instant now, AgentOutput& out);
  void on(const SpawnFailed& event, Instant now, AgentOutput& out);
  void on(const AgentRestarted& event, Instant now, AgentOutput& out);
  void on(const Connected& event, Instant now, AgentOutput& out);
  void on(const SubMasterSpoke& event, Instant now, AgentOutput& out);
  void on(const WorkerStuck& event, Instant now, AgentOutput& out);
  void on(const TimePassed& event, Instant now, AgentOutput& out);

  void obey(const StartWorkers& order, Instant now, AgentOutput& out);
  void obey(const StopWorkers& order, Instant now, AgentOutput& out);
  void obey(const UpdateMembership& order, Instant now, AgentOutput& out);
  void obey(const CleanJob& order, Instant now, AgentOutput& out);
  void obey(const TellSubMaster& order, Instant now, AgentOutput& out);
  void obey(const AnswerRequest& order, Instant now, AgentOutput& out);
  void obey(const RelaunchNodes& order, Instant now, AgentOutput& out);

  bool accept_epoch(Epoch epoch, Instant now, AgentOutput& out);
  void start(const AgentWorker& wanted, Instant now, AgentOutput& out);
  bool newer_start_known(const AgentWorker& start) const;
  bool make_room(const AgentWorker& wanted, Instant now, AgentOutput& out);
  void stop(WorkerName name, Instant kill_at, Instant now, AgentOutput& out);
  void kill(AgentWorker& worker, Instant now, AgentOutput& out);
  void end(WorkerName name,
           WorkerFact fact,
           std::int32_t exit_code,
           AgentOutput& out,
           const SpawnFailed& refusal = {},
           const Diagnosis& diagnosis = {});
  void spawn_waiting(const AgentWorker& gone, AgentOutput& out);
  void adopt(AgentWorker found, Instant now, AgentOutput& out);
  void act_on_time(Instant now, AgentOutput& out);
  void fence(Instant now, AgentOutput& out);
  void register_anew(Instant now);
  void send_heartbeat(Instant now, AgentOutput& out);
  void repeat_reports(AgentOutput& out) const;
  void remember_end(const EndedWorker& ended);
  AgentWorker* find(const WorkerName& name);

  AgentSettings settings_;
  Sequence last_order_;  ///< Of all orders heard in this life.
  Epoch epoch_;
  bool lease_held_ = false;
  Instant lease_until_;
  bool registering_ = true;  ///< Until the controller has heard a registering heartbeat.
  Instant registering_since_;
  Instant heartbeat_at_;  ///< When the next one is due.
  std::uint64_t heartbeats_ = 0;
  std::map<WorkerName, AgentWorker> workers_;
  mutable WorkerList list_;  ///< Of `workers_`, made when it is asked for.
  mutable bool list_is_old_ = false;
  std::map<WorkerName, EndedWorker> ended_;
  std::deque<WorkerName> ended_order_;  ///< Oldest first; may name some that are forgotten.
};

}  // namespace orrery
