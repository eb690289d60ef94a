#include "sim/run/agent_run.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/agents/agent_world.hpp"
#include "sim/control/controller_host.hpp"
#include "sim/faults/event_triggers.hpp"
#include "sim/run/control_faults.hpp"
#include "sim/run/journal_follower.hpp"
#include "sim/run/late_timers.hpp"
#include "sim/run/link_watch.hpp"
#include "sim/run/run_account.hpp"

namespace orrery::sim {
namespace {

// How long nothing but heartbeats and cycles must have happened before a run whose jobs are not
// over is given up.
Duration patience(const Settings& settings) {
  return settings.node_lease * 2 + settings.takeover_grace + Duration::seconds(10);
}

// A store with group commit writes so long after it was handed something.
constexpr Duration kCommitAfter = Duration::milliseconds(10);

// One policy for all leaders, where the caller has only one.
class SharedPolicy final : public Policy {
 public:
  explicit SharedPolicy(Policy& policy) : policy_(policy) {}

  std::string_view name() const override { return policy_.name(); }

  Triggers triggers() const override { return policy_.triggers(); }

  bool sizes_jobs() const override { return policy_.sizes_jobs(); }

  std::string_view usual_placer() const override { return policy_.usual_placer(); }

  std::string_view queues() const override { return policy_.queues(); }

  Plan allocate(const JobView& job, const ClusterView& view) override {
    return policy_.allocate(job, view);
  }

  Plan optimize(const ClusterView& view) override { return policy_.optimize(view); }

  void save(ByteWriter& out) const override { policy_.save(out); }

  void load(ByteReader& in) override { policy_.load(in); }

 private:
  Policy& policy_;
};

HostOptions host_options(const scenarios::Scenario& scenario,
                         Policy& policy,
                         const RunOptions& options) {
  HostOptions out;
  out.seed = scenario.seed;
  out.settings = settings_for(scenario, policy);
  out.declarations.emplace_back(NodesDeclared{scenario.groups});
  if (!scenario.quotas.empty()) out.declarations.emplace_back(QuotasDeclared{scenario.quotas});
  out.policy = [&policy, &options]() -> std::unique_ptr<Policy> {
    if (options.fresh_policy) return options.fresh_policy();
    return std::make_unique<SharedPolicy>(policy);
  };
  out.planner_latency = scenario.planner_latency;
  out.planner_faults = planner_faults(scenario);
  out.policy_steps_max = static_cast<std::uint64_t>(scenario.planner_steps);
  out.snapshot_every = options.snapshot_every;
  return out;
}

/// Everything of one run, in the order in which it must be made.
class AgentRun final : private RunObserver {
 public:
  AgentRun(const scenarios::Scenario& played,
           JobSource& source,
           Policy& policy,
           const RunOptions& options,
           Fabric* fabric)
      : played_(played),
        options_(options),
        triggers_(played),
        world_(played, source, options.tap, options.transport, fabric),
        follower_(options.host_watch, options.store),
        account_(follower_.state(),
                 options,
                 [this](std::uint64_t request) { return world_.cluster().take_label(request); }),
        host_(host_options(played, policy, options), world_, nullptr, &follower_),
        faults_(host_, world_),
        lateness_(played.seed, std::max(options.timers_late_max, played.jitter.timers)) {
    follower_.set_observer(*this);
    follower_.keep_orders(triggers_.any());
  }

  RunEnd run();

  std::vector<std::string> never_struck() const { return triggers_.never_struck(); }

  AgentWorld& world() { return world_; }

  RunAccount& account() { return account_; }

  const JournalFollower& follower() const { return follower_; }

  std::uint64_t steps() const {
    const WorldSteps steps = world_.steps();
    return host_.steps() + steps.agents + steps.ears;
  }

 private:
  void on_event(Sequence sequence, const Event& event) override {
    account_.on_event(sequence, event);
    if (triggers_.any()) triggers_.on_event(event, follower_.state());
  }

  void on_notices(std::span<const Notice> notices, const State& state) override {
    account_.on_notices(notices, state);
    if (triggers_.any()) triggers_.on_notices(notices, state);
  }

  void let_faults_strike();
  void commit_in_the_background();
  bool is_over();

