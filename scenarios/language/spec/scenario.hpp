// A scenario as plain data: cluster, policy, jobs, what goes wrong, and what must come of it.
// The meaning of every field, with units and defaults, is in docs/scenario_format.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/cluster/resources.hpp"
#include "core/job/job_enums.hpp"
#include "core/job/priority_class.hpp"
#include "core/job/spec.hpp"
#include "core/record/event.hpp"
#include "scenarios/language/spec/device_model.hpp"
#include "scenarios/language/spec/expectation.hpp"
#include "scenarios/language/spec/faults.hpp"
#include "scenarios/language/spec/network_spec.hpp"
#include "scenarios/language/spec/time_spread.hpp"
#include "scenarios/language/spec/work.hpp"
#include "scenarios/language/spec/workload_spec.hpp"

namespace orrery::scenarios {

/// What executes the core's commands.
enum class World : std::uint8_t { Model, Sim, Cluster };

/// How finely the world models what it does not execute; see design, "Fidelity".
enum class Fidelity : std::uint8_t { L0, L1, L2, L3 };

/// How the model world connects a controller with its nodes.
enum class Control : std::uint8_t {
  Direct,  ///< Orders and reports arrive at once; silence is noticed when a lease runs out.
  Agents,  ///< By an agent on every node, over a network that takes time and may fail.
};

/// Which rules the model world's clock follows.
enum class TimingMode : std::uint8_t {
  Simple,  ///< Every cost below, at any instant.
  Pollux,  ///< The Pollux artifact's: ticks, and a pause after each change of placement.
};

/// How much the times of `Timing` vary; one that is empty is always the same.
struct TimingSpread {
  TimeSpread start;
  TimeSpread stop;
  TimeSpread restore;  ///< Drawn together with `start`: the slower a start, the slower its restore.
  TimeSpread rescale;
  std::uint64_t draws = 0;  ///< Other draws of the same run: mixed into the scenario's seed.

  friend bool operator==(const TimingSpread&, const TimingSpread&) = default;
};

/// What starting, stopping and saving cost in the model world.
struct Timing {
  TimingMode mode = TimingMode::Simple;
  Duration start;                ///< From the start command to ready.
  Duration stop;                 ///< From the stop command to the exit.
  Duration restore;              ///< Before work goes on from a checkpoint.
  Duration rescale;              ///< Pause of workers that stay when the membership changes.
  Duration checkpoint_interval;  ///< Zero: progress is safe at every instant.
  Duration checkpoint_cost;      ///< Pause of the work for each checkpoint.
  TimingSpread spread;           ///< Where one is not empty, the time above is its median.
  Duration tick = Duration::seconds(60);     ///< Pollux only: time between two decisions.
  Duration restart = Duration::seconds(30);  ///< Pollux only: pause after a change of placement.
  std::map<std::string, Duration> restart_by_application;  ///< Where it is another one.

  Duration restart_of(const std::string& application) const {
    const auto found = restart_by_application.find(application);
    return found == restart_by_application.end() ? restart : found->second;
  }
};

/// One parameter of a policy as written; the policy registry knows which there are.
struct Parameter {
  std::string key;
  std::string value;  ///< The scalar; elements of a list joined by ",".
  std::string place;  ///< "file:line" or "--set path=value", for messages.
};

struct PolicyChoice {
  std::string name = "fifo";
  std::vector<Parameter> parameters;
  std::string place;
};

/// What a modelled worker does instead of working to the end.
enum class ScriptKind : std::uint8_t {
  Exit,         ///< Ends by itself.
  Refuse,       ///< Never comes up: its node refuses to launch it.
  PortInUse,    ///< The same, for something else listens at the first of its ports.
  CannotStart,  ///< The same, for its program is not there: no other try can help.
};

/// A worker's own story: so long after it became ready it ends.
struct WorkerScript {
  WorkerRef worker;
  ScriptKind kind = ScriptKind::Exit;
  Duration after;              ///< Exit: time since the worker became ready.
  std::int32_t exit_code = 1;  ///< 0 is a success.
  Blamed blames;               ///< Exit: said before an end that is no success.
  std::int32_t times = 1;      ///< Its first so many lives end this way; then it works normally.

