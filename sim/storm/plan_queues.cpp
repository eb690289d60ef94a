#include "sim/storm/plan_queues.hpp"

#include <algorithm>
#include <string>

#include "core/queues/queue_text.hpp"
#include "sim/storm/plan_jobs.hpp"

namespace orrery::sim {
namespace {

QueueAmount devices_of(std::int64_t devices) { return {devices * 1000, false}; }

// Wide enough for the widest job, whatever users make of it.
std::optional<QueueAmount> some_limit(Random& random, std::int64_t widest) {
  if (!random.chance(0.4)) return std::nullopt;
  return devices_of(2 * widest + random.between(0, 8));
}

}  // namespace

void plan_queues(Random random, scenarios::Scenario& scenario) {
  if (!random.chance(0.2)) return;
  std::int64_t widest = 1;
  for (const scenarios::ScenarioJob& job : scenario.jobs)
    widest = std::max<std::int64_t>(widest, devices_at_most(job.spec));
  std::int64_t devices = 0;
  for (const NodeGroup& group : scenario.groups)
    devices += std::int64_t{group.count - group.spares} * group.devices;
  QueuesSpec spec;
  spec.period = Duration::seconds(random.between(5, 30));
  spec.patience = Duration::seconds(random.between(20, 120));
  if (random.chance(0.4)) spec.half_life = Duration::seconds(random.between(60, 900));
  spec.cpu = random.chance(0.2);
  // Nodes may be gone for good; what is guaranteed stays small.
  std::int64_t to_guarantee = std::max<std::int64_t>(0, devices - 2 * widest) / 2;
  const bool nested = random.chance(0.5);
  if (nested) {
    QueueSpec above;
    above.name = "colours";
    above.limit = some_limit(random, widest);
    spec.queues.push_back(above);
  }
  for (const char* name : {"red", "blue", "default"}) {
    QueueSpec queue;
    queue.name = name;
    if (nested && queue.name != "default") queue.parent = "colours";
    queue.weight = random.between(random.chance(0.1) ? 0 : 1, 4);
    queue.priority = random.chance(0.2) ? 1 : 0;
    queue.limit = some_limit(random, widest);
    queue.user_limit = some_limit(random, widest);
    queue.reclaim = random.chance(0.8);
    if (to_guarantee > 0 && random.chance(0.3) && !nested) {
      const std::int64_t part = random.between(1, to_guarantee);
      queue.guarantee = devices_of(part);
      to_guarantee -= part;
      if (queue.limit) queue.limit = devices_of(2 * widest + part);
    }
    spec.queues.push_back(std::move(queue));
  }
  if (!check_queues(spec, std::nullopt).empty()) return;
  scenario.policy.parameters.push_back({std::string(kQueuesParameter), queues_text(spec), {}});
}

}  // namespace orrery::sim
