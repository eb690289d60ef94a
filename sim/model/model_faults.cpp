// What goes wrong in the model world: nodes, workers, and the stories that scenarios tell of them.

#include <algorithm>

#include "core/base/math.hpp"
#include "sim/model/model_world.hpp"

namespace orrery::sim {
namespace {

// Gamma for arguments from 1 on, by Lanczos' approximation (g = 7, 9 terms; Numerical Recipes 6.1):
// relative error below 1e-13, from the core's own functions so that every processor agrees.
double gamma_from_one(double x) {
  static constexpr double kTerms[] = {0.99999999999980993,
                                      676.5203681218851,
                                      -1259.1392167224028,
                                      771.32342877765313,
                                      -176.61502916214059,
                                      12.507343278686905,
                                      -0.13857109526572012,
                                      9.9843695780195716e-6,
                                      1.5056327351493116e-7};
  x -= 1;
  double sum = kTerms[0];
  for (int i = 1; i < 9; ++i) sum += kTerms[i] / (x + i);
  const double t = x + 7.5;
  return 2.5066282746310002 * math::exp((x + 0.5) * math::log(t) - t) * sum;
}

}  // namespace

ModelWorker* ModelWorld::find(LiveJob& job, const scenarios::WorkerRef& ref) {
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    ModelWorker& worker = job.workers[i];
    if (!worker.alive || worker.stopping) continue;
    const bool meant = ref.role.empty()
                           ? worker.birth_rank.value == static_cast<std::uint32_t>(ref.index)
                           : job.job.spec->roles[worker.role.index()].name == ref.role &&
                                 worker.local_rank == ref.index;
    if (meant) return &worker;
  }
  return nullptr;
}

bool ModelWorld::script_is_of(const LiveJob& job,
                              const scenarios::WorkerScript& script,
                              const ModelWorker& worker) const {
  if (script.worker.role.empty())
    return worker.birth_rank.value == static_cast<std::uint32_t>(script.worker.index);
  return job.job.spec->roles[worker.role.index()].name == script.worker.role &&
         worker.local_rank == script.worker.index;
}

bool ModelWorld::is_refused(LiveJob& job, const ModelWorker& worker) {
  for (std::size_t s = 0; s < job.job.scripts.size(); ++s) {
    const scenarios::WorkerScript& script = job.job.scripts[s];
    if (script.kind != scenarios::ScriptKind::Refuse || job.script_lives[s] >= script.times ||
        !script_is_of(job, script, worker))
      continue;
    ++job.script_lives[s];
    return true;
  }
  return false;
}

void ModelWorld::schedule_scripts(LiveJob& job, const ModelWorker& worker) {
  for (std::size_t s = 0; s < job.job.scripts.size(); ++s) {
    const scenarios::WorkerScript& script = job.job.scripts[s];
    if (script.kind != scenarios::ScriptKind::Exit || job.script_lives[s] >= script.times ||
        !script_is_of(job, script, worker))
      continue;
    ++job.script_lives[s];
    future_.push(now_ + script.after,
                 FutureKind::Script,
                 job.id.value,
                 worker.incarnation.value,
                 static_cast<std::uint32_t>(s << 20) | worker.birth_rank.value);
    return;
  }
}

// A worker's own story ends it, if it is still that worker.
void ModelWorld::strike(LiveJob& job, const Future& future) {
  const scenarios::WorkerScript& script = job.job.scripts[future.detail >> 20];
  ModelWorker* worker =
      find(job, Incarnation{future.stamp}, Rank{future.detail & ((1u << 20) - 1)});
  if (worker == nullptr || !worker->alive || worker->stopping) return;
  end_worker(job, *worker, WorkerFact::Exited, script.exit_code);
}

// One worker ends by itself or is taken away; what that does to the job's work.
void ModelWorld::end_worker(LiveJob& job,
                            const ModelWorker& worker,
                            WorkerFact fact,
                            std::int32_t exit_code) {
  const ModelWorker gone = worker;
  const bool clean = fact == WorkerFact::Exited && exit_code == 0;
  if (clean) {
    settle_progress(job);
    --job.world_size;
  } else {
    lose_progress(job);
    if (job.job.spec->recovery != RecoveryScope::Worker) job.running = false;
  }
  report(job, {gone}, fact, exit_code, now_);
  remove(job, gone);
  pace(job, false);
}

