// Facts in: everything that can change the controller's state, one record per kind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/alternative.hpp"
#include "core/base/ids.hpp"
#include "core/base/rare_part.hpp"
#include "core/base/units.hpp"
#include "core/cluster/resources.hpp"
#include "core/job/job_enums.hpp"
#include "core/job/spec.hpp"
#include "core/record/diagnosis.hpp"
#include "core/record/plan.hpp"
#include "core/record/version.hpp"

namespace orrery {

/// Whether a what-if replays a record (external) or lets the core bring it about anew (reaction).
enum class Origin : std::uint8_t { External, Reaction };

/// What a scaling request does to a role's target.
enum class ScaleMode : std::uint8_t { Add, Remove, Set, Clear };

/// Limits and times of the controller; fixed for one journal epoch.
struct Settings {
  Duration node_lease = Duration::seconds(10);   ///< Silence after which a node is silent.
  Duration fence_margin = Duration::seconds(2);  ///< An agent fences itself this long before that.
  Duration takeover_grace = Duration::seconds(60);  ///< Added to liveness deadlines of a new epoch.
  Duration retain_finished = Duration::seconds(3600);  ///< How long finished jobs stay in state.
  std::int32_t retain_finished_max = 1000;             ///< How many stay at most.
  Duration preemption_grace = Duration::zero();        ///< Least time to drain for a preempted job.
  std::uint64_t seed = 0;                              ///< Of backoff jitter.
  std::int32_t lemon_incidents = 0;  ///< Incidents on one node that exclude it; 0: never.
  Duration lemon_window = Duration::seconds(7 * 86400);  ///< Within so long.
  Duration exclusion = Duration::forever();              ///< How long; forever: until included.
  std::string policy;               ///< Versioned name of the policy in charge.
  bool plan_on_submission = false;  ///< The policy's triggers, so that replay knows when plans
  bool plan_on_completion = true;   ///< were due (core/plan/policy.hpp).
  bool plan_on_capacity = true;
  Duration plan_period;       ///< Zero: no cycle.
  std::uint64_t cluster = 0;  ///< Of one journal from its first record on; agents of another one's
                              ///< workers end them. 0: none was given.
  bool policy_sizes = false;  ///< The policy chooses how many replicas a preemptible job has.
  std::uint16_t rules = kDecisionRules;  ///< See there; 0 in journals from before there were any.
  std::string placer;  ///< Versioned name; empty in journals from before it was named: best_fit/1.
  /// From a kill on; a worker whose node tells no end by then is given up. At least `node_lease`.
  Duration kill_deadline = Duration::forever();
  std::string queues;  ///< The queues in front of the policy (core/queues), as text; empty: none.

  friend bool operator==(const Settings&, const Settings&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node_lease", self.node_lease);
    v.field("fence_margin", self.fence_margin);
    v.field("takeover_grace", self.takeover_grace);
    v.field("retain_finished", self.retain_finished);
    v.field("retain_finished_max", self.retain_finished_max);
    v.field("preemption_grace", self.preemption_grace);
    v.field("policy", self.policy);
    v.field("plan_on_submission", self.plan_on_submission);
    v.field("plan_on_completion", self.plan_on_completion);
    v.field("plan_on_capacity", self.plan_on_capacity);
    v.field("plan_period", self.plan_period);
    v.field_since(2, "seed", self.seed);
    v.field_since(2, "lemon_incidents", self.lemon_incidents);
    v.field_since(2, "lemon_window", self.lemon_window);
    v.field_since(2, "exclusion", self.exclusion);
    v.field_since(4, "cluster", self.cluster);
    v.field_since(4, "policy_sizes", self.policy_sizes);
    v.field_since(4, "rules", self.rules, std::uint16_t{0});
    v.field_since(5, "placer", self.placer);
    v.field_since(5, "kill_deadline", self.kill_deadline);
    v.field_since(5, "queues", self.queues);
  }
};

/// Most devices that the live jobs of one group or namespace may hold together.
struct Quota {
  std::string scope;         ///< "group/NAME" or "namespace/NAME".
  std::int32_t devices = 0;  ///< At least 0.

  friend bool operator==(const Quota&, const Quota&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("scope", self.scope);
    v.field("devices", self.devices);
  }
};

/// A leader takes over: raises the epoch; every liveness deadline becomes its time plus a grace.
struct EpochStarted {
  Epoch epoch;
  Settings settings;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("epoch", self.epoch);
    v.field("settings", self.settings);
  }
};

