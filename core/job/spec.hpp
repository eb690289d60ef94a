// What a user submits: one specification that expresses all families of semantics.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/rare_part.hpp"
#include "core/base/result.hpp"
#include "core/base/shared_list.hpp"
#include "core/base/units.hpp"
#include "core/cluster/resources.hpp"
#include "core/job/failover_spec.hpp"
#include "core/job/job_enums.hpp"
#include "core/job/placement_spec.hpp"

namespace orrery {

/// One environment variable or label.
struct KeyValue {
  std::string key;
  std::string value;

  friend bool operator==(const KeyValue&, const KeyValue&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("key", self.key);
    v.field("value", self.value);
  }
};

/// What a role's programs need on a node beside the node's own: made there once for each key, by
/// `prepare`, in a folder of its own. Roles with different keys run side by side.
struct IsolationSpec {
  std::string key;                   ///< Folder name, [A-Za-z0-9._-], at most 63; empty: none.
  std::vector<std::string> prepare;  ///< Program and arguments that fill the folder, which it finds
                                     ///< in ORRERY_ENVIRONMENT; empty: the folder exists already.
  std::string interpreter;           ///< Put before the role's command; relative to the folder.
  Duration prepare_deadline = Duration::seconds(600);  ///< Above 0.

  friend bool operator==(const IsolationSpec&, const IsolationSpec&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("key", self.key);
    v.field("prepare", self.prepare);
    v.field("interpreter", self.interpreter);
    v.field("prepare_deadline", self.prepare_deadline);
  }
};

/// What a role's processes, or some of them, have on some nodes alone.
struct NodeProgram {
  std::vector<std::int32_t> nodes;    ///< Numbers in the cluster, ascending.
  std::vector<std::int32_t> ranks;    ///< Of processes inside the role, ascending; empty: all.
  std::vector<KeyValue> environment;  ///< Over the role's own.
  std::string interpreter;  ///< In place of python or python3 at the head of the role's command;
                            ///< empty: as written there.
  std::string node_group;   ///< On which they are placed; empty: the role's first.

  friend bool operator==(const NodeProgram&, const NodeProgram&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("nodes", self.nodes);
    v.field("ranks", self.ranks);
    v.field("environment", self.environment);
    v.field("interpreter", self.interpreter);
    v.field("node_group", self.node_group);
  }
};

/// How the processes of a role are shown what they are.
struct ProcessSpec {
  std::string group_name;       ///< What the family's variables call the role; empty: its name.
  bool isolate_devices = true;  ///< They see their own devices only, else all of their node.
  std::vector<NodeProgram> on_nodes;  ///< No process twice, and no node twice without ranks.

  /// The entry for a process on a node: one that names its rank, else one for all of the node; null
  /// where there is none.
  const NodeProgram* program_of(std::int32_t node, std::int32_t rank) const;

  friend bool operator==(const ProcessSpec&, const ProcessSpec&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("group_name", self.group_name);
    v.field("isolate_devices", self.isolate_devices);
    v.field("on_nodes", self.on_nodes);
  }
};

/// A file that a job brings along, in one of the folders that it has on each node.
struct JobFileSpec {
  std::string volume;  ///< Name of the folder, as the source of a volume names it.
  std::string name;    ///< Of the file: no path.
  std::string text;

  friend bool operator==(const JobFileSpec&, const JobFileSpec&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("volume", self.volume);
    v.field("name", self.name);
    v.field("text", self.text);
  }
};

/// A kind of worker inside a job. DI-engine "task", RLinf "component", DLRover "workload".
struct RoleSpec {
  RoleSpec();  // All six are compiled once, in the source.
  RoleSpec(const RoleSpec& other);
  RoleSpec(RoleSpec&& other) noexcept;
  RoleSpec& operator=(const RoleSpec& other);
  RoleSpec& operator=(RoleSpec&& other) noexcept;
  ~RoleSpec();

  std::string name;  ///< DNS label, unique in the job.
  TaskType type = TaskType::None;
  std::int32_t min_replicas = 1;  ///< At least 1.
  std::int32_t max_replicas = 1;  ///< At least `min_replicas`.
  Bundle bundle;                  ///< What each replica takes.
  Completion completion = Completion::Required;
  std::vector<std::string>
      command;  ///< Program and arguments; empty where the world models the work.
  std::vector<KeyValue> environment;
  std::vector<std::string> volumes;  ///< Mounted into every worker of the role, "source:target".
  RoleIndex master_of;  ///< The role whose recovery this one's only worker leads; none: no
                        ///< sub-master.
  std::vector<RolePlacement> placements;  ///< Ascending by replicas; empty: wherever it fits.
  WorkerGroupSpec workers;                ///< As a worker group of a virtual cluster.
  std::string working_directory;  ///< Absolute, or relative to the worker's own; empty: its own.
  std::string image;              ///< Container image; empty: the command runs on the host.
  IsolationSpec isolation;
  RarePart<ProcessSpec> process;

  bool is_elastic() const { return max_replicas > min_replicas; }

  /// Whether it is said where its workers sit.
  bool is_seated() const { return !placements.empty() || workers.is_set(); }

