#include "sim/storm/plan_growth.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/job/turns.hpp"
#include "sim/storm/drawn_time.hpp"
#include "sim/storm/plan_jobs.hpp"

namespace orrery::sim {
namespace {

using scenarios::Scenario;
using scenarios::ScenarioJob;

scenarios::TimedRequest set_to(const ScenarioJob& job,
                               const RoleSpec& role,
                               std::int32_t replicas,
                               Instant at) {
  scenarios::TimedRequest request;
  request.job = job.spec.name;
  request.at = at;
  request.scale.emplace();
  request.scale->role = role.name;
  request.scale->mode = ScaleMode::Set;
  request.scale->replicas = replicas;
  return request;
}

}  // namespace

void plan_growth(Random random, Instant calm_from, Scenario& scenario) {
  if (!random.chance(0.15)) return;
  std::int32_t least = 0;
  for (const ScenarioJob& job : scenario.jobs) least = std::max(least, devices_at_most(job.spec));
  if (scenario.quotas.empty()) scenario.quotas.push_back({"namespace/default", 0});
  for (Quota& quota : scenario.quotas)
    quota.devices = least + static_cast<std::int32_t>(random.between(0, 2));
  for (const ScenarioJob& job : scenario.jobs)
    for (const RoleSpec& role : job.spec.roles) {
      if (!role.is_elastic() || random.chance(0.3)) continue;
      const Instant small = job.submit + ms(random, 0, 20'000);
      const Instant large = small + ms(random, 1'000, 120'000);
      if (large >= calm_from) continue;
      scenario.requests.push_back(set_to(job, role, role.min_replicas, small));
      scenario.requests.push_back(set_to(job, role, role.max_replicas, large));
    }
}

void plan_beside(Random random, Scenario& scenario) {
  const auto& parameters = scenario.policy.parameters;
  const bool shares =
      std::any_of(parameters.begin(), parameters.end(), [](const scenarios::Parameter& parameter) {
        return parameter.key == "beside";
      });
  if (!shares || !random.chance(0.5)) return;
  for (ScenarioJob& job : scenario.jobs) {
    JobSpec& spec = job.spec;
    if (spec.roles.size() > 1 || is_seated(spec) || spec.family != JobFamily::Native) continue;
    const JobSpec before = spec;
    spec.preemptible = true;
    RoleSpec& role = spec.roles.items()[0];
    role.bundle.devices = std::max(role.bundle.devices, 1);
    role.bundle.share = Share{};
    if (!fits_alone(scenario, spec, {role.min_replicas})) spec = before;
  }
}

}  // namespace orrery::sim