/// The cluster as declared: nodes numbered on from those already known.
struct NodesDeclared {
  std::vector<NodeGroup> groups;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("groups", self.groups);
  }
};

/// Replaces all quotas.
struct QuotasDeclared {
  std::vector<Quota> quotas;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("quotas", self.quotas);
  }
};

/// A submission that was accepted for journaling. The job gets the next JobId.
struct JobSubmitted {
  std::uint64_t request = 0;  ///< The client's id, 0 where none; answers carry it back.
  std::shared_ptr<const JobSpec> spec;
  std::string user = {};  ///< The user that submitted it, as far as is known; may be empty.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("spec", self.spec);
    v.field_since(4, "user", self.user);
  }
};

/// A user's change of a role's target. HTTP POST is Add, DELETE is Remove, `orrery scale` is Set.
struct ScaleRequested {
  std::uint64_t request = 0;
  JobId job;
  RoleIndex role;  ///< None: every role by the same number (DI-engine's "+1 per task").
  ScaleMode mode = ScaleMode::Set;
  std::int32_t replicas = 0;
  /// Also a preemptible job of a fixed size takes another number; older journals have refused that.
  bool any_fixed_size = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("job", self.job);
    v.field("role", self.role);
    v.field("mode", self.mode);
    v.field("replicas", self.replicas);
    v.field_since(4, "any_fixed_size", self.any_fixed_size);
  }
};

/// A user ends a job: Failed with reason StoppedByUser.
struct StopRequested {
  std::uint64_t request = 0;
  JobId job;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("job", self.job);
  }
};

/// A user wants nothing left of a job: one that is not over is stopped, and it is forgotten as soon
/// as its last worker is gone.
struct DeleteRequested {
  std::uint64_t request = 0;
  JobId job;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("job", self.job);
  }
};

/// A user wants a live job to be as `spec` says. Taken over where it differs only in what can
/// change in place (core/control/job_changes.hpp); numbers of replicas that were set before count
/// no more.
struct JobChanged {
  std::uint64_t request = 0;
  JobId job;
  std::shared_ptr<const JobSpec> spec;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("job", self.job);
    v.field("spec", self.spec);
  }
};

/// One known key of a profiling with its value; units by key in docs/scenario_format.md.
struct ProfilingValue {
  std::string key;
  double value = 0;

  friend bool operator==(const ProfilingValue&, const ProfilingValue&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("key", self.key);
    v.field("value", self.value);
  }
};

/// What a worker measured, where it differs from what is known: merged per key.
struct ProfilingChanged {
  JobId job;
  Generation generation;
  Rank rank;
  std::vector<ProfilingValue> values;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("generation", self.generation);
    v.field("rank", self.rank);
    v.field("values", self.values);
  }
};

/// Progress as the world knows it, on change of rate, epoch edge, checkpoint and stop.
struct ProgressReported {
  JobId job;
  Generation generation;
  double done = 0;         ///< Work done, in the job's own unit, at `occurred_at`.
  double rate = 0;         ///< Work per second from then on.
  double efficiency = 1;   ///< Statistical efficiency, (0, 1].
  std::int32_t epoch = 0;  ///< Completed epochs of the training, where the job has such.
  Duration remaining = Duration::forever();  ///< Forever: no estimate.
  EstimateSource source = EstimateSource::None;
  bool checkpointed = false;  ///< `done` is safe in a checkpoint.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("generation", self.generation);
    v.field("done", self.done);
    v.field("rate", self.rate);
    v.field("efficiency", self.efficiency);
    v.field("epoch", self.epoch);
    v.field("remaining", self.remaining);
    v.field("source", self.source);
    v.field("checkpointed", self.checkpointed);
  }
};

