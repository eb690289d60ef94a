#include "tools/local_run/local_run.hpp"

#include <chrono>
#include <utility>

#include "core/driver/memory_store.hpp"
#include "runtime/planner/threaded_planner.hpp"
#include "sim/run/run_account.hpp"

namespace orrery::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// How long the policy thought each time; read when its thread has ended.
class ThinkingTimes final : public PlanTimer {
 public:
  void begin(PlanTrigger) override { start_ = SteadyClock::now(); }

  void end(const Plan&) override {
    const auto passed = SteadyClock::now() - start_;
    times_.push_back(
        Duration{std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count()});
  }

  const std::vector<Duration>& times() const { return times_; }

 private:
  SteadyClock::time_point start_;
  std::vector<Duration> times_;
};

std::vector<sim::ModelJob> all_jobs(const scenarios::Scenario& scenario,
                                    const sim::LoadedWorkload& workload) {
  std::vector<sim::ModelJob> jobs;
  const std::unique_ptr<sim::JobSource> source = workload.play(scenario);
  while (std::optional<sim::ModelJob> job = source->next()) jobs.push_back(std::move(*job));
  return jobs;
}

int line_of(const scenarios::Scenario& scenario, const std::string& job) {
  for (const scenarios::ScenarioJob& written : scenario.jobs)
    if (written.spec.name == job) return written.line;
  return 0;
}

RoleIndex role_named(const JobSpec& spec, const std::string& name) {
  for (std::size_t i = 0; i < spec.roles.size(); ++i)
    if (spec.roles[i].name == name) return RoleIndex{static_cast<std::uint16_t>(i)};
  return RoleIndex::none();
}

runtime::LocalRequest request_of(const scenarios::TimedRequest& asked,
                                 const std::vector<sim::ModelJob>& jobs) {
  runtime::LocalRequest request;
  request.at = asked.at;
  request.job = asked.job;
  request.stop = !asked.scale;
  if (request.stop) return request;
  request.mode = asked.scale->mode;
  request.replicas = asked.scale->replicas;
  for (const sim::ModelJob& job : jobs)
    if (job.spec->name == asked.job) request.role = role_named(*job.spec, asked.scale->role);
  return request;
}

runtime::LocalOptions options_of(const scenarios::Scenario& scenario,
                                 const sim::LoadedWorkload& workload) {
  runtime::LocalOptions options;
  options.settings = scenario.settings;
  const std::vector<sim::ModelJob> jobs = all_jobs(scenario, workload);
  for (const sim::ModelJob& job : jobs) options.submissions.push_back({job.submit, job.spec});
  for (const scenarios::TimedRequest& asked : scenario.requests)
    options.requests.push_back(request_of(asked, jobs));
  return options;
}

}  // namespace

Errors unfit_for_local(const scenarios::Scenario& scenario, const sim::LoadedWorkload& workload) {
  Errors errors;
  const auto unfit = [&](int line, const std::string& subject, const std::string& message) {
    errors.push_back({ErrorCode::InvalidInput, scenario.file, line, subject, message});
  };
  if (scenario.node_count() != 1)
    unfit(0,
          "cluster.nodes",
          std::to_string(scenario.node_count()) +
              " found, world cluster needs 1, this machine; use nodes: 1 or another world");
  if (!scenario.faults.empty() || !scenario.fault_processes.empty() || scenario.failures.any())
    unfit(0, "faults", "world cluster makes none; remove them or use world model");
  if (!scenario.profilings.empty())
    unfit(0, "profilings", "world cluster makes none; remove them or use world model");
  for (const sim::ModelJob& job : all_jobs(scenario, workload)) {
    for (const RoleSpec& role : job.spec->roles) {
      if (!role.command.empty()) continue;
      unfit(line_of(scenario, job.spec->name),
            "job " + job.spec->name + ", role " + role.name,
            "it has no command, world cluster needs a program to run; add command");
    }
    // A trace of thousands lacks commands everywhere: a few lines tell it.
    if (errors.size() >= 10) break;
  }
  return errors;
}

Result<LocalRun> run_local(const scenarios::Scenario& scenario,
                           const sim::LoadedWorkload& workload,
                           Policy& policy,
                           const sim::RunOptions& options) {
  if (Errors errors = unfit_for_local(scenario, workload); !errors.empty()) return errors;
  NullStore nowhere;
  StateStore& store = options.store != nullptr ? *options.store : nowhere;
  Controller controller;
  sim::RunAccount account(controller.state(), options, [](std::uint64_t) { return std::string(); });
  ThinkingTimes thinking;
  runtime::LocalWorld world(options_of(scenario, workload));
  RunEnd end = RunEnd::Finished;
  DriverOptions driver_options;
  driver_options.snapshot_every = options.snapshot_every;
  std::optional<runtime::ThreadedPlanner> planner;
  planner.emplace(
      policy, [&world] { world.wake(); }, &thinking);
  Driver driver(controller, world, store, *planner, &account, driver_options);
  const Status opened = driver.apply(sim::opening_events(scenario, policy, world.now()));
  if (!opened) return opened.errors();
  end = driver.run(scenario.until);
  planner.reset();
  if (end == RunEnd::StoreFailed || end == RunEnd::Deposed) return driver.store_errors();
  for (const Duration time : thinking.times()) account.metrics().decided(time);
  LocalRun run{account.close(scenario, policy, driver.chain(), driver.events(), end, world.now()),
               world.counters()};
  run.report.summary.workload = workload.account();
  run.report.warnings = world.warnings();
  return run;
}

}  // namespace orrery::cli