  friend bool operator==(const RoleSpec&, const RoleSpec&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("name", self.name);
    v.field("type", self.type);
    v.field("min_replicas", self.min_replicas);
    v.field("max_replicas", self.max_replicas);
    v.field("bundle", self.bundle);
    v.field("completion", self.completion);
    v.field("command", self.command);
    v.field("environment", self.environment);
    v.field("volumes", self.volumes);
    v.field_since(2, "master_of", self.master_of);
    v.field_since(3, "placements", self.placements);
    v.field_since(3, "workers", self.workers);
    v.field_since(4, "working_directory", self.working_directory);
    v.field_since(4, "image", self.image);
    v.field_since(4, "isolation", self.isolation);
    v.field_since(5, "process", self.process);
  }
};

/// One job. Immutable once submitted; requests change targets beside it.
///
/// A million of them may wait: what comes first is what packs well.
struct JobSpec {
  JobSpec();  // All six are compiled once, in the source.
  JobSpec(const JobSpec& other);
  JobSpec(JobSpec&& other) noexcept;
  JobSpec& operator=(const JobSpec& other);
  JobSpec& operator=(JobSpec&& other) noexcept;
  ~JobSpec();

  std::string name;  ///< "namespace.name", both DNS labels; the loader adds "default.".
  JobFamily family = JobFamily::Native;
  WorkerFamily worker_family = WorkerFamily::Torch;  ///< Whose variables its workers find.
  std::int32_t priority = 0;  ///< Higher goes first; "normal" is 0, "high" is 100.
  bool preemptible = false;   ///< Whether a policy may take replicas back or move them.
  RescaleMode rescale = RescaleMode::Auto;
  RecoveryScope recovery = RecoveryScope::Worker;
  std::int32_t backoff_limit = 3;  ///< Restarts charged to failures before the job fails.
  CleanPodPolicy clean_pods = CleanPodPolicy::Running;
  Topology topology = Topology::Star;  ///< Group family only.
  EstimateSource estimate_source = EstimateSource::None;
  std::int32_t parallel_workers = 1;     ///< Group family only, at least 1.
  RarePart<std::string> group;           ///< For listing, stopping and quota; may be empty.
  SharedList<RoleSpec> roles;            ///< At least one, at least one required.
  Duration estimate = Duration::zero();  ///< Stated run time at `estimate_replicas`; see source.
  RarePart<std::string> profile;    ///< Of the throughput model a policy may consult; may be empty.
  std::int32_t rigid_replicas = 0;  ///< Elastic role under policies that do not size jobs; 0: min.
  std::int32_t batch_size = 0;      ///< Total examples per step for policies that keep it; 0: free.
  Duration backoff_base = Duration::seconds(1);      ///< Delay before the first charged restart.
  Duration backoff_max = Duration::seconds(300);     ///< Longest delay: base doubles up to here.
  Duration start_deadline = Duration::seconds(600);  ///< Longest Starting; then a charged restart.
  Duration drain_grace = Duration::seconds(30);      ///< From "stop" to "kill".
  Duration unknown_deadline = Duration::seconds(600);  ///< Longest Unknown; then NodeLost.
  Duration wait_deadline = Duration::forever();        ///< Longest Pending; then Failed.
  Duration run_deadline = Duration::forever();  ///< From first start; then drained and Failed.
  RarePart<FailoverSpec> failover;
  SharedList<VirtualClusterSpec> virtual_clusters;
  SharedList<TurnGroup> take_turns;  ///< Roles that share devices by declaration.
  SharedList<KeyValue> labels;       ///< The user's own; for listing only.
  SharedList<JobFileSpec> files;     ///< Written before the first worker of a node starts.

  friend bool operator==(const JobSpec&, const JobSpec&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("name", self.name);
    v.field("family", self.family);
    v.field("group", self.group);
    v.field("priority", self.priority);
    v.field("preemptible", self.preemptible);
    v.field("rescale", self.rescale);
    v.field("recovery", self.recovery);
    v.field("backoff_limit", self.backoff_limit);
    v.field("clean_pods", self.clean_pods);
    v.field("topology", self.topology);
    v.field("parallel_workers", self.parallel_workers);
    v.field("roles", self.roles);
    v.field("estimate", self.estimate);
    v.field("estimate_source", self.estimate_source);
    v.field("profile", self.profile);
    v.field("rigid_replicas", self.rigid_replicas);
    v.field("batch_size", self.batch_size);
    v.field("backoff_base", self.backoff_base);
    v.field("backoff_max", self.backoff_max);
    v.field("start_deadline", self.start_deadline);
    v.field("drain_grace", self.drain_grace);
    v.field("unknown_deadline", self.unknown_deadline);
    v.field_since(2, "wait_deadline", self.wait_deadline);
    v.field_since(2, "run_deadline", self.run_deadline);
    v.field_since(2, "failover", self.failover);
    v.field_since(3, "virtual_clusters", self.virtual_clusters);
    v.field_since(3, "take_turns", self.take_turns);
    v.field_since(4, "labels", self.labels);
    v.field_since(4, "files", self.files);
    v.field_since(5, "worker_family", self.worker_family);
  }
};

/// Most replicas of one role.
inline constexpr std::int32_t kReplicasMax = 1'000'000;

/// Most roles of one job.
inline constexpr std::size_t kRolesMax = 1000;

/// The role that a policy sizes: the first with `max_replicas > min_replicas`, else the first.
RoleIndex elastic_role(const JobSpec& spec);

/// The role that leads the recovery of `role`, or none.
RoleIndex sub_master_of(const JobSpec& spec, RoleIndex role);

/// Replicas of the elastic role under a policy that does not size jobs.
std::int32_t rigid_replicas(const JobSpec& spec);

/// Everything wrong with a specification, in its order; empty where it is sound.
/// `subject` and `message` are filled; the loader adds file and line.
Errors check_spec(const JobSpec& spec);

/// Whether `name` is a DNS label: 1 to 63 of [a-z0-9-], starting and ending with a letter or digit.
bool is_dns_label(std::string_view name);

/// "namespace" of "namespace.name"; empty where there is no dot.
std::string_view namespace_of(std::string_view full_name);

}  // namespace orrery
