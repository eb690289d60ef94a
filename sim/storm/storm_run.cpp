#include "sim/storm/storm_run.hpp"

#include <algorithm>
#include <set>

#include "core/base/invariant.hpp"
#include "core/control/status.hpp"
#include "core/driver/replay.hpp"
#include "core/job/turns.hpp"
#include "sim/agents/agent_world.hpp"
#include "sim/control/controller_host.hpp"
#include "sim/run/late_timers.hpp"
#include "sim/run/run.hpp"
#include "sim/run/workload.hpp"
#include "sim/storm/leader_faults.hpp"
#include "sim/storm/plan_families.hpp"
#include "sim/storm/plan_jobs.hpp"
#include "sim/storm/queue_check.hpp"
#include "sim/storm/store_probe.hpp"
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
  host.planner_faults = planner_faults(scenario);
  host.policy_steps_max = static_cast<std::uint64_t>(scenario.planner_steps);
  host.idle_turns_max = 20'000;
  // How often snapshots are taken is part of what a seed says.
  constexpr std::array<std::uint64_t, 5> kEvery{0, 5, 20, 100, 500};
  Random random = Random::stream(scenario.seed, "storm/snapshots");
  host.snapshot_every = kEvery[random.below(kEvery.size())];
  return host;
}

// It costs another fold of the journal and each plan of the first leader.
constexpr std::uint64_t kRecomputedOf = 4;

/// Leaders, their world and the checker.
class Storm {
 public:
  Storm(const scenarios::Scenario& scenario, JobSource& source, const StormOptions& options)
      : scenario_(scenario),
        policy_(options.policy),
        watch_(scenario),
        ports_(scenario, source, &watch_),
        host_(host_options(scenario, options), ports_, &watch_, &watch_),
        control_(host_,
                 scenario.seed,
                 [this](LeaderNumber leader, Instant until) { ports_.pause(leader, until); }),
        lateness_(scenario.seed, scenario.jitter.timers) {
    watch_.connect(ports_.cluster());
    if (options.records_decisions) watch_.record_decisions();
    if (scenario.seed % kRecomputedOf == 1) watch_.fingerprint_terms();
    records_decisions_ = options.records_decisions;
  }

