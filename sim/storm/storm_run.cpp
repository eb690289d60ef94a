#include "sim/storm/storm_run.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/invariant.hpp"
#include "sim/agents/agent_world.hpp"
#include "sim/control/controller_host.hpp"
#include "sim/run/run.hpp"
#include "sim/run/workload.hpp"
#include "sim/storm/leader_faults.hpp"
#include "sim/storm/plan_jobs.hpp"
#include "sim/storm/storm_plan.hpp"
#include "sim/storm/storm_watch.hpp"

namespace orrery::sim {
namespace {

/// Thrown out of a broken invariant: the run is abandoned as it stands.
struct InvariantThrown {
  std::string text;
};

void throw_invariant(std::string_view what, const char* file, int line) {
  std::string place(file);
  if (const std::size_t slash = place.rfind('/'); slash != std::string::npos)
    place = place.substr(slash + 1);
  throw InvariantThrown{std::string(what) + " (" + place + ":" + std::to_string(line) + ")"};
}

HostOptions host_options(const scenarios::Scenario& scenario, const StormOptions& options) {
  HostOptions host;
  host.seed = scenario.seed;
  host.policy = options.policy;
  const std::unique_ptr<Policy> policy = options.policy();
  host.settings = settings_for(scenario, *policy);
  host.declarations.emplace_back(NodesDeclared{scenario.groups});
  if (!scenario.quotas.empty()) host.declarations.emplace_back(QuotasDeclared{scenario.quotas});
  host.planner_latency = scenario.planner_latency;
  host.idle_turns_max = 20'000;
  // How often snapshots are taken is part of what a seed says.
  constexpr std::array<std::uint64_t, 5> kEvery{0, 5, 20, 100, 500};
  Random random = Random::stream(scenario.seed, "storm/snapshots");
  host.snapshot_every = kEvery[random.below(kEvery.size())];
  return host;
}

/// Leaders, their world and the checker.
class Storm {
 public:
  Storm(const scenarios::Scenario& scenario, JobSource& source, const StormOptions& options)
      : scenario_(scenario),
        watch_(scenario),
        ports_(scenario, source, &watch_),
        host_(host_options(scenario, options), ports_, &watch_, &watch_),
        control_(host_, scenario.seed, [this](LeaderNumber leader, Instant until) {
          ports_.pause(leader, until);
        }) {
    watch_.connect(ports_.room());
  }

  void run(StormReport& report) {
    (void)host_.start_leader();
    while (found().empty()) {
      strike();
      (void)host_.turn();
      if (!found().empty()) break;
      if (is_over()) break;
      const Instant now = ports_.now();
      if (now >= scenario_.until) break;
      check_world(now);
      control_.time_reached(now);
      ports_.advance(std::min({host_.next_wake(), control_.next(), scenario_.until}));
    }
    close(report);
  }

  void broke(StormReport& report, const std::string& what) {
    watch_.checker().add(ViolationKind::Invariant, ports_.now(), what);
    tell(report);
  }

 private:
  const Violations& found() { return watch_.checker().found(); }

  // Faults that were waiting for an event, then those of leaders and the store.
  void strike() {
    for (const std::uint32_t index : ports_.take_struck())
      watch_.triggers().on_struck(index, ports_.now());
    strikes_.clear();
    watch_.triggers().take(strikes_);
    for (const Strike& strike : strikes_)
      ports_.room().strike(strike.index, std::max(strike.at, ports_.now()));
    for (const scenarios::Fault& fault : ports_.take_control_faults())
      control_.strike(fault, ports_.now());
  }

  // A world that forgets to wake somebody finds nothing: the storm would be blind, and clean.
  void check_world(Instant now) {
    if (now < look_at_) return;
    look_at_ = now + Duration::seconds(10);
    if (const std::string late = ports_.overdue(); !late.empty())
      watch_.checker().add(
          ViolationKind::NoProgress,
          now,
          "the simulated world has not woken " + late + ", whose deadline is long over");
  }

  const Controller* leader() const {
    const auto leading = host_.leading();
    return leading ? &host_.controller(*leading) : nullptr;
  }

