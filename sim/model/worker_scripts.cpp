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
  return {worker, script.exit_code};
}

}  // namespace orrery::sim
