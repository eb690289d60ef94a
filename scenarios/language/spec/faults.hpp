// What goes wrong in a scenario, as plain data: single faults, random processes of them, recorded
// and drawn months of failures, and how the extension that replaces nodes answers.
// The meaning of every field, with units and defaults, is in docs/scenario_format.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/job/job_enums.hpp"
#include "core/record/diagnosis.hpp"

namespace orrery::scenarios {

/// One worker of a job: by rank, or by role and index inside the role.
struct WorkerRef {
  std::string role;        ///< Empty: `index` is the rank.
  std::int32_t index = 0;  ///< At least 0.

  friend bool operator==(const WorkerRef&, const WorkerRef&) = default;
};

/// Whose fault a worker says its end is.
struct Blamed {
  Blame blame = Blame::None;
  WorkerRef peer;  ///< Peer: whom it names; a rank is that of its start.

  friend bool operator==(const Blamed&, const Blamed&) = default;
};

/// What happens.
enum class FaultKind : std::uint8_t {
  // Of a worker.
  Crash,   ///< Exits with a code.
  Delete,  ///< Is removed from outside: it is lost.
  Hang,    ///< Its process lives, but makes no progress and reports no profilings.
  Slow,    ///< Each unit of its work takes `factor` times as long.
  Stuck,   ///< As Hang, and a kill takes effect only once it is over.
  // Of nodes.
  Down,              ///< Die with all they run.
  Up,                ///< Come back empty.
  RebootLoop,        ///< Only written: the loader makes it Down with `times` and `every`.
  DeviceLost,        ///< `devices` are gone; the workers on them crash.
  PreemptionNotice,  ///< Announce that they go down after `notice`, and do for `lasting`.
  AgentCrash,        ///< The agent dies; shims and workers live until their lease runs out.
  Cordon,            ///< A user excludes them from new placements.
  Uncordon,          ///< A user lets them in again.
  // Of the network between the controller and nodes.
  LinkCut,      ///< Nothing comes through in `direction`.
  Bandwidth,    ///< `factor` of the bandwidth is left.
  Latency,      ///< Messages take `added` longer.
  Loss,         ///< A message is lost with probability `rate`.
  Duplication,  ///< A message comes twice with probability `rate`.
  Reordering,   ///< A message is late by up to `window`, later ones overtake it.
  // Of the controller, its store and clocks.
  ControllerCrash,  ///< Dies at `point`; a new one starts after `lasting`.
  SecondLeader,     ///< Another takes over while the old one goes on, cut off from its store.
  ControllerPause,  ///< Does nothing for `lasting`, then goes on as if no time had passed.
  StoreSlow,        ///< Appends take `added` longer.
  StoreFail,        ///< Appends fail.
  StoreTorn,        ///< Dies while it appends: the last batch is torn.
  ClockStep,        ///< The clock of nodes, or of the controller where none are named, jumps.
  // Of the failover of a role.
  SubMasterCrash,  ///< The role's sub-master dies while a message of its protocol is on its way.
};

/// Which way a cut link loses messages.
enum class LinkDirection : std::uint8_t { Both, ToNode, FromNode };

/// Where in the life of a batch the controller dies.
enum class CrashPoint : std::uint8_t {
  Anywhere,       ///< At once, between two batches.
  BeforeDurable,  ///< With its next batch handed to the store, but not durable.
  AfterDurable,   ///< With its next batch durable, and no order given.
  BetweenOrders,  ///< With its next batch durable, and the first half of its orders given.
};

/// A message of the failover of a role, in the order of the protocol: report to the controller,
/// failover asked of the sub-master, its state restored, restarts asked of the controller, the
/// workers restarted, the role started, and done.
enum class RoleArrow : std::uint8_t {
  Report,
  Asked,
  Restored,
  RestartAsked,
  Restarted,
  Started,
  Done,
};

/// What a fault may wait for; observed from the journal, the orders and the notices of the run.
enum class ObservedEvent : std::uint8_t {
  Phase,         ///< A job enters a phase.
  Ready,         ///< A worker is reported ready.
  Exit,          ///< A worker is reported to have ended, however.
  NodeSilent,    ///< A node's lease ran out.
  NodeReturned,  ///< A node is heard again.
  Checkpoint,    ///< A job reports work that is safe.
  Epoch,         ///< A leader takes over; the first one does not count.
  Command,       ///< An order is given.
  Incident,      ///< An incident is opened.
  Fault,         ///< Another fault of this scenario strikes.
};

/// Kinds of orders that a fault may wait for, spelled as in the journal.
enum class OrderKind : std::uint8_t { StartWorkers, StopWorkers, UpdateMembership, CleanJob };

/// The moment after the `count`-th event of a kind. Fields that are not set match every event.
struct AfterEvent {
  ObservedEvent event = ObservedEvent::Phase;
  std::string job;  ///< Full name; empty: every job.
  std::optional<JobPhase> phase;
  std::optional<WorkerRef> worker;
  NodeId node;                         ///< None: every node.
  std::optional<OrderKind> command;    ///< Command.
  std::optional<std::uint32_t> fault;  ///< Fault: index in `Scenario::faults`.
  std::int32_t count = 1;              ///< At least 1.
  Duration delay;                      ///< From the event to the fault.
};

/// One fault at a known time or after an event. Only the fields that its kind names are meaningful.
struct Fault {
  Fault();  // All six are compiled once, in the source.
  Fault(const Fault& other);
  Fault(Fault&& other) noexcept;
  Fault& operator=(const Fault& other);
  Fault& operator=(Fault&& other) noexcept;
  ~Fault();