  bool all_jobs_over() const {
    const Controller* leads = leader();
    return leads != nullptr && leads->state().live_count() == 0 &&
           leads->state().next_job().value >= scenario_.jobs.size();
  }

  bool is_over() const { return ports_.now() >= calm_from() && all_jobs_over(); }

  Instant calm_from() const { return std::min(kStormCalmFrom, scenario_.until); }

  void close(StormReport& report) {
    if (const Controller* leads = leader(); leads != nullptr && found().empty())
      watch_.compare(leads->state(), leads->digest());
    report.all_over = all_jobs_over();
    // A scenario that was cut short for another finding says nothing about who would have ended.
    const bool had_time = scenario_.until > kStormCalmFrom;
    if (!report.all_over && had_time && found().empty()) tell_unfinished();
    tell(report);
  }

  bool could_run(const JobState& job) const {
    const JobSpec& spec = *job.spec;
    // Work that goes on without a worker that failed may never end: only a deadline ends it.
    if (spec.failover.trigger != FailureTrigger::Now && spec.run_deadline.is_forever())
      return false;
    std::vector<std::int32_t> counts;
    for (std::size_t r = 0; r < spec.roles.size(); ++r)
      counts.push_back(job.target(RoleIndex{static_cast<std::uint16_t>(r)}));
    return fits_alone(scenario_, spec, counts);
  }

  void tell_unfinished() {
    const double patience = (scenario_.until - calm_from()).in_seconds();
    const std::string since = ", although faults had ended " +
                              std::to_string(static_cast<std::int64_t>(patience)) + " s before";
    const Controller* leads = leader();
    if (leads == nullptr) {
      watch_.checker().add(ViolationKind::Liveness, ports_.now(), "nobody leads" + since);
      return;
    }
    // A node that its relaunch has failed stays out of use until somebody lets it in.
    for (const NodeState& node : leads->state().nodes)
      if (node.excluded) return;
    // Nor does a queue move whose head can never run.
    bool hopeless = false;
    leads->state().for_each_job([&](const JobState& job) {
      hopeless = hopeless || (!is_final(job.row.phase) && (job.row.infeasible || !could_run(job)));
    });
    if (hopeless) return;
    leads->state().for_each_job([&](const JobState& job) {
      if (is_final(job.row.phase)) return;
      watch_.checker().add(ViolationKind::Liveness,
                           ports_.now(),
                           job.spec->name + " is still " + std::string(to_string(job.row.phase)) +
                               " (" + std::string(to_string(job.reason)) + ")" + since);
    });
    if (leads->state().next_job().value < scenario_.jobs.size())
      watch_.checker().add(ViolationKind::Liveness,
                           ports_.now(),
                           std::to_string(leads->state().next_job().value) + " of " +
                               std::to_string(scenario_.jobs.size()) +
                               " submissions were accepted" + since);
  }

  void tell(StormReport& report) {
    report.violations = found().kept();
    report.records = host_.steps();
    report.events = report.records + ports_.steps().agents + ports_.steps().ears;
    report.leaders = watch_.leaders();
    report.simulated = ports_.now() - Instant::zero();
  }

  const scenarios::Scenario& scenario_;
  StormWatch watch_;
  AgentWorld ports_;
  ControllerHost host_;
  LeaderFaults control_;
  std::vector<Strike> strikes_;
  Instant look_at_;  ///< When the world itself is looked at next.
};

}  // namespace

StormReport run_storm(const scenarios::Scenario& scenario, const StormOptions& options) {
  StormReport report;
  const auto workload = LoadedWorkload::load(scenario);
  invariant(workload.has_value(), "a storm's jobs are written out");
  const std::unique_ptr<JobSource> source = workload->play(scenario);
  auto storm = std::make_unique<Storm>(scenario, *source, options);
  set_invariant_handler(throw_invariant);
  try {
    storm->run(report);
  } catch (const InvariantThrown& thrown) {
    storm->broke(report, thrown.text);
    // Half-done: nothing of it can be trusted, its destructors included.
    (void)storm.release();
  }
  set_invariant_handler(nullptr);
  return report;
}

}  // namespace orrery::sim