  void run(StormReport& report) {
    (void)host_.start_leader();
    bool idle = false;
    while (found().empty()) {
      strike();
      const bool worked = host_.turn();
      if (!found().empty()) break;
      if (is_over()) break;
      const Instant now = ports_.now();
      if (now >= scenario_.until) break;
      check_timers(now);
      control_.time_reached(now);
      const Instant wake = lateness_.wake(host_.next_wake(), now);
      const Instant next = std::min({wake, control_.next(), end_after(now)});
      ports_.advance(next);
      // Without an end it may come to a stand: nothing will happen any more.
      const bool stands = next.is_never() && !worked && ports_.now() == now;
      if (std::exchange(idle, stands) && stands) break;
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
      ports_.cluster().strike(strike.index, std::max(strike.at, ports_.now()));
    for (const scenarios::Fault& fault : ports_.take_control_faults())
      control_.strike(fault, ports_.now());
  }

  // A world that never wakes its parts finds nothing, so it is checked itself now and then. What
  // has just begun may be late at one look.
  void check_timers(Instant now) {
    if (now < look_at_timers_) return;
    look_at_timers_ = now + Duration::seconds(1);
    const Controller* leads = leader();
    watch_.look(leads == nullptr ? nullptr : &leads->state());
    const std::string missed = ports_.missed_timer();
    if (!missed.empty() && missed == missed_)
      watch_.checker().add(
          ViolationKind::TimerMissed,
          now,
          missed + " was not woken at its deadline: a defect of the simulated world");
    missed_ = missed;
  }

  // Null while the only leader is one that was deposed and has not noticed.
  const Controller* leader() const {
    const auto leading = host_.leading();
    return leading && host_.holds_journal(*leading) ? &host_.controller(*leading) : nullptr;
  }

  // A job that can never run and has no deadline is over as far as it will ever be.
  bool all_jobs_over() const {
    const Controller* leads = leader();
    if (leads == nullptr || leads->state().next_job().value < scenario_.jobs.size()) return false;
    if (leads->state().live_count() == 0) return true;
    bool over = true;
    leads->state().for_each_job([&](const JobState& job) {
      over = over && (is_final(job.row.phase) || waits_for_ever(job));
    });
    return over;
  }

  bool waits_for_ever(const JobState& job) const {
    return job.row.phase == JobPhase::Pending && job.spec->wait_deadline.is_forever() &&
           (can_never_run(scenario_, *job.spec) || is_beyond_its_quota(job) ||
            is_beyond_its_queue(leader()->state(), job));
  }

  // Where its user has changed it, say. A part of a device counts as one.
  bool is_beyond_its_quota(const JobState& job) const {
    const std::vector<QuotaUse>& quotas = leader()->state().quotas;
    const auto is_less = [&](std::uint32_t quota) {
      return quota != UINT32_MAX && quotas[quota].quota.devices < job.row.gang_devices();
    };
    return is_less(job.row.quota_group) || is_less(job.row.quota_namespace);
  }

  bool is_over() const { return ports_.now() >= calm_from() && all_jobs_over(); }

  // A world where nothing happens passes no time by itself.
  Instant end_after(Instant now) const {
    return scenario_.until.is_never() && now < calm_from() ? calm_from() : scenario_.until;
  }

  Instant calm_from() const { return std::min(kStormCalmFrom, scenario_.until); }

  void close(StormReport& report) {
    if (const Controller* leads = leader(); leads != nullptr && found().empty())
      watch_.compare(leads->state(), leads->digest());
    report.all_over = all_jobs_over();
    // A scenario that was cut short for another finding says nothing about the jobs that would have
    // ended.
    const bool had_time = scenario_.until > kStormCalmFrom;
    if (!report.all_over && had_time && found().empty()) tell_unfinished();
    if (report.all_over && found().empty()) check_those_that_wait();
    if (found().empty()) check_stored();
    if (found().empty() && scenario_.seed % kRecomputedOf == 0) check_plans();
    tell(report);
  }

  // What a program reads that starts, and what one makes of nonsense that leads.
  void check_stored() {
    FaultyStore store(host_.journal(), LeaderNumber{});
    const auto tell_all = [&](ViolationKind kind, const std::vector<std::string>& wrong) {
      for (const std::string& each : wrong) watch_.checker().add(kind, ports_.now(), each);
    };
    tell_all(ViolationKind::JournalBroken, misread_journal(store));
    const State* state = watch_.folded_up_to(store.durable());
    if (state == nullptr) return;
    // They load the state some times each: every second seed has one of them.
    if (scenario_.seed % 2 == 0)
      tell_all(ViolationKind::JournalBroken, misread_snapshots(*state));
    else
      tell_all(ViolationKind::DecisionWrong, misled(*state));
    if (scenario_.seed % kRecomputedOf == 1)
      tell_all(ViolationKind::ReplayDiffers, watch_.false_terms(store));
  }

  // A fresh policy says the same of what the first leader's was asked. Garbled plans are nobody's.
  void check_plans() {
    if (scenario_.jitter.plans_garbled > 0) return;
    FaultyStore store(host_.journal(), LeaderNumber{});
    const std::unique_ptr<Policy> policy = policy_();
    const auto again = recompute(store, *policy);
    if (!again)
      return watch_.checker().add(
          ViolationKind::ReplayDiffers, ports_.now(), again.errors().front().text());
    for (const std::string& difference : again->first_differences)
      watch_.checker().add(
          ViolationKind::ReplayDiffers, ports_.now(), "a plan computed anew: " + difference);
  }

  /// Why a job need not have ended.
  enum class Excuse : std::uint8_t {
    None,
    Never,    ///< It can never run.
    Nodes,    ///< The nodes that are let in have no room for it.
    Trigger,  ///< Work that goes on without a worker that failed may never end.
  };

  Excuse excuse_of(const JobState& job, const std::set<NodeId>& excluded) const {
    const JobSpec& spec = *job.spec;
    if (spec.failover->trigger != FailureTrigger::Now && spec.run_deadline.is_forever())
      return Excuse::Trigger;
    if (waits_for_ever(job)) return Excuse::Never;
    const bool waits = job.row.phase == JobPhase::Pending ||
                       job.row.phase == JobPhase::Restarting ||
                       job.row.phase == JobPhase::Rescheduling;
    if (!waits) return Excuse::None;
    // Seats may be on a node that is excluded.
    if (is_seated(spec) && !excluded.empty()) return Excuse::Nodes;
    std::vector<std::int32_t> counts;
    for (std::size_t r = 0; r < spec.roles.size(); ++r)
      counts.push_back(job.target(RoleIndex{static_cast<std::uint16_t>(r)}));
    return fits_alone(scenario_, spec, counts, excluded) ? Excuse::None : Excuse::Nodes;
  }

  void add_liveness(const std::string& text) {
    watch_.checker().add(ViolationKind::Liveness, ports_.now(), text);
  }

  // A job that waits for what will never be has to say so.
  void check_words(const State& state, const JobState& job) {
    const std::string words = status_of(state, job).message;
    const bool says_room = words.find("there is room") != std::string::npos;
    if (words.empty() || says_room)
      add_liveness(job.spec->name + " can never run, and says only: \"" + words + "\"");
  }

  void tell_unfinished() {
    const double patience = (scenario_.until - calm_from()).in_seconds();
    const std::string since = ", although faults had ended " +
                              std::to_string(static_cast<std::int64_t>(patience)) + " s before";
    const Controller* leads = leader();
    if (leads == nullptr) return add_liveness("no controller leads" + since);
    const State& state = leads->state();
    // A node that its relaunch has failed stays out of use until a user lets it in.
    std::set<NodeId> excluded;
    for (std::uint32_t n = 0; n < state.nodes.size(); ++n)
      if (state.nodes[n].excluded) excluded.insert(NodeId{n});
    // A queue does not move whose head has no room; a job that holds something is not in it.
    bool queue_stands = false;
    state.for_each_job([&](const JobState& job) {
      queue_stands = queue_stands || (!is_final(job.row.phase) && !job.row.infeasible &&
                                      excuse_of(job, excluded) == Excuse::Nodes);
    });
    state.for_each_job([&](const JobState& job) {
      if (is_final(job.row.phase)) return;
      const Excuse excuse = excuse_of(job, excluded);
      if (excuse == Excuse::Never) return check_words(state, job);
      const bool queued = job.row.phase == JobPhase::Pending && queue_stands;
      if (excuse != Excuse::None || queued) return;
      add_liveness(job.spec->name + " is still " + std::string(to_string(job.row.phase)) + " (" +
                   std::string(to_string(job.reason)) + ")" + since);
    });
    if (state.next_job().value < scenario_.jobs.size())
      add_liveness(std::to_string(state.next_job().value) + " of " +
                   std::to_string(scenario_.jobs.size()) + " submissions were accepted" + since);
  }

  // Those that are over as far as they will ever be.
  void check_those_that_wait() {
    const Controller* leads = leader();
    if (leads == nullptr) return;
    leads->state().for_each_job([&](const JobState& job) {
      if (!is_final(job.row.phase) && waits_for_ever(job)) check_words(leads->state(), job);
    });
  }

  void tell(StormReport& report) {
    report.violations = found().kept();
    report.records = host_.steps();
    report.events = report.records + ports_.steps().agents + ports_.steps().ears;
    report.leaders = watch_.leaders();
    report.cycles = watch_.cycles();
    report.plans_lost = watch_.plans_lost();
    report.simulated = ports_.now() - Instant::zero();
    if (records_decisions_) report.decisions = watch_.decisions().digests();
  }

  const scenarios::Scenario& scenario_;
  std::function<std::unique_ptr<Policy>()> policy_;  ///< A fresh one.
  StormWatch watch_;
  AgentWorld ports_;
  ControllerHost host_;
  LeaderFaults control_;
  Lateness lateness_;  ///< Of the leaders' timers.
  std::vector<Strike> strikes_;
  bool records_decisions_ = false;
  Instant look_at_timers_;
  std::string missed_;  ///< At the last look.
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
