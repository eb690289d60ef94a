#include "sim/model/worker_speeds.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/suspicion.hpp"

namespace orrery::sim {

double WorkerSpeeds::slowness(const ModelWorker& worker) const {
  return std::max(worker.slow, cluster_.nodes[worker.node].slow);
}

double WorkerSpeeds::factor(LiveJob& job) {
  return device_speed(job) * (job.hampered ? hampered_factor(job) : 1);
}

// A step takes as long as its slowest member; nothing goes on where a worker hangs or the failover
// of a role is under way.
double WorkerSpeeds::hampered_factor(LiveJob& job) {
  bool any = false;
  bool stands = false;
  double slowest = 1;
  for (const LedRole& led : job.led) stands = stands || !led.started;
  for (const ModelWorker& worker : job.workers) {
    if (!worker.alive) continue;
    const double slow = slowness(worker);
    any = any || worker.hung || slow > 1;
    if (!job.counts(worker) || job.is_master(worker)) continue;
    stands = stands || worker.hung;
    slowest = std::max(slowest, slow);
  }
  job.hampered = any || !job.led.empty();
  if (job.hampered) look_for_stragglers(job);
  return stands ? 0 : 1 / slowest;
}

double WorkerSpeeds::measured(const LiveJob& job) const {
  const JobSpec& spec = *job.job.spec;
  const RoleIndex elastic = elastic_role(spec);
  std::int32_t devices = 0;
  std::vector<NodeId> nodes;
  for (const ModelWorker& worker : job.workers) {
    if (worker.role != elastic || worker.stopping) continue;
    devices += spec.roles[elastic.index()].bundle.devices;
    if (nodes.empty() || nodes.back() != worker.node) nodes.push_back(worker.node);
  }
  const bool apart = nodes.size() > 1;
  double slowest = 0;
  for (const NodeId node : nodes) {
    const std::string& model = cluster_.nodes.device_model(node);
    std::optional<double> speed;
    if (apart)
      speed = job.job.speeds->steps_per_second(model + "_unconsolidated", *spec.profile, devices);
    if (!speed) speed = job.job.speeds->steps_per_second(model, *spec.profile, devices);
    if (!speed) return 0;
    slowest = slowest > 0 ? std::min(slowest, *speed) : *speed;
  }
  return slowest;
}

// Of the elastic role: a step takes as long as on the slowest device.
double WorkerSpeeds::device_speed(const LiveJob& job) const {
  if (job.job.speeds != nullptr) {
    const double usual = scenarios::rate_of(job.job.work, job.ready_elastic());
    return usual > 0 ? measured(job) / usual : 0;
  }
  if (!cluster_.nodes.speeds_differ() || !job.job.work.follows_model) return 1;
  const RoleIndex elastic = elastic_role(*job.job.spec);
  double slowest = 0;
  for (const ModelWorker& worker : job.workers) {
    if (worker.role != elastic || !job.counts(worker) || worker.devices == 0) continue;
    const double speed = cluster_.nodes[worker.node].speed;
    slowest = slowest > 0 ? std::min(slowest, speed) : speed;
  }
  return slowest > 0 ? slowest : 1;
}

void WorkerSpeeds::suspect(const LiveJob& job, const ModelWorker& worker, Suspicion suspicion) {
  if (cluster_.nodes[worker.node].mute) return;
  cluster_.listener.on_suspected(
      worker.node,
      WorkerSuspected{job.id, worker.born, worker.incarnation, worker.birth_rank, suspicion});
}

// Compares the step times of each role as the leader's session would; each is told once.
void WorkerSpeeds::look_for_stragglers(LiveJob& job) {
  const double factor = job.job.spec->failover->straggler_factor;
  if (factor <= 0) return;
  std::vector<RankStepTime> times;
  std::vector<ModelWorker*> peers;
  for (std::size_t r = 0; r < job.job.spec->roles.size(); ++r) {
    times.clear();
    peers.clear();
    for (ModelWorker& worker : job.workers) {
      if (worker.role.index() != r || worker.hung || !job.counts(worker)) continue;
      times.push_back({worker.rank, slowness(worker)});
      peers.push_back(&worker);
    }
    for (const std::size_t i : stragglers(times, factor)) {
      if (std::exchange(peers[i]->told_slow, true)) continue;
      suspect(job, *peers[i], Suspicion::Straggling);
    }
  }
}

}  // namespace orrery::sim