  friend bool operator==(const WorkerScript&, const WorkerScript&) = default;
};

/// A job written out in the scenario.
struct ScenarioJob {
  ScenarioJob();  // All six are compiled once, in the source.
  ScenarioJob(const ScenarioJob& other);
  ScenarioJob(ScenarioJob&& other) noexcept;
  ScenarioJob& operator=(const ScenarioJob& other);
  ScenarioJob& operator=(ScenarioJob&& other) noexcept;
  ~ScenarioJob();

  JobSpec spec;
  Instant submit;
  WorkSpec work;
  std::vector<WorkerScript> workers;
  std::optional<Duration> ready_after;  ///< In place of `Timing::start`; `forever`: never ready.
  /// From ready until a worker's program says hello to its agent, which can tell it nothing before;
  /// `forever`: it never does. Nothing: it says so by being ready.
  std::optional<Duration> hello_after;
  int line = 0;
};

/// A scaling request of a user.
struct ScaleCall {
  std::string role;  ///< Empty: every role by the same number.
  ScaleMode mode = ScaleMode::Set;
  std::int32_t replicas = 0;
};

/// Other bounds of one role's replicas.
struct ReplicasChange {
  std::string role;  ///< Empty: the only role.
  std::int32_t min = 1;
  std::int32_t max = 1;
};

/// What of a job a user changes: it is submitted anew under its name. Empty: stays as it was.
struct ChangeCall {
  std::optional<std::int32_t> priority;
  std::optional<Duration> wait_deadline;
  std::optional<Duration> run_deadline;
  std::optional<std::int32_t> backoff_limit;
  std::optional<ReplicasChange> replicas;
};

/// Something a user asks at a time. Without `scale` and `change` it ends the job.
struct TimedRequest {
  Instant at;
  std::string job;  ///< Full name.
  std::optional<ScaleCall> scale;
  std::optional<ChangeCall> change;
  bool forgets = false;  ///< Ends the job and leaves nothing of it.
};

/// What a worker reports at a time.
struct TimedProfiling {
  Instant at;
  std::string job;  ///< Full name.
  std::int32_t rank = 0;
  std::vector<ProfilingValue> values;
};

/// The files of a run that can be asked for; docs/results.md describes them.
enum class OutputFormat : std::uint8_t {
  Summary,
  Jobs,
  Evalys,
  Events,
  Schedule,
  MachineStates,
  Perfetto,
  Report
};

struct Outputs {
  std::string dir;  ///< Empty: nothing is written unless the command line asks.
  std::vector<OutputFormat> formats{OutputFormat::Summary,
                                    OutputFormat::Jobs,
                                    OutputFormat::Evalys,
                                    OutputFormat::Events,
                                    OutputFormat::Schedule,
                                    OutputFormat::Report};

  bool wants(OutputFormat format) const {
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  }
};

/// How far simulated instants are from exact, as real ones are. Each amount is drawn anew, up to
/// what stands here, from the scenario's seed; zero: exact.
struct Jitter {
  Duration timers;              ///< By this a wake comes after its deadline, at least 1 ns.
  Duration batches;             ///< For so long a leader leaves what it was told lie.
  Duration planner;             ///< By this a plan comes later than `planner_latency`.
  std::int32_t clocks_ppm = 0;  ///< A node's clock runs faster or slower than the controller's.
  double plans_lost = 0;        ///< The part of all plans that is lost on the way, 0 to 1.
  double plans_garbled = 0;     ///< The part of all plans with grants that nobody proposed, 0 to 1.
  Instant plans_garbled_until = Instant::never();  ///< Later plans have none.

