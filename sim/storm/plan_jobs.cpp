#include "sim/storm/plan_jobs.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/job/turns.hpp"
#include "sim/storm/drawn_time.hpp"
#include "sim/storm/plan_seats.hpp"

namespace orrery::sim {
namespace {

using scenarios::Scenario;
using scenarios::ScenarioJob;

constexpr std::array<const char*, 4> kRoleNames{"learner", "collector", "actor", "rollout"};

struct Free {
  std::int32_t whole = 0;   ///< Unused devices.
  std::int32_t broken = 0;  ///< Parts, as large as those taken before, that are left of the others.
  MilliCpu cpu;
  Bytes memory;
  std::string_view model;
};

bool take(Free& node, const Bundle& bundle) {
  if (bundle.cpu > node.cpu || bundle.memory > node.memory) return false;
  if (bundle.devices > 0 && !bundle.device_model.empty() && bundle.device_model != node.model)
    return false;
  if (bundle.devices == 1 && !bundle.share.is_whole() && node.broken > 0) {
    --node.broken;
  } else {
    if (bundle.devices > node.whole) return false;
    node.whole -= bundle.devices;
    if (bundle.devices == 1) node.broken += 1000 / bundle.share.thousandths - 1;
  }
  node.cpu = node.cpu - bundle.cpu;
  node.memory = node.memory - bundle.memory;
  return true;
}

std::vector<Free> empty_nodes(const Scenario& scenario, const std::set<NodeId>& excluded) {
  std::vector<Free> nodes;
  std::uint32_t first = 0;
  for (const NodeGroup& group : scenario.groups) {
    const auto count = static_cast<std::uint32_t>(group.count);
    for (std::uint32_t i = 0; i < count - static_cast<std::uint32_t>(group.spares); ++i)
      if (!excluded.contains(NodeId{first + i}))
        nodes.push_back({group.devices, 0, group.cpu, group.memory, group.device_model});
    first += count;
  }
  return nodes;
}

Bundle plan_bundle(Random& random, const NodeGroup& group) {
  Bundle bundle;
  bundle.cpu = MilliCpu{random.between(0, 8) * 250};
  bundle.memory = Bytes{random.between(0, 8) << 29};
  if (random.chance(0.15)) return bundle;
  bundle.devices = 1;
  if (random.chance(0.3))
    bundle.share = Share{static_cast<std::int32_t>(random.between(1, 19)) * 50};
  else
    bundle.devices = static_cast<std::int32_t>(random.between(1, std::min(4, group.devices)));
  if (random.chance(0.3)) bundle.device_model = group.device_model;
  return bundle;
}

RoleSpec plan_role(Random& random, const Scenario& scenario, std::size_t index) {
  RoleSpec role;
  role.name = kRoleNames[index];
  role.bundle = plan_bundle(random, scenario.groups[random.below(scenario.groups.size())]);
  role.min_replicas = static_cast<std::int32_t>(random.between(1, 4));
  role.max_replicas = role.min_replicas;
  if (random.chance(0.45)) role.max_replicas += static_cast<std::int32_t>(random.between(1, 5));
  if (index > 0 && random.chance(0.3)) role.completion = Completion::Follower;
  return role;
}

// The sub-master of a role, as the language makes it.
RoleSpec plan_master(const JobSpec& spec, RoleIndex led) {
  RoleSpec master;
  master.name = spec.roles[led.index()].name + "-master";
  master.bundle = {MilliCpu{1000}, Bytes{std::int64_t{1} << 30}, 0, Share{}, ""};
  master.completion = Completion::Follower;
  master.master_of = led;
  return master;
}

void plan_failover(Random& random, FailoverSpec& failover) {
  if (random.chance(0.25)) failover.mode = RecoveryMode::Strict;
  if (random.chance(0.3))
    failover.trigger =
        static_cast<FailureTrigger>(random.below(EnumNames<FailureTrigger>::kNames.size()));
  if (random.chance(0.3))
    failover.response =
        static_cast<FailureResponse>(random.below(EnumNames<FailureResponse>::kNames.size()));
  const auto limit = [&](std::int32_t& to, std::int64_t most) {
    if (random.chance(0.15)) to = static_cast<std::int32_t>(random.between(0, most));
  };
  limit(failover.worker_failures_max, 5);
  limit(failover.worker_node_failures_max, 3);
  limit(failover.role_restarts_max, 5);
  limit(failover.job_restarts_max, 5);
  limit(failover.node_losses_max, 8);
  limit(failover.preemptions_max, 8);
  limit(failover.nodes_relaunched_max, 4);
  if (random.chance(0.25)) failover.reset_window = ms(random, 10'000, 200'000);
  if (random.chance(0.4)) failover.jitter = static_cast<double>(random.between(1, 10)) / 10;
  failover.relaunch_group = random.chance(0.2);
  failover.relaunch_timeout = ms(random, 5'000, 60'000);
  failover.relaunch_group_timeout = ms(random, 5'000, 90'000);
  failover.sub_master_timeout = ms(random, 3'000, 40'000);
  if (random.chance(0.4)) failover.hang_after = ms(random, 15'000, 60'000);
  failover.hang_restarts = random.chance(0.8);
  if (random.chance(0.3)) {
    failover.straggler_factor = static_cast<double>(random.between(15, 40)) / 10;
    failover.straggler_moves = random.chance(0.6);
  }
}

void plan_times(Random& random, JobSpec& spec) {
  spec.backoff_limit = static_cast<std::int32_t>(random.chance(0.3) ? 3 : random.between(0, 12));
  spec.backoff_base = ms(random, 0, 4'000);
  spec.backoff_max = spec.backoff_base + ms(random, 0, 30'000);
  spec.start_deadline = ms(random, 25'000, 120'000);
  spec.drain_grace = random.chance(0.2) ? Duration::zero() : ms(random, 100, 15'000);
  spec.unknown_deadline = ms(random, 15'000, 120'000);
  if (random.chance(0.06)) spec.wait_deadline = ms(random, 30'000, 600'000);
  const bool waits = spec.failover->trigger != FailureTrigger::Now;
  if (waits || random.chance(0.06)) spec.run_deadline = ms(random, 30'000, 900'000);
}

void plan_work(Random& random, ScenarioJob& job) {
  scenarios::WorkSpec& work = job.work;
  work.base_rate = static_cast<double>(random.between(1, 200)) / 4;
  work.units = work.base_rate * static_cast<double>(random.between(5, 300));
  switch (random.below(3)) {
    case 0:
      break;
    case 1:
      work.scaling = scenarios::ScalingKind::Amdahl;
      work.serial = static_cast<double>(random.between(0, 20)) / 20;
      break;
    default:
      work.scaling = scenarios::ScalingKind::Table;
      work.table.push_back({1, work.base_rate});
      for (std::int32_t n = 2; n <= 8; n *= 2)
        work.table.push_back(
            {n, work.table.back().throughput * static_cast<double>(random.between(10, 20)) / 10});
      break;
  }
  if (random.chance(0.5)) {
    job.spec.estimate = ms(random, 1'000, 600'000);
    job.spec.estimate_source = EstimateSource::Declared;
  }
}

void plan_scripts(Random& random, ScenarioJob& job) {
  std::int32_t workers = 0;
  for (const RoleSpec& role : job.spec.roles) workers += role.min_replicas;
  const std::uint64_t scripts = random.chance(0.3) ? random.between(1, 3) : 0;
  for (std::uint64_t i = 0; i < scripts; ++i) {
    scenarios::WorkerScript script;
    script.worker.index =
        static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(workers)));
    script.after = ms(random, 0, 40'000);
    script.times = static_cast<std::int32_t>(random.between(1, 4));
    script.exit_code = static_cast<std::int32_t>(random.chance(0.3) ? 137 : random.between(1, 127));
    if (random.chance(0.2)) script.kind = scenarios::ScriptKind::Refuse;
    job.workers.push_back(script);
  }
}

// Cuts a job down until it can run alone; fixed roles may be scaled up to their maximum.
void make_feasible(const Scenario& scenario, JobSpec& spec) {
  const auto largest = [&] {
    std::vector<std::int32_t> counts;
    for (const RoleSpec& role : spec.roles)
      counts.push_back(spec.preemptible ? role.min_replicas : role.max_replicas);
    return counts;
  };
  while (!fits_alone(scenario, spec, largest())) {
    auto widest = std::max_element(
        spec.roles.begin(), spec.roles.end(), [](const RoleSpec& a, const RoleSpec& b) {
          return a.max_replicas < b.max_replicas;
        });
    if (widest->max_replicas > widest->min_replicas) {
      --widest->max_replicas;
    } else if (widest->min_replicas > 1) {
      widest->max_replicas = --widest->min_replicas;
    } else if (spec.roles.size() > 1 && spec.roles.back().master_of.is_none()) {
      spec.roles.items().pop_back();
    } else {
      spec.roles.items().resize(1);
      spec.roles[0].bundle = Bundle{};
      return;
    }
  }
}

ScenarioJob plan_job(Random& random, Instant calm_from, const Scenario& scenario, std::size_t n) {
  ScenarioJob job;
  JobSpec& spec = job.spec;
  spec.name = "default.job-" + std::to_string(n);
  if (random.chance(0.25)) spec.name = "team.job-" + std::to_string(n);
  if (random.chance(0.3)) spec.group = random.chance(0.5) ? "red" : "blue";
  if (random.chance(0.3))
    spec.priority = random.chance(0.5) ? 100 : static_cast<std::int32_t>(random.between(-5, 5));
  job.submit =
      random.chance(0.3)
          ? Instant::zero()
          : Instant::zero() + ms(random, 0, (calm_from - Instant::zero()).ns / 1'000'000 * 7 / 10);
  const std::size_t roles = random.chance(0.6) ? 1 : static_cast<std::size_t>(random.between(2, 3));
  for (std::size_t r = 0; r < roles; ++r) spec.roles.push_back(plan_role(random, scenario, r));
  if (random.chance(0.2))
    spec.roles.push_back(
        plan_master(spec, RoleIndex{static_cast<std::uint16_t>(random.below(roles))}));
  spec.preemptible = random.chance(0.6);
  spec.rescale = random.chance(0.5) ? RescaleMode::InPlace : RescaleMode::Restart;
  spec.recovery = static_cast<RecoveryScope>(random.below(3));
  spec.clean_pods = random.chance(0.8) ? CleanPodPolicy::Running : CleanPodPolicy::All;
  make_feasible(scenario, spec);
  plan_failover(random, spec.failover.edit());
  plan_times(random, spec);
  plan_work(random, job);
  plan_scripts(random, job);
  if (random.chance(0.1)) {
    job.ready_after = ms(random, 0, 30'000);
    // With a reset window a worker that is never ready in time would start for ever.
    spec.start_deadline = std::max(spec.start_deadline, Duration::seconds(60));
  }
  return job;
}

// Wide enough for each job alone.
void plan_quotas(Random& random, Scenario& scenario) {
  if (!random.chance(0.3)) return;
  for (const std::string scope : {"group/red", "group/blue", "namespace/team"}) {
    if (random.chance(0.4)) continue;
    std::int32_t least = 0;
    for (const ScenarioJob& job : scenario.jobs) least = std::max(least, devices_at_most(job.spec));
    scenario.quotas.push_back({scope, least + static_cast<std::int32_t>(random.between(0, 8))});
  }
}

void plan_requests(Random& random, Instant calm_from, Scenario& scenario) {
  const std::uint64_t requests = random.chance(0.5) ? 0 : random.between(1, 8);
  for (std::uint64_t i = 0; i < requests; ++i) {
    const ScenarioJob& job = scenario.jobs[random.below(scenario.jobs.size())];
    scenarios::TimedRequest request;
    request.job = job.spec.name;
    request.at = Instant::zero() + ms(random, 0, (calm_from - Instant::zero()).ns / 1'000'000);
    if (!random.chance(0.12)) {
      const RoleSpec& role = job.spec.roles[random.below(job.spec.roles.size())];
      request.scale.emplace();
      request.scale->role = role.name;
      request.scale->mode =
          static_cast<ScaleMode>(random.below(EnumNames<ScaleMode>::kNames.size()));
      // A fixed role may be made as large as one likes, which may never fit.
      if (request.scale->mode == ScaleMode::Add && !role.is_elastic())
        request.scale->mode = ScaleMode::Remove;
      request.scale->replicas =
          static_cast<std::int32_t>(request.scale->mode == ScaleMode::Set
                                        ? random.between(role.min_replicas, role.max_replicas)
                                        : random.between(1, 3));
      if (request.scale->mode == ScaleMode::Clear) request.scale->replicas = 0;
    }
    scenario.requests.push_back(request);
  }
}

}  // namespace

std::int32_t devices_at_most(const JobSpec& spec) {
  std::int32_t devices = 0;
  for (const RoleSpec& role : spec.roles) devices += role.max_replicas * role.bundle.devices;
  return devices;
}

// Every replica is taken to be as large as the largest in each respect, so that no order of placing
// them can fail.
bool fits_alone(const Scenario& scenario,
                const JobSpec& spec,
                const std::vector<std::int32_t>& counts,
                const std::set<NodeId>& excluded) {
  Bundle largest;
  largest.share = Share{1};
  std::int32_t replicas = 0;
  for (std::size_t r = 0; r < spec.roles.size(); ++r) {
    const Bundle& bundle = spec.roles[r].bundle;
    largest.cpu = std::max(largest.cpu, bundle.cpu);
    largest.memory = std::max(largest.memory, bundle.memory);
    largest.devices = std::max(largest.devices, bundle.devices);
    if (bundle.devices > 0) largest.share = std::max(largest.share, bundle.share);
    replicas += counts[r];
    if (bundle.device_model.empty()) continue;
    if (!largest.device_model.empty() && largest.device_model != bundle.device_model) return false;
    largest.device_model = bundle.device_model;
  }
  std::vector<Free> nodes = empty_nodes(scenario, excluded);
  for (Free& node : nodes)
    while (replicas > 0 && take(node, largest)) --replicas;
  return replicas == 0;
}

void plan_jobs(Random& random, Instant calm_from, Scenario& scenario) {
  const auto jobs = static_cast<std::size_t>(random.between(2, 14));
  for (std::size_t n = 0; n < jobs; ++n)
    scenario.jobs.push_back(plan_job(random, calm_from, scenario, n));
  std::stable_sort(scenario.jobs.begin(),
                   scenario.jobs.end(),
                   [](const ScenarioJob& a, const ScenarioJob& b) { return a.submit < b.submit; });
  plan_quotas(random, scenario);
  plan_requests(random, calm_from, scenario);
  plan_seats(random, scenario);
}

void plan_changes(Random random, Instant calm_from, Scenario& scenario) {
  if (!random.chance(0.2)) return;
  for (std::uint64_t left = random.between(1, 5); left > 0; --left) {
    const ScenarioJob& job = scenario.jobs[random.below(scenario.jobs.size())];
    scenarios::TimedRequest request;
    request.job = job.spec.name;
    request.at = Instant::zero() + ms(random, 0, (calm_from - Instant::zero()).ns / 1'000'000);
    if (random.chance(0.15)) {
      request.forgets = true;
    } else {
      request.change.emplace();
      if (random.chance(0.5))
        request.change->priority = static_cast<std::int32_t>(random.between(-5, 5));
      if (random.chance(0.3)) request.change->run_deadline = ms(random, 30'000, 900'000);
      if (random.chance(0.2)) request.change->wait_deadline = ms(random, 30'000, 600'000);
      if (random.chance(0.2))
        request.change->backoff_limit = static_cast<std::int32_t>(random.between(0, 12));
      if (!request.change->run_deadline && !request.change->wait_deadline)
        request.change->priority = 1;
    }
    scenario.requests.push_back(request);
  }
}

void plan_replicas(Random random, Instant calm_from, Scenario& scenario) {
  if (!random.chance(0.1)) return;
  for (std::uint64_t left = random.between(1, 4); left > 0; --left) {
    const ScenarioJob& job = scenario.jobs[random.below(scenario.jobs.size())];
    const std::size_t r = random.below(job.spec.roles.size());
    scenarios::ReplicasChange bounds{job.spec.roles[r].name};
    bounds.min = static_cast<std::int32_t>(random.between(1, 4));
    bounds.max = bounds.min;
    if (random.chance(0.5)) bounds.max += static_cast<std::int32_t>(random.between(1, 4));
    const Instant at =
        Instant::zero() + ms(random, 0, (calm_from - Instant::zero()).ns / 1'000'000);
    // Seats are for the replicas that they were given to.
    if (is_seated(job.spec) || !job.spec.roles[r].master_of.is_none()) continue;
    std::vector<std::int32_t> most;
    for (const RoleSpec& role : job.spec.roles) most.push_back(role.max_replicas);
    most[r] = bounds.max;
    if (!fits_alone(scenario, job.spec, most)) continue;
    scenarios::TimedRequest request;
    request.at = at;
    request.job = job.spec.name;
    request.change.emplace().replicas = std::move(bounds);
    scenario.requests.push_back(std::move(request));
  }
}

void plan_profilings(Random random, Instant calm_from, Scenario& scenario) {
  if (!random.chance(0.1)) return;
  for (std::uint64_t left = random.between(5, 60); left > 0; --left) {
    const ScenarioJob& job = scenario.jobs[random.below(scenario.jobs.size())];
    std::int32_t workers = 0;
    for (const RoleSpec& role : job.spec.roles) workers += role.min_replicas;
    scenarios::TimedProfiling profiling;
    profiling.job = job.spec.name;
    profiling.at = Instant::zero() + ms(random, 0, (calm_from - Instant::zero()).ns / 1'000'000);
    profiling.rank =
        static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(std::max(workers, 1))));
    const auto rate = static_cast<double>(random.between(1, 400)) / 4;
    profiling.values.push_back({random.chance(0.8) ? "throughput" : "progress", rate});
    if (random.chance(0.3)) profiling.values.push_back({"batch_size", 32});
    scenario.profilings.push_back(std::move(profiling));
  }
}

}  // namespace orrery::sim
