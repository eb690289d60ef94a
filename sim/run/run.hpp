// One run of a scenario in world `model` or `sim`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/driver/driver.hpp"
#include "core/driver/state_store.hpp"
#include "core/plan/policy.hpp"
#include "core/state/state.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/agents/control_transport.hpp"
#include "sim/agents/world_tap.hpp"
#include "sim/control/host_watch.hpp"
#include "sim/control/late_planner.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/results/metrics.hpp"
#include "sim/results/queue_samples.hpp"
#include "sim/results/summary.hpp"
#include "sim/run/workload.hpp"

namespace orrery::sim {

/// Where a run stands; what a progress bar shows.
struct RunProgress {
  Instant now;
  std::uint64_t jobs_submitted = 0;
  std::uint64_t jobs_over = 0;
  std::uint64_t events = 0;
};

/// Listens to a run: event logs, decision logs, expectations, progress bars.
class RunListener {
 public:
  virtual ~RunListener() = default;

  /// A job was accepted, before any notice about it. `spec` lives as long as the job.
  virtual void on_submitted(JobId, const JobSpec&, const JobFacts&) {}

  /// What one step told, in order. `jobs` names them.
  virtual void on_notices(std::span<const Notice>, const State&, const JobTable&) {}

  /// Fault `index` of the scenario strikes.
  virtual void on_struck(std::uint32_t index, Instant now) {
    static_cast<void>(index);
    static_cast<void>(now);
  }

  /// The policy was asked at `at`, answered with so many grants, and took so long on this machine.
  virtual void on_decided(Instant at, PlanTrigger, std::size_t grants, Duration wall) {
    static_cast<void>(at);
    static_cast<void>(grants);
    static_cast<void>(wall);
  }

  /// Whether it wants to know of the links of the network; looking at them costs time.
  virtual bool wants_links() const { return false; }

  /// What the links of the network are called; before the first `on_link_use`, if at all.
  virtual void on_links(const std::vector<std::string>& names) { static_cast<void>(names); }

  /// From `at` on the links carry these shares of what they can, 0 to 1, in the order of the names.
  virtual void on_link_use(Instant at, std::span<const double> shares) {
    static_cast<void>(at);
    static_cast<void>(shares);
  }

  /// Now and then, about every 65,536 records; true ends the run early.
  virtual bool on_progress(const RunProgress&) { return false; }

  /// About every 1,024 turns of the run, however few records they make: for whoever shows how far
  /// it is. Under control by agents a day may make as many records as `on_progress` waits for.
  virtual void on_turns(const RunProgress&) {}
};

struct RunOptions {
  std::vector<RunListener*> listeners;  ///< Outlive the run.
  StateStore* store = nullptr;          ///< Keeps the journal; null: it is not kept.
  std::uint64_t snapshot_every = 0;     ///< Records between snapshots in `store`.
  /// The controller's wakes come up to so long after their deadline, drawn from the scenario's
  /// seed, as on real clocks. Zero: exactly at it.
  Duration timers_late_max = Duration::zero();
  // Only under control by agents:
  std::function<std::unique_ptr<Policy>()> fresh_policy;  ///< One for each leader.
  WorldTap* tap = nullptr;                                ///< Hears what truly happens.
  HostWatch* host_watch = nullptr;                        ///< Hears journal, orders, leaders.
  /// Carries control messages, which puts every scenario under control by agents. Null: they take
  /// times that are drawn, and faults of messages act.
  ControlTransport* transport = nullptr;
  Fabric* fabric = nullptr;  ///< Carries what jobs send; outlives the run. Null: made at fidelity
                             ///< L0 and L1, an error above.
};

/// What a run gave.
struct RunReport {
  Summary summary;
  std::unique_ptr<Metrics> metrics;               ///< Rows of all jobs, for `jobs.csv`.
  std::vector<QueueSamples::Point> queue_points;  ///< Empty where no queues are set.
  std::vector<std::string> warnings;              ///< What could not be modelled as asked.
  std::vector<std::string> approximations;        ///< Of the fabric: what its level leaves out.
  RunEnd end = RunEnd::Finished;
  Instant ended_at;         ///< The world's time then.
  std::uint64_t steps = 0;  ///< Under control by agents: of all pure machines together.
};

/// The settings that the journal's first record carries: the scenario's, with the policy's name
/// and triggers.
Settings settings_for(const scenarios::Scenario& scenario, const Policy& policy);

/// What the scenario does to plans on their way.
PlannerFaults planner_faults(const scenarios::Scenario& scenario);

/// The declarations that every run begins with: epoch, nodes, quotas.
std::vector<Event> opening_events(const scenarios::Scenario& scenario,
                                  const Policy& policy,
                                  Instant now);

/// Runs a scenario once. The policy must be fresh. Errors: the store failed; no fabric of the
/// scenario's fidelity or for its network.
Result<RunReport> run_model(const scenarios::Scenario& scenario,
                            const LoadedWorkload& workload,
                            Policy& policy,
                            const RunOptions& options);

}  // namespace orrery::sim