/// What happened to a run of workers of one job: ranks `first` to `first + count - 1`, all of one
/// incarnation. Worlds batch per job, node and generation.
struct WorkersChanged {
  JobId job;
  Generation generation;
  Incarnation incarnation;
  WorkerFact fact = WorkerFact::Ready;
  Rank first;
  std::uint32_t count = 1;
  std::int32_t exit_code = 0;  ///< With Exited. With LaunchFailed kCannotRun or kNotFound: no
                               ///< other try can help; anything else: another one may.
  Generation environment;      ///< With Running: whose membership its environment has.
  std::string why;             ///< With LaunchFailed: the reason, for people.
  std::int32_t busy_port = 0;  ///< With LaunchFailed: a port of the worker's own at which something
                               ///< else on its host listens. 0: that is not the reason.
  RarePart<Diagnosis> diagnosis;  ///< With Exited, not by success: what each of them said last.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("generation", self.generation);
    v.field("incarnation", self.incarnation);
    v.field("fact", self.fact);
    v.field("first", self.first);
    v.field("count", self.count);
    v.field("exit_code", self.exit_code);
    v.field_since(4, "environment", self.environment);
    v.field_since(4, "why", self.why);
    v.field_since(4, "busy_port", self.busy_port);
    v.field_since(5, "diagnosis", self.diagnosis);
  }
};

/// Edge: the node's lease ran out. All its workers are fenced by then.
struct NodeSilent {
  NodeId node;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
  }
};

/// One worker that a node says it runs.
struct RunningWorker {
  JobId job;
  Generation generation;
  Incarnation incarnation;
  Rank rank;

  friend bool operator==(const RunningWorker&, const RunningWorker&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("generation", self.generation);
    v.field("incarnation", self.incarnation);
    v.field("rank", self.rank);
  }
};

/// Edge: the node is heard again, with the complete list of what runs on it. Silence about a
/// worker is its loss.
struct NodeReturned {
  NodeId node;
  std::vector<RunningWorker> workers;
  /// The last order that the node had heard of when it made its list; a younger one is not denied
  /// by the list's silence. The highest number: all.
  Sequence seen{UINT64_MAX};

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
    v.field("workers", self.workers);
    v.field_since(2, "seen", self.seen);
  }
};

/// Only time passed: a deadline of the state is due.
struct TimeReached {
  template <class Self, class Visitor>
  static void fields(Self&, Visitor&) {}
};

/// What the policy answered to a plan request.
struct PlanProposed {
  Sequence view;  ///< Journal position of the view that the policy saw.
  PlanTrigger trigger = PlanTrigger::Period;
  JobId job;  ///< With trigger Submission: the job that `allocate` was asked for.
  Plan plan;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("view", self.view);
    v.field("trigger", self.trigger);
    v.field("job", self.job);
    v.field("plan", self.plan);
  }
};

/// The policy was asked and gave no plan that can be used: allocations stay, and it is asked again.
struct PlanLost {
  Sequence view;  ///< As in PlanProposed.
  PlanTrigger trigger = PlanTrigger::Period;
  JobId job;  ///< With trigger Submission.
  PlanLoss loss = PlanLoss::Late;
  std::string detail;  ///< For people: how long, which signal, what it said; may be empty.
  /// The policy goes on from its beginning; false: from what it saved after the last `optimize`
  /// that was answered, where there was one.
  bool anew = false;

  friend bool operator==(const PlanLost&, const PlanLost&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("view", self.view);
    v.field("trigger", self.trigger);
    v.field("job", self.job);
    v.field("loss", self.loss);
    v.field("detail", self.detail);
    v.field("anew", self.anew);
  }
};

/// What a role's sub-master tells its controller, in the order of one recovery.
enum class SubMasterMessage : std::uint8_t {
  AskState,    ///< "I was asked to recover; what is known of it?" It keeps no state itself.
  AskRestart,  ///< "Restart every worker of the role."
  Done,        ///< "The role works again."
};

template <>
struct EnumNames<SubMasterMessage> {
  static constexpr std::array kNames{"ask_state", "ask_restart", "done"};
};

/// A sub-master leads the recovery of its role on.
struct SubMasterSaid {
  JobId job;
  RoleIndex role;           ///< The role that it leads.
  Incarnation incarnation;  ///< Of the sub-master's own start.
  std::uint32_t incident = 0;
  SubMasterMessage word = SubMasterMessage::AskState;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("role", self.role);
    v.field("incarnation", self.incarnation);
    v.field("incident", self.incident);
    v.field("word", self.word);
  }
};

/// The extension's answer to a RelaunchNodes order. Only `replaced` nodes are new machines: what
/// ran there is gone for good, and they are heard again with an empty list.
struct NodesRelaunched {
  JobId job;
  std::uint32_t incident = 0;
  std::vector<NodeId> replaced;  ///< May be empty.
  std::string error;             ///< Not empty: the extension failed.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("incident", self.incident);
    v.field("replaced", self.replaced);
    v.field("error", self.error);
  }
};

