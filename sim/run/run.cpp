#include "sim/run/run.hpp"

#include <chrono>

#include "core/driver/memory_store.hpp"
#include "sim/model/model_world.hpp"

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
  explicit DecisionTimer(Metrics& metrics) : metrics_(metrics) {}

  void begin(PlanTrigger) override { start_ = SteadyClock::now(); }

  void end(const Plan&) override { metrics_.decided(since(start_)); }

 private:
  Metrics& metrics_;
  SteadyClock::time_point start_;
};

// Feeds the metrics and the listeners from what the driver tells.
class Spread final : public RunObserver {
 public:
  Spread(Metrics& metrics, const std::vector<RunListener*>& listeners, ModelWorld& world)
      : metrics_(metrics), listeners_(listeners), world_(world) {}

  void attach(const State& state) { state_ = &state; }

  void on_event(Sequence sequence, const Event& event) override {
    events_ = sequence.value;
    const auto* submitted = std::get_if<JobSubmitted>(&event.body);
    if (submitted == nullptr || state_->totals.submitted == submitted_) return;
    submitted_ = state_->totals.submitted;
    const JobId id{state_->next_job().value - 1};
    const JobSpec& spec = *submitted->spec;
    const std::string label = world_.take_label(submitted->request);
    JobFacts facts;
    facts.name = label.empty() ? display_name(spec.name) : std::string_view(label);
    facts.profile = spec.profile;
    facts.submitted = event.occurred_at;
    if (!spec.roles.empty())
      for (std::size_t r = 0; r < spec.roles.size(); ++r) {
        const bool sized = spec.rigid_replicas > 0 && elastic_role(spec).index() == r;
        facts.devices_requested += (sized ? spec.rigid_replicas : spec.roles[r].min_replicas) *
                                   spec.roles[r].bundle.devices;
      }
    facts.time_requested = spec.estimate;
    metrics_.submitted(id, facts);
    for (RunListener* listener : listeners_) listener->on_submitted(id, spec, facts);
  }

  void on_notices(std::span<const Notice> notices, const State& state) override {
    for (const Notice& notice : notices) metrics_.observe(notice);
    for (RunListener* listener : listeners_) listener->on_notices(notices, state, metrics_.jobs());
  }

  bool should_stop() override {
    if (listeners_.empty() || events_ < next_progress_) return false;
    next_progress_ = events_ + 65'536;
    const RunProgress progress{world_.now(), world_.submitted(), metrics_.jobs_over(), events_};
    bool stop = false;
    for (RunListener* listener : listeners_) stop = listener->on_progress(progress) || stop;
    return stop;
  }

 private:
  Metrics& metrics_;
  const std::vector<RunListener*>& listeners_;
  ModelWorld& world_;
  const State* state_ = nullptr;
  std::uint64_t events_ = 0;
  std::uint64_t submitted_ = 0;
  std::uint64_t next_progress_ = 0;
};

// Of the whole history and of the state that it led to.
std::string digest_of_run(const Driver& driver, const State& state) {
  ByteWriter bytes;
  state.save(bytes);
  Digester digester(driver.chain());
  digester.update(bytes.bytes());
  return digester.finish().to_hex();
}

}  // namespace

Settings settings_for(const scenarios::Scenario& scenario, const Policy& policy) {
  Settings settings = scenario.settings;
  const Triggers triggers = policy.triggers();
  settings.policy = std::string(policy.name());
  settings.plan_on_submission = triggers.submission;
  settings.plan_on_completion = triggers.completion;
  settings.plan_on_capacity = triggers.capacity;
  settings.plan_period = triggers.period;
  return settings;
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
  const SteadyClock::time_point start = SteadyClock::now();
  RunReport report;
  report.metrics = std::make_unique<Metrics>();
  const std::unique_ptr<JobSource> source = workload.play(scenario);
  ModelWorld world(scenario, *source);
  NullStore nowhere;
  StateStore& store = options.store != nullptr ? *options.store : nowhere;
  Controller controller;
  DecisionTimer timer(*report.metrics);
  InlinePlanner planner(policy, scenario.planner_latency, &timer);
  Spread spread(*report.metrics, options.listeners, world);
  spread.attach(controller.state());
  DriverOptions driver_options;
  driver_options.snapshot_every = options.snapshot_every;
  Driver driver(controller, world, store, planner, &spread, driver_options);
  const Status opened = driver.apply(opening_events(scenario, policy, world.now()));
  if (!opened) return opened.errors();
  report.end = driver.run(scenario.until);
  if (report.end == RunEnd::StoreFailed) return driver.store_errors();

  RunFacts facts;
  facts.scenario = scenario.name;
  facts.policy = std::string(policy.name());
  facts.world = orrery::to_string(scenario.world);
  facts.seed = scenario.seed;
  facts.end = world.now();
  facts.devices = controller.state().ledger.devices_total();
  facts.events = driver.events();
  facts.state_digest = digest_of_run(driver, controller.state());
  facts.wall = since(start);
  facts.peak_rss_mb = peak_rss_mb();
  report.summary = report.metrics->summarise(facts);
  report.summary.workload = workload.account();
  report.troubles = world.troubles();
  return report;
}

}  // namespace orrery::sim
