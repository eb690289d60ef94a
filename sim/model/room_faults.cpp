// What goes wrong with workers, and the stories that scenarios tell of them.

#include <algorithm>

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
  switch (fault.kind) {
    case scenarios::FaultKind::Down:
      for (const NodeId node : fault.nodes) node_down(node, fault.lasting);
      return;
    case scenarios::FaultKind::Up:
      for (const NodeId node : fault.nodes) node_up(node);
      return;
    case scenarios::FaultKind::Crash:
    case scenarios::FaultKind::Delete:
      return worker_fault(fault);
    default:
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
  const bool crash = fault.kind == scenarios::FaultKind::Crash;
  end_worker(*job, *worker, crash ? WorkerFact::Exited : WorkerFact::Lost, fault.exit_code);
}

}  // namespace orrery::sim
