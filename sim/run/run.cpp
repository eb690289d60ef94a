#include "sim/run/run.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/driver/memory_store.hpp"
#include "core/placer/registry.hpp"
#include "sim/control/late_planner.hpp"
#include "sim/fabric/make_fabric.hpp"
#include "sim/model/model_world.hpp"
#include "sim/run/agent_run.hpp"
#include "sim/run/fault_watch.hpp"
#include "sim/run/late_timers.hpp"
#include "sim/run/link_watch.hpp"
#include "sim/run/run_account.hpp"

namespace orrery::sim {
namespace {

using SteadyClock = std::chrono::steady_clock;

Duration since(SteadyClock::time_point start) {
  return Duration{
      std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now() - start).count()};
}

// Times the policy on this machine.
class DecisionTimer final : public PlanTimer {
 public:
  DecisionTimer(RunAccount& account, const State& state) : account_(account), state_(state) {}

  void begin(PlanTrigger trigger) override {
    trigger_ = trigger;
    start_ = SteadyClock::now();
  }

  void end(const Plan& plan) override {
    account_.decided(state_.now, trigger_, plan.grants.size(), since(start_));
  }

 private:
  RunAccount& account_;
  const State& state_;
  PlanTrigger trigger_ = PlanTrigger::Submission;
  SteadyClock::time_point start_;
};

/// What carries the jobs' bytes: the caller's, or one that needs no SimGrid.
class CarriedBy {
 public:
  static Result<CarriedBy> make(const scenarios::Scenario& scenario,
                                const LoadedWorkload& workload,
                                Fabric* given) {
    CarriedBy out;
    out.fabric_ = given;
    if (given != nullptr) return out;
    if (scenario.fidelity >= scenarios::Fidelity::L2)
      return Error{.file = scenario.file,
                   .subject = "fidelity",
                   .message = std::string(orrery::to_string(scenario.fidelity)) +
                              " found, needed L0 or L1: a run of this program without SimGrid has "
                              "no others; use --world model --fidelity L1"};
    // Where nothing is sent, nothing needs to carry it.
    if (scenario.fidelity == scenarios::Fidelity::L0 && !workload.sends(scenario)) return out;
    auto made = scenario.fidelity == scenarios::Fidelity::L0 ? make_ideal_fabric(scenario)
                                                             : make_shared_fabric(scenario);
    if (!made) return made.errors();
    out.own_ = std::move(*made);
    out.fabric_ = out.own_.get();
    return out;
  }

  Fabric* get() const { return fabric_; }

 private:
  std::unique_ptr<Fabric> own_;
  Fabric* fabric_ = nullptr;
};

}  // namespace

Settings settings_for(const scenarios::Scenario& scenario, const Policy& policy) {
  Settings settings = scenario.settings;
  const Triggers triggers = policy.triggers();
  settings.seed = scenario.seed;
  settings.policy = std::string(policy.name());
  if (settings.placer.empty()) settings.placer = placers::named(policy.usual_placer()).name();
  settings.plan_on_submission = triggers.submission;
  settings.plan_on_completion = triggers.completion;
  settings.plan_on_capacity = triggers.capacity;
  settings.plan_period = triggers.period;
  settings.policy_sizes = policy.sizes_jobs();
  settings.queues = std::string(policy.queues());
  return settings;
}

PlannerFaults planner_faults(const scenarios::Scenario& scenario) {
  const scenarios::Jitter& jitter = scenario.jitter;
  return {jitter.planner,
          jitter.plans_lost,
          scenario.planner_deadline,
          jitter.plans_garbled,
          jitter.plans_garbled_until};
}

std::vector<Event> opening_events(const scenarios::Scenario& scenario,
                                  const Policy& policy,
                                  Instant now) {
  std::vector<Event> events;
  events.push_back(
      {now, now, Origin::External, EpochStarted{Epoch{1}, settings_for(scenario, policy)}});
  events.push_back({now, now, Origin::External, NodesDeclared{scenario.groups}});
  if (!scenario.quotas.empty())
    events.push_back({now, now, Origin::External, QuotasDeclared{scenario.quotas}});
  return events;
}

Result<RunReport> run_model(const scenarios::Scenario& scenario,
                            const LoadedWorkload& workload,
                            Policy& policy,
                            const RunOptions& options) {
  std::optional<scenarios::Scenario> filled;
  if (workload.adds_faults(scenario)) filled = workload.with_failures(scenario);
  const scenarios::Scenario& played = filled ? *filled : scenario;
  const auto carried_by = CarriedBy::make(scenario, workload, options.fabric);
  if (!carried_by) return carried_by.errors();
  Fabric* fabric = carried_by->get();
  if (scenario.needs_agents() || options.transport != nullptr)
    return run_with_agents(scenario, played, workload, policy, options, fabric);
  const std::unique_ptr<JobSource> source = workload.play(scenario, policy.tunes_batches());
  ModelWorld world(played, *source, fabric);
  std::vector<std::string> unwatched;
  if (auto watcher = link_watcher(scenario, fabric, options, unwatched))
    world.watch_links(kLinkSamplesEvery, std::move(watcher));
  NullStore nowhere;
  StateStore& store = options.store != nullptr ? *options.store : nowhere;
  Controller controller;
  RunAccount account(controller.state(), options, [&](std::uint64_t request) {
    return world.take_label(request);
  });
  account.expect_filling(workload.filling(scenario));
  DecisionTimer timer(account, controller.state());
  LatePlanner planner(policy,
                      scenario.planner_latency,
                      &timer,
                      scenario.seed,
                      planner_faults(scenario),
                      {options.fresh_policy, static_cast<std::uint64_t>(scenario.planner_steps)});
  DriverOptions driver_options;
  driver_options.snapshot_every = options.snapshot_every;
  FaultWatch watch(played, world, account, controller.state(), [&](const Strike& strike) {
    world.strike(strike.index, strike.at);
  });
  world.tell_strikes([&](std::uint32_t index) {
    for (RunListener* listener : options.listeners) listener->on_struck(index, world.now());
    watch.on_struck(index);
  });
  World& watched = watch.any() ? static_cast<World&>(watch) : world;
  LateTimers late(
      watched, scenario.seed, std::max(options.timers_late_max, scenario.jitter.timers));
  World& seen = late.any() ? static_cast<World&>(late) : watched;
  RunObserver& observer = watch.any() ? static_cast<RunObserver&>(watch) : account;
  Driver driver(controller, seen, store, planner, &observer, driver_options);
  const Status opened = driver.apply(opening_events(scenario, policy, world.now()));
  if (!opened) return opened.errors();
  const RunEnd end = driver.run(scenario.until);
  if (end == RunEnd::StoreFailed || end == RunEnd::Deposed) return driver.store_errors();
  RunReport report =
      account.close(scenario, policy, driver.chain(), driver.events(), end, world.now());
  report.summary.workload = workload.account_of_run(world.workload_refused());
  report.warnings = world.warnings();
  report.warnings.insert(report.warnings.end(), unwatched.begin(), unwatched.end());
  for (std::string& sentence : watch.never_struck()) report.warnings.push_back(std::move(sentence));
  if (fabric != nullptr) report.approximations = fabric->approximations();
  return report;
}

}  // namespace orrery::sim