/// A user takes a node out of use, or back into it. What runs there goes on.
struct ExclusionRequested {
  std::uint64_t request = 0;
  NodeId node;
  bool excluded = true;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("node", self.node);
    v.field("excluded", self.excluded);
  }
};

/// A preemption notice: the node goes away at `until`.
struct NodeLeaving {
  NodeId node;
  Instant until;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
    v.field("until", self.until);
  }
};

/// Devices of a node do not work. The node is not used for new workers until all work again, or it
/// comes back from silence.
struct DevicesLost {
  NodeId node;
  std::uint64_t devices = 0;  ///< All that do not work now; bit i: device i. 0: all work again.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
    v.field("devices", self.devices);
  }
};

/// A node is held for its check: it is not used for new workers until DevicesLost says what of it
/// works. Workers there go on, but for those on `devices`.
struct NodeHeld {
  NodeId node;
  std::uint64_t devices = 0;  ///< Those that do not work now, as in DevicesLost.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
    v.field("devices", self.devices);
  }
};

/// What a worker that lives is suspected of.
enum class Suspicion : std::uint8_t {
  Hung,        ///< No progress for the job's `hang_after`.
  Straggling,  ///< Far slower than its peers.
};

template <>
struct EnumNames<Suspicion> {
  static constexpr std::array kNames{"hung", "straggling"};
};

/// Edge: a worker that lives does not do its part. Named as in WorkersChanged.
struct WorkerSuspected {
  JobId job;
  Generation generation;
  Incarnation incarnation;
  Rank rank;
  Suspicion suspicion = Suspicion::Hung;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("generation", self.generation);
    v.field("incarnation", self.incarnation);
    v.field("rank", self.rank);
    v.field("suspicion", self.suspicion);
  }
};

/// What is known of a worker's failure beyond the report of its end, for people: it decides
/// nothing.
struct FailureExplained {
  JobId job;
  Incarnation incarnation;
  Rank birth_rank;
  std::string sentence;    ///< Why it did not start, or how it ended; may be empty.
  std::string last_lines;  ///< The end of what it wrote; may be empty.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("incarnation", self.incarnation);
    v.field("birth_rank", self.birth_rank);
    v.field("sentence", self.sentence);
    v.field("last_lines", self.last_lines);
  }
};

/// Alternatives are appended, never reordered: the index is the record's tag in the journal.
using EventKinds = std::variant<EpochStarted,
                                NodesDeclared,
                                QuotasDeclared,
                                JobSubmitted,
                                ScaleRequested,
                                StopRequested,
                                ProfilingChanged,
                                ProgressReported,
                                WorkersChanged,
                                NodeSilent,
                                NodeReturned,
                                TimeReached,
                                PlanProposed,
                                SubMasterSaid,
                                NodesRelaunched,
                                ExclusionRequested,
                                NodeLeaving,
                                DevicesLost,
                                WorkerSuspected,
                                DeleteRequested,
                                JobChanged,
                                FailureExplained,
                                NodeHeld,
                                PlanLost>;

/// One of them. Its copies and its end are compiled once, not in every source that has a vector of
/// it.
struct EventBody : EventKinds {
  EventBody();
  EventBody(const EventBody& other);
  EventBody(EventBody&& other) noexcept;
  EventBody& operator=(const EventBody& other);
  EventBody& operator=(EventBody&& other) noexcept;
  ~EventBody();

  template <class Kind>

  requires is_alternative<Kind, EventKinds> EventBody(Kind kind)
      : EventKinds(std::in_place_type<Kind>, std::move(kind)) {}
};

/// One fact. `at` never steps back, not even across leaders; `occurred_at` is at most `at`.
struct Event {
  Instant at;           ///< When the controller observed it.
  Instant occurred_at;  ///< When it happened, as far as the world knows.
  Origin origin = Origin::External;
  EventBody body;
};

template <>
struct EnumNames<Origin> {
  static constexpr std::array kNames{"external", "reaction"};
};

template <>
struct EnumNames<ScaleMode> {
  static constexpr std::array kNames{"add", "remove", "set", "clear"};
};

/// The record's name in `orrery journal dump` and `events.jsonl`.
std::string_view kind_name(const EventBody& body);

/// The same by the alternative's index, as `Notice::event_kind` has it.
std::string_view event_kind_name(std::size_t index);

}  // namespace orrery
