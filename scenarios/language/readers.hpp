// The readers of the language's parts; the loader calls them in turn. Each fills its part of the
// scenario and reports what is wrong to the `Reading`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/job/priority_class.hpp"
#include "scenarios/language/jobs/job_places.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "scenarios/language/yaml/reading.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::scenarios {

/// The largest number that counts or rates of work may be; sums of such stay exact enough.
inline constexpr double kAnyNumber = 1e15;

/// "default." in front of a name without a namespace.
std::string full_job_name(std::string_view name);

/// `cluster` and `quotas`. `directory` is where paths written in the file begin.
void read_cluster(const MapReader& top, const std::string& directory, Scenario& scenario);

/// "FIRST-LAST" under `ports`, of 1 to kPortMax; unchanged where the key is not there.
void read_ports(const MapReader& reader, PortRange& ports);

/// One group of equal nodes, but for its name. `named`: how many nodes have names of their own,
/// which is then the default of `nodes`; 0 where `nodes` must be written. The section of `reader`
/// has the keys of `cluster.groups`; `name` and `nodes_per_switch` are left to the caller.
NodeGroup read_node_group(const MapReader& reader, std::string default_name, std::int32_t named);

/// `quotas`.
void read_quotas(const MapReader& top, std::vector<Quota>& quotas);

/// `priority_classes`: from here on the texts of this reading may name them too.
void read_priority_classes(const MapReader& top, std::vector<PriorityClass>& classes);

/// `priority` of a job: a class or a number; without it that of class `normal`.
void read_priority(const MapReader& job, std::int32_t& priority);

/// `priority` of a DI-orchestrator manifest, which names a class.
void read_priority_class(const MapReader& spec, std::int32_t& priority);

/// `devices` of the cluster, whose groups are read.
void read_device_models(const MapReader& cluster, Scenario& scenario);

/// `network` of the cluster; after its groups and device models.
void read_network(const MapReader& cluster, const std::string& directory, Scenario& scenario);

/// `policy`: its name and parameters, unchecked, with their places; `queues` among them checked,
/// and against the `devices` of the cluster where they are known.
void read_policy(const MapReader& top,
                 PolicyChoice& policy,
                 std::optional<std::int64_t> devices = std::nullopt);

/// `policy.queues`, which `node` is: becomes a parameter (core/queues/queue_text.hpp).
void read_queues(const MapReader& top,
                 const YamlNode& node,
                 std::optional<std::int64_t> devices,
                 PolicyChoice& policy);

/// Users that `policy.queues` limits, where all jobs are written in the scenario; after `jobs`.
void check_queue_users(const MapReader& top, const Scenario& scenario);

/// `placer`: `settings.placer` becomes its versioned name.
void read_placer(const MapReader& top, Settings& settings);

/// The keys of `controller`, which `reader` has.
void read_settings(const MapReader& reader, Settings& settings);

/// `policy`, `placer`, `planner`, `controller`, `timing`, `outputs`.
void read_control(const MapReader& top, Scenario& scenario);

/// `jobs`.
void read_jobs(const MapReader& top, Scenario& scenario);

/// The use that a job is read for.
enum class JobUse : std::uint8_t {
  Simulated,  ///< A scenario: of foreign manifests what nothing here carries out is let be.
  Run,        ///< A controller: it is refused, or let be with a warning, by name.
};

/// One DI-orchestrator manifest into a specification. Violations that DI-orchestrator judges at
/// run time pass through: the controller fails such jobs with reason InvalidSpec.
void read_manifest(Reading& reading, const YamlNode& node, JobUse use, JobSpec& spec);

/// "job NAME" as messages call an entry of `jobs`; "jobs[index]" where it has no readable name.
std::string job_subject(const YamlNode& node, std::size_t index);

/// The specification of an entry of `jobs`, all but its estimate. Returns whether what says where
/// roles sit was read in full.
bool read_job_spec(const MapReader& job, JobUse use, PlacementGround& ground, JobSpec& spec);

/// `replicas` of a role: a number, or `min` and `max`. What is not written stays as it is.
void read_replicas(const MapReader& reader, RoleSpec& role);

/// Reports what only the whole specification shows. In a scenario manifests of the tasks form are
/// judged at run time.
void check_job(const MapReader& job, const JobSpec& spec, JobUse use, bool places_sound);

/// Where role `name` of a job stands, in either form; the job where it is not written out.
Origin origin_of_role(const MapReader& job, std::string_view name);

/// The override that says something of `key` of a role, else as origin_of_role.
Origin origin_in_role(const MapReader& job, std::string_view role, std::string_view key);

/// `work` of one job whose specification is complete, in a scenario whose cluster is.
void read_work(const MapReader& job, const JobSpec& spec, const Scenario& scenario, WorkSpec& work);

/// `step` of some work.
void read_step(const MapReader& work, StepSpec& step);

/// Reports groups of devices (tensor x pipeline) that `replicas` of `devices` each cannot be split
/// into, whatever number from `low` to `high` there are.
void check_device_groups(const MapReader& work,
                         const StepSpec& step,
                         std::int64_t devices,
                         std::int64_t low,
                         std::int64_t high);

/// `checkpoint` of some work.
void read_checkpoint(const MapReader& work, CheckpointSpec& checkpoint);

