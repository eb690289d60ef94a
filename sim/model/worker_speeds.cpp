#include "sim/model/worker_speeds.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/suspicion.hpp"

namespace orrery::sim {
namespace {

// Of what each of two jobs on the same devices would do alone, where nothing was measured: the
// devices are theirs in turn.
constexpr double kBesideUnknown = 0.5;

}  // namespace

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
  for (ModelWorker& worker : job.workers) {
    if (!worker.alive) continue;
    const double slow = slowness(worker);
    worker.was_slow = worker.was_slow || slow > 1;
    any = any || worker.hung || slow > 1;
    if (!job.counts(worker) || job.is_master(worker)) continue;
    stands = stands || worker.hung;
    slowest = std::max(slowest, slow);
  }
  job.hampered = any || !job.led.empty();
  if (job.hampered) look_for_stragglers(job);
  return stands ? 0 : 1 / slowest;
}

std::optional<double> WorkerSpeeds::measured_on(const LiveJob& job,
                                                const LiveJob* partner,
                                                const std::string& model,
                                                std::int32_t devices) const {
  const DeviceSpeeds& table = *job.job.speeds;
  const std::string& kind = *job.job.spec->profile;
  if (partner != nullptr)
    if (const auto pair = table.beside(model, kind, *partner->job.spec->profile, devices))
      return pair->first;
  const std::optional<double> alone = table.steps_per_second(model, kind, devices);
  if (partner == nullptr || !alone) return alone;
  return *alone * kBesideUnknown;
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
  const LiveJob* const partner = cluster_.jobs.partner_of(job);
  const bool apart = nodes.size() > 1;
  double slowest = 0;
  for (const NodeId node : nodes) {
    const std::string& model = cluster_.nodes.device_model(node);
    std::optional<double> speed;
    if (apart) speed = measured_on(job, partner, model + "_unconsolidated", devices);
    if (!speed) speed = measured_on(job, partner, model, devices);
    if (!speed || *speed <= 0) return 0;
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
  const double part = cluster_.jobs.partner_of(job) == nullptr ? 1 : kBesideUnknown;
  if (!cluster_.nodes.speeds_differ() || !job.job.work.follows_model) return part;
  const RoleIndex elastic = elastic_role(*job.job.spec);
  double slowest = 0;
  for (const ModelWorker& worker : job.workers) {
    if (worker.role != elastic || !job.counts(worker) || worker.devices == 0) continue;
    const double speed = cluster_.nodes[worker.node].speed;
    slowest = slowest > 0 ? std::min(slowest, speed) : speed;
  }
  return (slowest > 0 ? slowest : 1) * part;
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
