#include "sim/storm/plan_programs.hpp"

#include "core/discovery/port_demand.hpp"
#include "core/job/turns.hpp"
#include "sim/storm/drawn_time.hpp"

namespace orrery::sim {
namespace {

using scenarios::ScenarioJob;

void plan_hello(Random& random, ScenarioJob& job) {
  job.hello_after = random.chance(0.4) ? Duration::forever() : ms(random, 0, 60'000);
  // A manifest cannot say it.
  if (random.chance(0.8) && job.spec.family == JobFamily::Native)
    job.spec.rescale = RescaleMode::Auto;
}

// A role with a command has a port.
void plan_ports(Random& random, ScenarioJob& job) {
  if (job.spec.family == JobFamily::Native)
    for (RoleSpec& role : job.spec.roles.items())
      if (role.master_of.is_none()) role.command = {"train"};
  std::int32_t workers = 0;
  for (const RoleSpec& role : job.spec.roles) workers += role.min_replicas;
  for (std::uint64_t left = random.between(1, 3); left > 0; --left) {
    scenarios::WorkerScript script;
    script.kind = scenarios::ScriptKind::PortInUse;
    script.worker.index =
        static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(workers)));
    script.times = static_cast<std::int32_t>(random.between(1, 3));
    job.workers.push_back(std::move(script));
  }
}

}  // namespace

void plan_programs(Random random, scenarios::Scenario& scenario) {
  if (!random.chance(0.2)) return;
  for (ScenarioJob& job : scenario.jobs) {
    if (random.chance(0.5)) plan_hello(random, job);
    if (random.chance(0.3)) plan_ports(random, job);
  }
}

}  // namespace orrery::sim