  bool any() const {
    return timers.ns > 0 || batches.ns > 0 || planner.ns > 0 || clocks_ppm > 0 || plans_lost > 0 ||
           plans_garbled > 0;
  }

  friend bool operator==(const Jitter&, const Jitter&) = default;
};

/// Everything a run needs but the policy's code and the workload's files.
struct Scenario {
  Scenario();  // All six are compiled once, in the source.
  Scenario(const Scenario& other);
  Scenario(Scenario&& other) noexcept;
  Scenario& operator=(const Scenario& other);
  Scenario& operator=(Scenario&& other) noexcept;
  ~Scenario();

  std::string file;  ///< As it was given to the loader.
  std::string name;  ///< Default: the file's name without directory and extension.
  std::string description;
  std::uint64_t seed = 1;
  World world = World::Model;
  Fidelity fidelity = Fidelity::L0;
  Control control = Control::Direct;  ///< As written; see `needs_agents`.
  std::vector<NodeGroup> groups;
  std::vector<std::int32_t> nodes_per_switch;  ///< By group; 0: no switches declared.
  std::vector<DeviceModel> device_models;      ///< As written; see `find_device_model`.
  NetworkSpec network;
  std::vector<Quota> quotas;
  std::vector<PriorityClass> priority_classes;  ///< As written; jobs have numbers.
  PolicyChoice policy;
  Duration planner_latency;
  Duration planner_deadline = Duration::seconds(30);  ///< A plan that comes later is lost.
  std::int64_t planner_steps = 1'000'000'000;         ///< Calls of the view for one plan.
  Jitter jitter;
  Settings settings;
  Timing timing;
  std::vector<ScenarioJob> jobs;
  Workload workload;
  std::vector<TimedRequest> requests;
  std::vector<TimedProfiling> profilings;
  std::vector<Fault> faults;
  std::vector<FaultProcess> fault_processes;
  Failures failures;
  Relaunch relaunch;
  std::vector<Expectation> expectations;
  bool must_fail = false;   ///< The scenario is met when an expectation is not.
  bool invariants = false;  ///< The storm's checker watches; every job must be over at `until`.
  Outputs outputs;
  Instant until = Instant::never();  ///< The run stops here at the latest.
  double time_scale = 20;            ///< World cluster runs it so many times faster, at least 1.

  /// Nodes of all groups together.
  std::int64_t node_count() const {
    std::int64_t nodes = 0;
    for (const NodeGroup& group : groups) nodes += group.count;
    return nodes;
  }

  /// Whether control is by agents: as written, or because a fault is one of agents, the network,
  /// the controller, its store or clocks, or clocks drift and leaders take what they hear late.
  /// Where the network of the data is modelled (L1 and
  /// above), a fault of bandwidth is one of that network instead.
  bool needs_agents() const;

  bool has_workload() const { return !std::holds_alternative<std::monostate>(workload); }
};

}  // namespace orrery::scenarios

namespace orrery {

template <>
struct EnumNames<scenarios::World> {
  static constexpr std::array kNames{"model", "sim", "cluster"};
};

template <>
struct EnumNames<scenarios::Fidelity> {
  static constexpr std::array kNames{"L0", "L1", "L2", "L3"};
};

template <>
struct EnumNames<scenarios::Control> {
  static constexpr std::array kNames{"direct", "agents"};
};

template <>
struct EnumNames<scenarios::TimingMode> {
  static constexpr std::array kNames{"simple", "pollux"};
};

template <>
struct EnumNames<scenarios::ScriptKind> {
  static constexpr std::array kNames{"exit", "refuse", "port_in_use", "cannot_start"};
};

template <>
struct EnumNames<scenarios::OutputFormat> {
  static constexpr std::array kNames{
      "summary", "jobs", "evalys", "events", "schedule", "machine_states", "perfetto", "report"};
};

}  // namespace orrery