  const scenarios::Scenario& played_;
  const RunOptions& options_;
  EventTriggers triggers_;
  AgentWorld world_;
  JournalFollower follower_;
  RunAccount account_;
  ControllerHost host_;
  ControlFaults faults_;
  Lateness lateness_;  ///< Of the leaders' timers.
  std::vector<Strike> strikes_;
  std::uint64_t news_ = 0;                ///< That the follower had when something happened last,
  Instant news_at_;                       ///< and when that was.
  Instant commit_at_ = Instant::never();  ///< When the store commits by itself.
};

void AgentRun::let_faults_strike() {
  for (const scenarios::Fault& fault : world_.take_control_faults()) faults_.strike(fault);
  for (const std::uint32_t index : world_.take_struck()) {
    for (RunListener* listener : options_.listeners) listener->on_struck(index, world_.now());
    triggers_.on_struck(index, world_.now());
  }
  if (!triggers_.any()) return;
  for (const CommandBody& order : follower_.take_orders())
    triggers_.on_order(order, follower_.state(), world_.now());
  triggers_.take(strikes_);
  for (const Strike& strike : strikes_)
    world_.cluster().strike(strike.index, std::max(strike.at, world_.now()));
  strikes_.clear();
}

// What no order waits for is written a little later all the same.
void AgentRun::commit_in_the_background() {
  FaultyJournal& journal = host_.journal();
  if (journal.last() <= journal.durable()) {
    commit_at_ = Instant::never();
  } else if (commit_at_.is_never()) {
    commit_at_ = world_.now() + kCommitAfter;
  } else if (commit_at_ <= world_.now()) {
    journal.commit();
    commit_at_ = Instant::never();
  }
}

// Whether nothing will happen any more but heartbeats, and cycles of a policy that does nothing.
bool AgentRun::is_over() {
  const Instant now = world_.now();
  if (follower_.news() != news_ || world_.work_left()) {
    news_ = follower_.news();
    news_at_ = now;
    return false;
  }
  const auto leader = host_.leading();
  if (!leader) return false;
  if (follower_.state().live_count() == 0) return true;
  return now - news_at_ > patience(played_.settings) && follower_.only_cycles_left();
}

RunEnd AgentRun::run() {
  while (true) {
    faults_.see_to_it();
    (void)host_.turn();
    commit_in_the_background();
    let_faults_strike();
    faults_.see_to_it();
    const Instant now = world_.now();
    if (account_.should_stop()) return RunEnd::Stopped;
    if (now >= played_.until || is_over()) return RunEnd::Finished;
    if (!follower_.copy_errors().empty()) return RunEnd::StoreFailed;
    const Instant look_again = now + Duration::seconds(10);
    const Instant wake = lateness_.wake(host_.next_wake(), now);
    world_.advance(std::min({wake, faults_.next(), commit_at_, played_.until, look_again}));
  }
}

}  // namespace

Result<RunReport> run_with_agents(const scenarios::Scenario& scenario,
                                  const scenarios::Scenario& played,
                                  const LoadedWorkload& workload,
                                  Policy& policy,
                                  const RunOptions& options,
                                  Fabric* fabric) {
  const std::unique_ptr<JobSource> source = workload.play(scenario, policy.tunes_batches());
  AgentRun run(played, *source, policy, options, fabric);
  std::vector<std::string> unwatched;
  if (auto watcher = link_watcher(scenario, fabric, options, unwatched))
    run.world().cluster().watch_links(kLinkSamplesEvery, std::move(watcher));
  run.account().expect_filling(workload.filling(scenario));
  const RunEnd end = run.run();
  if (end == RunEnd::StoreFailed) return run.follower().copy_errors();
  RunReport report = run.account().close(scenario,
                                         policy,
                                         run.follower().chain(),
                                         run.follower().state().sequence.value,
                                         end,
                                         run.world().now());
  report.summary.workload = workload.account_of_run(run.world().cluster().workload_refused());
  report.warnings = run.world().cluster().warnings();
  report.warnings.insert(report.warnings.end(), unwatched.begin(), unwatched.end());
  for (std::string& sentence : run.never_struck()) report.warnings.push_back(std::move(sentence));
  if (fabric != nullptr) report.approximations = fabric->approximations();
  report.steps = run.steps();
  return report;
}

}  // namespace orrery::sim
