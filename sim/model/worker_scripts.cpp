#include "sim/model/worker_scripts.hpp"

namespace orrery::sim {
namespace {

// Where the number of the script begins in the detail of a future; below is the worker's rank.
constexpr std::uint32_t kScriptShift = 20;

}  // namespace

bool is_named(const LiveJob& job, const scenarios::WorkerRef& ref, const ModelWorker& worker) {
  if (ref.role.empty()) return worker.birth_rank.value == static_cast<std::uint32_t>(ref.index);
  return job.job.spec->roles[worker.role.index()].name == ref.role &&
         worker.local_rank == ref.index;
}

Diagnosis diagnosis_of(const LiveJob& job, const scenarios::Blamed& blamed) {
  Diagnosis out;
  if (blamed.blame == Blame::None) return out;
  out.blame = blamed.blame;
  out.message = "as its scenario says";
  if (blamed.blame != Blame::Peer) return out;
  if (blamed.peer.role.empty()) {
    const ModelWorker* newest = nullptr;
    for (const ModelWorker& worker : job.workers)
      if (is_named(job, blamed.peer, worker) &&
          (newest == nullptr || newest->incarnation < worker.incarnation))
        newest = &worker;
    if (newest == nullptr) return out;
    out.role = newest->role;
    out.rank = newest->local_rank;
    return out;
  }
  out.rank = blamed.peer.index;
  const auto& roles = job.job.spec->roles;
  for (std::size_t r = 0; r < roles.size(); ++r)
    if (roles[r].name == blamed.peer.role) out.role = RoleIndex{static_cast<std::uint16_t>(r)};
  return out;
}

std::size_t WorkerScripts::use(LiveJob& job,
                               const ModelWorker& worker,
                               scenarios::ScriptKind kind) {
  for (std::size_t s = 0; s < job.job.scripts->size(); ++s) {
    const scenarios::WorkerScript& script = (*job.job.scripts)[s];
    if (script.kind != kind || job.script_lives[s] >= script.times ||
        !is_named(job, script.worker, worker))
      continue;
    ++job.script_lives[s];
    return s;
  }
  return job.job.scripts->size();
}

bool WorkerScripts::refuses(LiveJob& job, const ModelWorker& worker) {
  return use(job, worker, scenarios::ScriptKind::Refuse) < job.job.scripts->size();
}

bool WorkerScripts::finds_port_in_use(LiveJob& job, const ModelWorker& worker) {
  return worker.first_port != 0 &&
         use(job, worker, scenarios::ScriptKind::PortInUse) < job.job.scripts->size();
}

bool WorkerScripts::cannot_start(LiveJob& job, const ModelWorker& worker) {
  for (std::size_t s = 0; s < job.job.scripts->size(); ++s) {
    const scenarios::WorkerScript& script = (*job.job.scripts)[s];
    if (job.script_lives[s] >= script.times || !is_named(job, script.worker, worker)) continue;
    if (script.kind != scenarios::ScriptKind::CannotStart) return false;
    ++job.script_lives[s];
    return true;
  }
  return false;
}

void WorkerScripts::schedule_exit(LiveJob& job, const ModelWorker& worker) {
  const std::size_t s = use(job, worker, scenarios::ScriptKind::Exit);
  if (s == job.job.scripts->size()) return;
  cluster_.future.push(cluster_.now + (*job.job.scripts)[s].after,
                       FutureKind::Script,
                       job.id.value,
                       worker.incarnation.value,
                       static_cast<std::uint32_t>(s << kScriptShift) | worker.birth_rank.value);
}

WorkerScripts::Exit WorkerScripts::exit_of(LiveJob& job, const Future& future) const {
  const scenarios::WorkerScript& script = (*job.job.scripts)[future.detail >> kScriptShift];
  ModelWorker* worker =
      job.find(Incarnation{future.stamp}, Rank{future.detail & ((1u << kScriptShift) - 1)});
  if (worker == nullptr || !worker->alive || worker->stopping) return {};
  return {worker, script.exit_code, diagnosis_of(job, script.blames)};
}

}  // namespace orrery::sim