/// `loop` of some work.
void read_loop(const MapReader& work, const JobSpec& spec, LoopSpec& loop);

/// `stream` of a loop whose other parts are read.
void read_stream(const MapReader& loop_reader, const JobSpec& spec, LoopSpec& loop);

/// `search` of a loop whose other parts are read.
void read_search(const MapReader& loop_reader, const JobSpec& spec, LoopSpec& loop);

/// `blames`: mine, node, or a map that names a worker of `job`, which may be null where there is no
/// one job.
void read_blames(const MapReader& entry, const ScenarioJob* job, Blamed& blamed);

/// `rank`, or `role` with `local`, of an entry that names a worker.
void read_worker_ref(const MapReader& entry, WorkerRef& worker);

/// A path as it can be opened: what the file says is relative to `directory`, its own. Reports it
/// missing, with the example.
void read_path(const MapReader& reader,
               std::string_view key,
               std::string_view example,
               const std::string& directory,
               std::string& to);

/// `workload`. `directory` is where paths written in the file begin.
void read_workload(const MapReader& top, const std::string& directory, Scenario& scenario);

/// `workload.generator`; after the cluster and the seed, which it takes its defaults from.
void read_generator(Reading& reading,
                    const YamlNode& node,
                    const Scenario& scenario,
                    GeneratorWorkload& workload);

/// A job's `failover`, `wait_deadline` and `run_deadline`.
void read_failover(const MapReader& job, JobSpec& spec);

/// `command`, `env`, `volumes`, `working_directory`, `image` and `isolation` of a role.
void read_program(const MapReader& reader, RoleSpec& role);

/// `group_name`, `isolate_devices` and `on_nodes` of a role.
void read_processes(const MapReader& reader, RoleSpec& role);

/// `key` as a map from names to texts, appended in its order.
void read_texts_by_name(const MapReader& reader,
                        std::string_view key,
                        std::vector<KeyValue>& texts);

/// `sub_master` of a role: what its sub-master runs, nothing where it has none. Of the role that is
/// given only what `read_program` fills counts.
std::optional<RoleSpec> read_sub_master(const MapReader& role);

/// A role that has a sub-master, and what that runs.
struct LedRole {
  std::size_t index = 0;
  RoleSpec program;
};

/// Appends a role with one worker for each role of `led`, called after it with "-master".
void add_sub_masters(std::vector<LedRole> led, JobSpec& spec);

/// `requests` and `profilings`.
void read_requests(const MapReader& top, Scenario& scenario);

/// Whole numbers `first` to `last`.
struct NumberRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// `key` as a number ("3"), a range ("0-3"), or a list of both.
std::vector<NumberRange> read_ranges(const MapReader& reader, std::string_view key);

/// Adds the nodes that `key` lists to `nodes`, and sorts them.
void read_node_list(const MapReader& reader,
                    std::string_view key,
                    const Scenario& scenario,
                    std::vector<NodeId>& nodes);

/// Whether an entry has one of `node`, `nodes`, `rack` and `switch`.
bool names_nodes(const MapReader& reader);

/// The nodes that these four name, sorted.
void read_nodes(const MapReader& reader, const Scenario& scenario, std::vector<NodeId>& nodes);

/// Where single faults stand in `Scenario::faults`: files count random processes as well.
class FaultIndex {
 public:
  /// `faults` is the list as written, or nullptr.
  explicit FaultIndex(const YamlNode* faults);

  /// The `fault` key of `reader` as an index into `Scenario::faults`; reports any other.
  std::optional<std::uint32_t> read(const MapReader& reader) const;

 private:
  std::vector<std::optional<std::uint32_t>> positions_;  ///< By the index that is written.
};

/// `faults`; after the jobs.
void read_faults(const MapReader& top, Scenario& scenario);

/// `after_event` of a fault.
AfterEvent read_after_event(const MapReader& fault,
                            const FaultIndex& index,
                            const Scenario& scenario);

/// An entry of `faults` with `process` or `preset`.
FaultProcess read_fault_process(const MapReader& reader, const Scenario& scenario);

/// `failures` and `relaunch`. `directory` is where paths written in the file begin.
void read_failures(const MapReader& top, const std::string& directory, Scenario& scenario);

/// `expect`; after the faults, whose times it may name.
void read_expectations(const MapReader& top, Scenario& scenario);

/// The keys of an expectation about workers and their work; `job` is theirs where it is written
/// out.
void read_expected_workers(const MapReader& reader,
                           const ScenarioJob* job,
                           const Scenario& scenario,
                           Expectation& to);

/// Reads `key` as the name of a job into `name`, in full; reports names that no job of the scenario
/// has, unless a workload brings jobs of its own. Returns the job, where it is written out.
const ScenarioJob* read_job_name(const MapReader& entry,
                                 std::string_view key,
                                 const Scenario& scenario,
                                 std::string& name);

/// By role of the job: the most replicas that it may ever have, where those of `requests` that are
/// about the job bring it more than its specification says.
std::vector<std::int64_t> most_replicas(const ScenarioJob& job,
                                        std::span<const TimedRequest> requests);

/// Reports `worker` where `job` cannot have such a one, whatever `requests` bring it.
void check_worker_ref(const MapReader& entry,
                      const ScenarioJob& job,
                      const WorkerRef& worker,
                      std::span<const TimedRequest> requests = {});

}  // namespace orrery::scenarios
