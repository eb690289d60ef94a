#include "sim/model/worker_scripts.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {
namespace {

// Where the number of the script begins in the detail of a future; below is the worker's rank.
constexpr std::uint32_t kScriptShift = 20;

// Where the lives of the worker begin in those of its job; it may have none there.
std::size_t first_life_of(const LiveJob& job, const ModelWorker& worker) {
  const auto first = std::ranges::lower_bound(
      *job.job.lives, std::pair(worker.role, worker.local_rank), {}, [](const WorkerLife& life) {
        return std::pair(life.role, life.local_rank);
      });
  return static_cast<std::size_t>(first - job.job.lives->begin());
}

bool is_of(const WorkerLife& life, const ModelWorker& worker) {
  return life.role == worker.role && life.local_rank == worker.local_rank;
}

// How the life of the worker ends of which `ahead` is the number, counted from its next one; null
// where nothing is told of that.
const WorkerLife* life_of(const LiveJob& job, const ModelWorker& worker, std::int32_t ahead) {
  const std::vector<WorkerLife>& lives = *job.job.lives;
  const std::size_t first = first_life_of(job, worker);
  if (first == lives.size() || !is_of(lives[first], worker)) return nullptr;
  const std::int32_t number = job.script_lives[first] + ahead;
  for (std::size_t i = first; i < lives.size() && is_of(lives[i], worker); ++i)
    if (lives[i].number >= number) return lives[i].number == number ? &lives[i] : nullptr;
  return nullptr;
}

// The worker has come up, or ended before.
void count_life(LiveJob& job, const ModelWorker& worker) {
  const std::size_t first = first_life_of(job, worker);
  if (first < job.script_lives.size() && is_of((*job.job.lives)[first], worker))
    ++job.script_lives[first];
}

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

WorkerScripts::Launch WorkerScripts::launch(LiveJob& job, const ModelWorker& worker) {
  if (!job.job.lives->empty()) return launch_of_life(job, worker);
  if (job.job.scripts->empty()) return Launch::Up;
  if (refuses(job, worker)) return Launch::Refused;
  if (finds_port_in_use(job, worker)) return Launch::PortInUse;
  return cannot_start(job, worker) ? Launch::NoProgram : Launch::Up;
}

WorkerScripts::Launch WorkerScripts::launch_of_life(LiveJob& job, const ModelWorker& worker) {
  const WorkerLife* life = life_of(job, worker, 0);
  const bool refused = life != nullptr && !life->came_up;
  if (refused && life->fact != WorkerFact::LaunchFailed) return Launch::EndsYet;
  count_life(job, worker);
  if (!refused) return Launch::Up;
  if (life->exit_code == kPortInUse && worker.first_port != 0) return Launch::PortInUse;
  const bool for_good = life->exit_code == kCannotRun || life->exit_code == kNotFound;
  return for_good ? Launch::NoProgram : Launch::Refused;
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

void WorkerScripts::schedule_early_end(const LiveJob& job, const ModelWorker& worker) {
  const WorkerLife* life = life_of(job, worker, 0);
  // Who is refused hears so when the others come up.
  if (life == nullptr || life->came_up || life->fact == WorkerFact::LaunchFailed) return;
  cluster_.future.push(cluster_.now + life->after,
                       FutureKind::Script,
                       job.id.value,
                       worker.incarnation.value,
                       worker.birth_rank.value);
}

void WorkerScripts::schedule_exit(LiveJob& job, const ModelWorker& worker) {
  if (!job.job.lives->empty()) {
    if (const WorkerLife* life = life_of(job, worker, -1); life != nullptr)
      cluster_.future.push(cluster_.now + life->after,
                           FutureKind::Script,
                           job.id.value,
                           worker.incarnation.value,
                           worker.birth_rank.value);
    return;
  }
  const std::size_t s = use(job, worker, scenarios::ScriptKind::Exit);
  if (s == job.job.scripts->size()) return;
  cluster_.future.push(cluster_.now + (*job.job.scripts)[s].after,
                       FutureKind::Script,
                       job.id.value,
                       worker.incarnation.value,
                       static_cast<std::uint32_t>(s << kScriptShift) | worker.birth_rank.value);
}

WorkerScripts::Exit WorkerScripts::exit_of(LiveJob& job, const Future& future) {
  ModelWorker* worker =
      job.find(Incarnation{future.stamp}, Rank{future.detail & ((1u << kScriptShift) - 1)});
  if (worker == nullptr || !worker->alive || worker->stopping) return {};
  if (!job.job.lives->empty()) {
    const WorkerLife* life = life_of(job, *worker, worker->ready ? -1 : 0);
    if (life == nullptr || life->came_up != worker->ready) return {};
    if (!worker->ready) count_life(job, *worker);
    return {worker, life->fact, life->exit_code, life->diagnosis};
  }
  const scenarios::WorkerScript& script = (*job.job.scripts)[future.detail >> kScriptShift];
  return {worker, WorkerFact::Exited, script.exit_code, diagnosis_of(job, script.blames)};
}

}  // namespace orrery::sim