  FaultKind kind = FaultKind::Down;
  int line = 0;                     ///< Where it stands in the file.
  Instant at;                       ///< First strike, where `after` is not set.
  std::optional<AfterEvent> after;  ///< In place of `at`.
  std::int32_t times = 1;           ///< Strikes altogether, at least 1.
  Duration every;  ///< Between two strikes. Zero with `after`: each further event strikes again.
  Duration lasting = Duration::forever();  ///< What is broken is whole again after this.
  /// Sorted. Empty for the network: every node. With a fault of a worker: every worker on them, in
  /// place of `job` and `worker`.
  std::vector<NodeId> nodes;
  std::string job;             ///< Faults of workers and sub-masters: full name.
  WorkerRef worker;            ///< Faults of workers; SubMasterCrash: its role.
  std::int32_t exit_code = 1;  ///< Crash.
  Blamed blames;               ///< Crash.
  double factor = 1;           ///< Slow: at least 1. Bandwidth: above 0, at most 1.
  double rate = 0;             ///< Loss, Duplication: 0 to 1.
  Duration added;              ///< Latency, StoreSlow.
  Duration window;             ///< Reordering.
  Duration notice;             ///< PreemptionNotice.
  Duration step;               ///< ClockStep: below zero is back.
  std::uint64_t devices = 0;   ///< DeviceLost: bit i is device i.
  LinkDirection direction = LinkDirection::Both;  ///< LinkCut.
  CrashPoint point = CrashPoint::Anywhere;        ///< ControllerCrash.
  RoleArrow arrow = RoleArrow::Report;            ///< SubMasterCrash.
};

/// Calls `visit(Instant)` for each of `times` strikes of the fault, `every` apart, the first at
/// `first`; those beyond the end of time do not come.
template <class Visit>
void for_each_strike(const Fault& fault, Instant first, std::int32_t times, Visit&& visit) {
  for (Instant at = first; times > 0 && !at.is_never(); --times, at = at + fault.every) visit(at);
}

/// Law of the time between two failures of one node.
enum class FaultLaw : std::uint8_t { Exponential, Weibull };

/// What a random failure hits. Rates are per node all the same.
enum class ProcessSubject : std::uint8_t {
  Node,    ///< By the process's mix.
  Worker,  ///< One worker of the node crashes: software.
  Device,  ///< One device of the node is lost, for the repair time.
  Link,    ///< The node's link to the controller is cut both ways, for the repair time.
};

/// What correlated failures take with them.
enum class NodeSet : std::uint8_t { Rack, Switch };

/// Nodes that fail more often than the others.
struct Lemons {
  double share = 0;    ///< Part of the nodes, chosen by the seed.
  double factor = 10;  ///< Times the rate of the others, at least 1.
};

/// Failures that take a whole rack or switch.
struct Correlated {
  double share = 0;  ///< Part of the failures.
  NodeSet group = NodeSet::Rack;
};

/// What failures of nodes come down to; the shares are weights and need not add up to 1.
struct FailureMix {
  double process_restart = 0;  ///< The node's workers crash, the node is well.
  double node_swap = 1;        ///< The node is down for the repair time.
  double fail_slow = 0;        ///< The node's workers are slow for a while.
  double slow_factor = 1.34;   ///< Fail-slow: times as long per unit of work.
  Duration slow_lasting = Duration::seconds(72 * 60);
};

/// Failures at random, of each node by itself, from the scenario's seed.
struct FaultProcess {
  FaultLaw law = FaultLaw::Exponential;
  double rate_per_1000_node_days = 0;  ///< Mean failures of nodes that are no lemons, above 0.
  double shape = 1;                    ///< Weibull's shape, above 0; 1 for exponential.
  Duration repair_median = Duration::seconds(3600);  ///< Median of the lognormal repair time.
  double repair_sigma = 0;                           ///< Its sigma; 0: always the median.
  ProcessSubject of = ProcessSubject::Node;
  Lemons lemons;
  Correlated correlated;
  FailureMix mix;
  std::int32_t exit_code = 1;  ///< Of workers that crash.
};

/// A part of the LANL failure records, replayed.
struct LanlReplay {
  std::string file;          ///< The records; relative to the working directory.
  std::string place;         ///< "file:line", for messages.
  std::int32_t system = 20;  ///< 2 to 24.
  std::int32_t from_year = 2003;
  std::int32_t from_month = 1;
  std::int32_t from_day = 1;
  std::int32_t days = 30;   ///< At least 1.
  bool scale_nodes = true;  ///< The system's nodes are spread over the cluster's, in their order;
                            ///< otherwise records of nodes that the cluster lacks are left out.
};

/// Failures drawn from the published rates of one training run, component by component.
struct ComponentRates {
  std::int32_t nodes = 0;  ///< As many failures as a cluster of this size has; 0: the cluster's.
  Duration lasting = Duration::seconds(30 * 86'400);  ///< Failures come until then.
};

/// Recorded or drawn months of failures, beside the faults and processes that are written out.
struct Failures {
  std::optional<LanlReplay> lanl;
  std::optional<ComponentRates> llama3;

