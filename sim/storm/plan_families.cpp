#include "sim/storm/plan_families.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/job/turns.hpp"
#include "sim/storm/drawn_time.hpp"
#include "sim/storm/plan_jobs.hpp"

namespace orrery::sim {
namespace {

using scenarios::Scenario;
using scenarios::ScenarioJob;

// What a pod asks for: whole devices of any model, and no sub-master beside it.
void make_pods(JobSpec& spec) {
  std::erase_if(spec.roles.items(), [](const RoleSpec& role) { return !role.master_of.is_none(); });
  for (RoleSpec& role : spec.roles) {
    role.bundle.device_model.clear();
    role.bundle.share = Share{};
    role.completion = Completion::Required;
  }
}

void make_group(Random& random, JobSpec& spec) {
  spec.family = JobFamily::Group;
  spec.roles.items().resize(1);
  spec.roles[0].name = "worker";
  spec.recovery = RecoveryScope::Job;
  spec.rescale = RescaleMode::Restart;
  spec.backoff_limit = 0;
  spec.topology = static_cast<Topology>(random.below(EnumNames<Topology>::kNames.size()));
  spec.parallel_workers = static_cast<std::int32_t>(random.between(1, 3));
}

void make_tasks(Random& random, JobSpec& spec) {
  static constexpr std::array kTypes{TaskType::Learner, TaskType::Collector, TaskType::Evaluator};
  spec.family = JobFamily::Tasks;
  for (std::size_t r = 0; r < spec.roles.size(); ++r) {
    RoleSpec& role = spec.roles[r];
    role.max_replicas = role.min_replicas;
    role.type = TaskType::None;
    if (r >= kTypes.size() || random.chance(0.3)) continue;
    role.type = kTypes[r];
    role.name = to_string(role.type);
  }
  spec.recovery = RecoveryScope::Worker;
  spec.rescale = spec.preemptible ? RescaleMode::Restart : RescaleMode::InPlace;
}

// Requests and scripts name workers and roles; those that are gone have nothing to be asked.
void drop_dangling_names(Scenario& scenario, ScenarioJob& job) {
  std::int32_t workers = 0;
  for (const RoleSpec& role : job.spec.roles) workers += role.min_replicas;
  std::erase_if(job.workers, [&](const scenarios::WorkerScript& script) {
    return script.worker.index >= workers;
  });
  std::erase_if(scenario.requests, [&](const scenarios::TimedRequest& request) {
    return request.job == job.spec.name && request.scale;
  });
}

}  // namespace

void plan_families(Random random, Scenario& scenario) {
  if (!random.chance(0.4)) return;
  const double share = random.uniform(0.1, 1);
  for (ScenarioJob& job : scenario.jobs) {
    JobSpec& spec = job.spec;
    if (!random.chance(share) || is_seated(spec)) continue;
    const JobSpec before = spec;
    make_pods(spec);
    if (random.chance(0.5))
      make_group(random, spec);
    else
      make_tasks(random, spec);
    spec.priority = spec.priority > 0 ? 100 : 0;
    // A part of a device has become a whole one, for which there may be no room.
    std::vector<std::int32_t> counts;
    for (const RoleSpec& role : spec.roles)
      counts.push_back(spec.preemptible ? role.min_replicas : role.max_replicas);
    if (!fits_alone(scenario, spec, counts) || can_never_run(scenario, spec)) {
      spec = before;
      continue;
    }
    drop_dangling_names(scenario, job);
  }
}

void plan_never(Random random, Instant calm_from, Scenario& scenario) {
  if (!random.chance(0.08)) return;
  ScenarioJob job;
  JobSpec& spec = job.spec;
  spec.name = "default.never";
  job.submit =
      Instant::zero() + ms(random, 0, (calm_from - Instant::zero()).ns / 1'000'000 * 7 / 10);
  job.work.units = job.work.base_rate = 1;
  RoleSpec role;
  role.name = "learner";
  role.bundle.devices = 1;
  if (random.chance(0.5)) {
    for (const NodeGroup& group : scenario.groups)
      role.bundle.devices = std::max(role.bundle.devices, group.devices + 1);
  } else {
    role.min_replicas = role.max_replicas = 2;
    spec.group = "never";
    scenario.quotas.push_back({"group/never", 1});
  }
  spec.roles.push_back(std::move(role));
  if (random.chance(0.3)) spec.wait_deadline = ms(random, 30'000, 600'000);
  const auto behind = std::upper_bound(
      scenario.jobs.begin(), scenario.jobs.end(), job.submit, [](Instant at, const auto& other) {
        return at < other.submit;
      });
  scenario.jobs.insert(behind, std::move(job));
}

bool can_never_run(const Scenario& scenario, const JobSpec& spec) {
  std::int32_t devices = 0;
  for (const RoleSpec& role : spec.roles) {
    devices += role.bundle.share.is_whole() ? role.min_replicas * role.bundle.devices : 0;
    const bool somewhere =
        std::any_of(scenario.groups.begin(), scenario.groups.end(), [&](const NodeGroup& group) {
          return role.bundle.devices <= group.devices && role.bundle.cpu <= group.cpu &&
                 role.bundle.memory <= group.memory;
        });
    if (!somewhere) return true;
  }
  const std::string space = "namespace/" + spec.name.substr(0, spec.name.find('.'));
  return std::any_of(scenario.quotas.begin(), scenario.quotas.end(), [&](const Quota& quota) {
    return (quota.scope == space || quota.scope == "group/" + *spec.group) &&
           devices > quota.devices;
  });
}

}  // namespace orrery::sim
