// What goes wrong with workers, and the stories that scenarios tell of them.

#include <algorithm>
#include <utility>

#include "core/agent/suspicion.hpp"
#include "sim/model/machine_room.hpp"

namespace orrery::sim {

ModelWorker* MachineRoom::find(LiveJob& job, const scenarios::WorkerRef& ref) {
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

bool MachineRoom::script_is_of(const LiveJob& job,
                               const scenarios::WorkerScript& script,
                               const ModelWorker& worker) const {
  if (script.worker.role.empty())
    return worker.birth_rank.value == static_cast<std::uint32_t>(script.worker.index);
  return job.job.spec->roles[worker.role.index()].name == script.worker.role &&
         worker.local_rank == script.worker.index;
}

void MachineRoom::schedule_scripts(LiveJob& job, const ModelWorker& worker) {
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
void MachineRoom::end_by_script(LiveJob& job, const Future& future) {
  const scenarios::WorkerScript& script = job.job.scripts[future.detail >> 20];
  ModelWorker* worker = job.find(Incarnation{future.stamp}, Rank{future.detail & ((1u << 20) - 1)});
  if (worker == nullptr || !worker->alive || worker->stopping) return;
  end_worker(job, *worker, WorkerFact::Exited, script.exit_code);
}

void MachineRoom::fault(const scenarios::Fault& fault) {
  using scenarios::FaultKind;
  switch (fault.kind) {
    case FaultKind::Crash:
    case FaultKind::Delete:
    case FaultKind::Hang:
    case FaultKind::Slow:
      if (fault.nodes.empty()) return worker_fault(fault);
      return workers_of_nodes_fault(fault, std::nullopt);
    case FaultKind::Down:
    case FaultKind::Up:
    case FaultKind::DeviceLost:
    case FaultKind::PreemptionNotice:
    case FaultKind::Cordon:
    case FaultKind::Uncordon:
      for (const NodeId node : fault.nodes) node_fault(node, fault);
      return;
    case FaultKind::Bandwidth:
      slow_links(fault);
      if (scenario_.needs_agents()) listener_.on_fault(fault);
      return;
    case FaultKind::SubMasterCrash:
      armed_.push_back({fault.job, fault.worker.role, fault.arrow, fault.times});
      return;
    case FaultKind::RebootLoop:
    case FaultKind::AgentCrash:
    case FaultKind::LinkCut:
    case FaultKind::Latency:
    case FaultKind::Loss:
    case FaultKind::Duplication:
    case FaultKind::Reordering:
    case FaultKind::ControllerCrash:
    case FaultKind::SecondLeader:
    case FaultKind::ControllerPause:
    case FaultKind::StoreSlow:
    case FaultKind::StoreFail:
    case FaultKind::StoreTorn:
    case FaultKind::ClockStep:
      return listener_.on_fault(fault);
  }
}

void MachineRoom::worker_fault(const scenarios::Fault& fault) {
  const JobId id = job_named(fault.job);
  LiveJob* job = id.is_none() ? nullptr : live(id);
  ModelWorker* worker = job == nullptr ? nullptr : find(*job, fault.worker);
  if (worker == nullptr) {
    troubles_.push_back("fault at " + std::to_string(now_.in_seconds()) + " s: " + fault.job +
                        " has no such worker then; nothing was done");
    return;
  }
  hit(*job, *worker, fault);
}

// Every worker of the nodes, or the one at `pick` modulo their number.
void MachineRoom::workers_of_nodes_fault(const scenarios::Fault& fault,
                                         std::optional<std::uint32_t> pick) {
  if (!pick && fault.kind == scenarios::FaultKind::Slow) {
    for (const NodeId node : fault.nodes) slow_node(node, fault);
    return;
  }

  struct Victim {
    JobId job;
    Incarnation incarnation;
    Rank birth_rank;
  };

  std::vector<Victim> victims;
  for (const JobId id : placed_)
    for (const ModelWorker& w : live(id)->workers)
      if (w.alive && !w.stopping &&
          std::find(fault.nodes.begin(), fault.nodes.end(), w.node) != fault.nodes.end())
        victims.push_back({id, w.incarnation, w.birth_rank});
  if (victims.empty()) return;
  if (pick) victims = {victims[*pick % victims.size()]};
  for (const Victim& victim : victims) {
    LiveJob* job = live(victim.job);
    ModelWorker* worker =
        job == nullptr ? nullptr : job->find(victim.incarnation, victim.birth_rank);
    if (worker != nullptr && worker->alive) hit(*job, *worker, fault);
  }
}

void MachineRoom::hit(LiveJob& job, ModelWorker& worker, const scenarios::Fault& fault) {
  switch (fault.kind) {
    case scenarios::FaultKind::Crash:
      return end_worker(job, worker, WorkerFact::Exited, fault.exit_code);
    case scenarios::FaultKind::Delete:
      return end_worker(job, worker, WorkerFact::Lost, 0);
    case scenarios::FaultKind::Hang:
      return hang(job, worker, fault.lasting);
    default:
      worker.slow = std::max(worker.slow, fault.factor);
      job.hampered = true;
      if (!fault.lasting.is_forever()) push_for(FutureKind::SlowOver, fault.lasting, job, worker);
      return pace(job, true);
  }
}

void MachineRoom::push_for(FutureKind kind,
                           Duration after,
                           const LiveJob& job,
                           const ModelWorker& worker) {
  future_.push(now_ + after, kind, job.id.value, worker.incarnation.value, worker.birth_rank.value);
}

// Its process lives and does nothing, so nobody tells that the job stands still.
void MachineRoom::hang(LiveJob& job, ModelWorker& worker, Duration lasting) {
  if (worker.hung) return;
  worker.hung = true;
  worker.hung_at = now_;
  job.hampered = true;
  const Duration noticed = job.job.spec->failover.hang_after;
  if (!noticed.is_forever()) push_for(FutureKind::Suspect, noticed, job, worker);
  if (!lasting.is_forever()) push_for(FutureKind::HangOver, lasting, job, worker);
  pace(job, false);
}

void MachineRoom::hang_over(LiveJob& job, ModelWorker& worker) {
  if (!worker.hung) return;
  worker.hung = false;
  if (worker.stopping) {  // It hears only now that it was asked.
    worker.ends_at = std::min(worker.ends_at, now_ + scenario_.timing.stop);
    future_.push(worker.ends_at, FutureKind::Stopped, job.id.value);
  } else if (!worker.ready) {
    future_.push(now_,
                 FutureKind::Ready,
                 job.id.value,
                 worker.incarnation.value,
                 worker.birth_rank.value + 1);
  }
  pace(job, true);
}

void MachineRoom::suspect(LiveJob& job, ModelWorker& worker, Suspicion suspicion) {
  if (nodes_[worker.node.index()].mute) return;
  listener_.on_suspected(
      worker.node,
      WorkerSuspected{job.id, worker.born, worker.incarnation, worker.birth_rank, suspicion});
}

// What was suspected while the job did not run was not acted upon: with each readiness it is looked
// at anew.
void MachineRoom::suspect_again(LiveJob& job) {
  const Duration noticed = job.job.spec->failover.hang_after;
  for (ModelWorker& worker : job.workers) {
    worker.told_slow = false;
    if (worker.hung && worker.alive && !noticed.is_forever())
      push_for(FutureKind::Suspect, noticed, job, worker);
  }
}

double MachineRoom::slowness(const ModelWorker& worker) const {
  return std::max(worker.slow, nodes_[worker.node.index()].slow);
}

// What is left of the job's rate where workers hang or are slow, or a role is led: a step takes as
// long as its slowest member.
double MachineRoom::hamper(LiveJob& job) {
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

// How fast the devices of the job's elastic role are by their models: a step takes as long as on
// the slowest.
double MachineRoom::device_speed(const LiveJob& job) const {
  if (!speeds_differ_ || !job.job.work.follows_model) return 1;
  const RoleIndex elastic = elastic_role(*job.job.spec);
  double slowest = 0;
  for (const ModelWorker& worker : job.workers) {
    if (worker.role != elastic || !job.counts(worker) || worker.devices == 0) continue;
    const double speed = nodes_[worker.node.index()].speed;
    slowest = slowest > 0 ? std::min(slowest, speed) : speed;
  }
  return slowest > 0 ? slowest : 1;
}

// Of the rate that the job would have on the devices that its work was measured on.
double MachineRoom::pace_factor(LiveJob& job) {
  return device_speed(job) * (job.hampered ? hamper(job) : 1);
}

// Compares the step times of each role as the controller's ear would; each is told once.
void MachineRoom::look_for_stragglers(LiveJob& job) {
  const double factor = job.job.spec->failover.straggler_factor;
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