  bool any() const { return lanl.has_value() || llama3.has_value(); }
};

/// How the extension that relaunches nodes answers.
enum class RelaunchAnswer : std::uint8_t {
  Replaced,  ///< All nodes asked for are replaced.
  None,      ///< It replaces none.
  Fails,     ///< It answers with an error.
  TimesOut,  ///< It never answers.
  Partial,   ///< The first `count` of them are replaced, the others are not.
};

/// The modelled extension for node relaunch. Without one, none are replaced, at once.
struct Relaunch {
  RelaunchAnswer answer = RelaunchAnswer::None;
  Duration after;          ///< From the order to the answer.
  std::int32_t count = 1;  ///< Partial, at least 1.
};

}  // namespace orrery::scenarios

namespace orrery {

template <>
struct EnumNames<scenarios::FaultKind> {
  static constexpr std::array kNames{"crash",
                                     "delete",
                                     "hang",
                                     "slow",
                                     "stuck",
                                     "down",
                                     "up",
                                     "reboot_loop",
                                     "device_lost",
                                     "preemption_notice",
                                     "agent_crash",
                                     "cordon",
                                     "uncordon",
                                     "link_cut",
                                     "bandwidth",
                                     "latency",
                                     "loss",
                                     "duplication",
                                     "reordering",
                                     "controller_crash",
                                     "second_leader",
                                     "controller_pause",
                                     "store_slow",
                                     "store_fail",
                                     "store_torn",
                                     "clock_step",
                                     "sub_master_crash"};
};

template <>
struct EnumNames<scenarios::LinkDirection> {
  static constexpr std::array kNames{"both", "to_node", "from_node"};
};

template <>
struct EnumNames<scenarios::CrashPoint> {
  static constexpr std::array kNames{
      "anywhere", "before_durable", "after_durable", "between_orders"};
};

template <>
struct EnumNames<scenarios::RoleArrow> {
  static constexpr std::array kNames{
      "report", "asked", "restored", "restart_asked", "restarted", "started", "done"};
};

template <>
struct EnumNames<scenarios::ObservedEvent> {
  static constexpr std::array kNames{"phase",
                                     "ready",
                                     "exit",
                                     "node_silent",
                                     "node_returned",
                                     "checkpoint",
                                     "epoch",
                                     "command",
                                     "incident",
                                     "fault"};
};

template <>
struct EnumNames<scenarios::OrderKind> {
  static constexpr std::array kNames{
      "start_workers", "stop_workers", "update_membership", "clean_job"};
};

template <>
struct EnumNames<scenarios::FaultLaw> {
  static constexpr std::array kNames{"exponential", "weibull"};
};

template <>
struct EnumNames<scenarios::ProcessSubject> {
  static constexpr std::array kNames{"node", "worker", "device", "link"};
};

template <>
struct EnumNames<scenarios::NodeSet> {
  static constexpr std::array kNames{"rack", "switch"};
};

template <>
struct EnumNames<scenarios::RelaunchAnswer> {
  static constexpr std::array kNames{"replaced", "none", "fails", "times_out", "partial"};
};

}  // namespace orrery