void ModelWorld::fault(const scenarios::Fault& fault) {
  switch (fault.kind) {
    case scenarios::FaultKind::Down:
      for (const NodeId node : fault.nodes) node_down(node, fault.lasting);
      return;
    case scenarios::FaultKind::Up:
      for (const NodeId node : fault.nodes) node_up(node);
      return;
    case scenarios::FaultKind::Crash:
    case scenarios::FaultKind::Delete: {
      if (!fault.nodes.empty()) break;
      const JobId id = job_named(fault.job);
      LiveJob* job = id.is_none() ? nullptr : live(id);
      ModelWorker* worker = job == nullptr ? nullptr : find(*job, fault.worker);
      if (worker == nullptr) {
        troubles_.push_back("fault at " + std::to_string(now_.in_seconds()) + " s: " + fault.job +
                            " has no such worker then; nothing was done");
        return;
      }
      const bool crash = fault.kind == scenarios::FaultKind::Crash;
      return end_worker(
          *job, *worker, crash ? WorkerFact::Exited : WorkerFact::Lost, fault.exit_code);
    }
    default:
      break;
  }
  troubles_.push_back("fault at " + std::to_string(now_.in_seconds()) + " s: this world does not " +
                      "model such a " + std::string(to_string(fault.kind)) + "; nothing was done");
}

// --- nodes ---

void ModelWorld::next_random_fault(NodeId node) {
  for (std::size_t p = 0; p < scenario_.fault_processes.size(); ++p) {
    const scenarios::FaultProcess& process = scenario_.fault_processes[p];
    Random& random = node_faults_[p * down_.size() + node.index()];
    const double mean_s = 1000.0 * 86400.0 / process.rate_per_1000_node_days;
    const double wait_s =
        process.law == scenarios::FaultLaw::Exponential
            ? random.exponential(mean_s)
            : random.weibull(process.shape, mean_s / gamma_from_one(1 + 1 / process.shape));
    future_.push(now_ + Duration::from_seconds(wait_s),
                 FutureKind::NodeDown,
                 node.value,
                 0,
                 static_cast<std::uint32_t>(p));
  }
}

void ModelWorld::random_fault(NodeId node, std::uint32_t process_index) {
  const scenarios::FaultProcess& process = scenario_.fault_processes[process_index];
  Random& random = node_faults_[process_index * down_.size() + node.index()];
  const double median_s = process.repair_median.in_seconds();
  const double repair_s = random.lognormal(math::log(median_s), process.repair_sigma);
  node_down(node, Duration::from_seconds(repair_s));
}

// The node dies with all it runs; the controller notices when its lease runs out.
void ModelWorld::node_down(NodeId node, Duration lasting) {
  if (down_[node.index()] != 0) return;
  down_[node.index()] = 1;
  ++nodes_down_;
  const std::vector<JobId> placed = placed_;
  for (const JobId id : placed) {
    LiveJob& job = *live(id);
    bool hit = false;
    for (ModelWorker& worker : job.workers) {
      if (worker.node != node || !worker.alive) continue;
      worker.alive = false;
      worker.ready = false;
      hit = true;
    }
    if (!hit || job.pollux) continue;
    lose_progress(job);
    if (job.job.spec->recovery != RecoveryScope::Worker) job.running = false;
    pace(job, false);
  }
  silent_at_[node.index()] = now_ + scenario_.settings.node_lease;
  future_.push(silent_at_[node.index()], FutureKind::Silence, node.value);
  if (!lasting.is_forever()) future_.push(now_ + lasting, FutureKind::NodeUp, node.value);
}

void ModelWorld::forget_dead(NodeId node) {
  const std::vector<JobId> placed = placed_;
  for (const JobId id : placed) {
    LiveJob& job = *live(id);
    std::erase_if(job.workers, [&](const ModelWorker& w) { return w.node == node && !w.alive; });
    if (job.workers.empty()) unplace(job);
    drop_if_over(job);
  }
}

void ModelWorld::notice_silence(NodeId node) {
  if (down_[node.index()] == 0 || now_ < silent_at_[node.index()]) return;
  forget_dead(node);
  emit_at(Origin::External, now_ - scenario_.settings.node_lease, NodeSilent{node});
}

void ModelWorld::node_up(NodeId node) {
  if (down_[node.index()] == 0) return;
  --nodes_down_;
  down_[node.index()] = 0;
  // Within its lease or after: either way it comes with an empty list, and what ran there is lost.
  forget_dead(node);
  emit(Origin::External, NodeReturned{node, {}});
  next_random_fault(node);
}

}  // namespace orrery::sim
