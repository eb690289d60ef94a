#include "sim/model/worker_orders.hpp"

#include <algorithm>

namespace orrery::sim {
namespace {

bool is_pollux(const ClusterState& cluster) {
  return cluster.scenario.timing.mode == scenarios::TimingMode::Pollux;
}

// The worker that an order to stop names; null where the job has none.
ModelWorker* named_by(const WorkerStop& stop, LiveJob& job) {
  for (ModelWorker& worker : job.workers)
    if (worker.incarnation == stop.incarnation && worker.rank == stop.rank) return &worker;
  return nullptr;
}

}  // namespace

WorkerOrders::Found WorkerOrders::find(NodeId node, const WorkerName& name) const {
  LiveJob* job = cluster_.jobs.find(name.job);
  ModelWorker* worker = job == nullptr ? nullptr : job->find(name.incarnation, name.birth_rank);
  if (worker == nullptr || worker->node != node) return {};
  return {job, worker};
}

// --- start ---

void WorkerOrders::obey(const StartWorkers& order) {
  LiveJob* job = cluster_.jobs.find(order.job);
  if (job == nullptr) return;
  job->generation = order.generation;
  Incarnation incarnation;
  const bool says_hello = job->job.times->hello_after.has_value();
  job->workers.reserve(job->workers.size() + order.workers.size());
  for (const WorkerStart& start : order.workers) {
    const bool repeated =
        start.incarnation <= job->newest && job->find(start.incarnation, start.rank) != nullptr;
    if (repeated) continue;
    ModelWorker worker{start.role, start.local_rank, start.node, start.incarnation};
    worker.born = order.generation;
    worker.birth_rank = worker.rank = start.rank;
    worker.devices = start.devices;
    worker.share = start.share;
    worker.first_port = start.first_port;
    if (says_hello) worker.environment = order.generation;
    incarnation = start.incarnation;
    processes_.create(*job, worker);
    if (!start.beside.is_none()) cluster_.jobs.put_beside(job->id, start.beside);
  }
  job->newest = std::max(job->newest, incarnation);
  job->world_size = 0;
  for (ModelWorker& worker : job->workers) {
    worker.generation = order.generation;
    if (!worker.stopping && !job->is_master(worker)) ++job->world_size;
  }
  if (is_pollux(cluster_)) pollux_.place(*job);
  if (rounds_.runs(*job)) rounds_.place(*job);
  processes_.tell_partner(*job);
  processes_.expect_ready(*job, incarnation);
}

void WorkerOrders::act(NodeId node, const SpawnWorker& action) {
  ModelWorker worker{action.slot.role, action.slot.local_rank, node, action.worker.incarnation};
  worker.born = worker.generation = action.generation;
  worker.birth_rank = action.worker.birth_rank;
  worker.rank = action.rank;
  worker.devices = action.devices;
  worker.share = action.share;
  worker.first_port = action.first_port;
  worker.since = cluster_.now;
  LiveJob* job = cluster_.jobs.find(action.worker.job);
  if (job == nullptr || job->over)  // Nothing needs it any more.
    return cluster_.listener.on_workers(
        action.worker.job, {&worker, 1}, WorkerFact::LaunchFailed, 1, cluster_.now, {});
  if (job->find(worker.incarnation, worker.birth_rank) != nullptr) return;
  if (job->job.times->hello_after) worker.environment = action.generation;
  processes_.create(*job, worker);
  if (!action.beside.is_none()) cluster_.jobs.put_beside(job->id, action.beside);
  job->newest = std::max(job->newest, worker.incarnation);
  // A part that was done is to be done again.
  if (std::erase(job->parts_done, slot_of(worker.role, worker.local_rank)) > 0 &&
      action.generation <= job->generation)
    ++job->world_size;
  hear_of(*job, action.generation, action.world_size);
  processes_.tell_partner(*job);
  processes_.expect_ready(*job, worker.incarnation, worker.birth_rank);
  progress_.pace(*job, true);
}

// --- membership ---

void WorkerOrders::obey(const UpdateMembership& order) {
  LiveJob* job = cluster_.jobs.find(order.job);
  if (job == nullptr) return;
  std::uint32_t world_size = 0;
  std::size_t guess = 0;  // Members come by rank, workers by start: mostly the same order.
  for (const WorkerStart& member : order.members) {
    const Rank name = member.birth_rank.is_none() ? member.rank : member.birth_rank;
    ModelWorker* worker = nullptr;
    if (guess < job->workers.size() && job->workers[guess].incarnation == member.incarnation &&
        job->workers[guess].birth_rank == name)
      worker = &job->workers[guess];
    else
      worker = job->find(member.incarnation, name);
    if (worker != nullptr) {
      worker->rank = member.rank;
      worker->local_rank = member.local_rank;
      guess = static_cast<std::size_t>(worker - job->workers.data()) + 1;
    }
    const bool leads =
        job->masters > 0 && !job->job.spec->roles[member.role.index()].master_of.is_none();
    // Who is not here is about to start, or has done its part and is not waited for.
    if (!leads && (worker != nullptr || member.incarnation > job->newest)) ++world_size;
  }
  progress_.adopt(*job, order.generation, world_size);
  for (ModelWorker& worker : job->workers) worker.generation = order.generation;
  progress_.pace_anew(*job);
}

void WorkerOrders::act(NodeId node, const TellMembership& action) {
  const auto [job, worker] = find(node, action.worker);
  if (worker == nullptr || action.generation < worker->generation) return;
  worker->generation = action.generation;
  worker->rank = action.rank;
  hear_of(*job, action.generation, action.world_size);
  if (progress_.follows_artifact(*job)) processes_.place_if_whole(*job);
  // One that worked and knows the newest membership works on in it.
  else if (job->running && job->counts(*worker) && !job->is_master(*worker))
    job->forming = false;
  progress_.pace_anew(*job);
}

// A worker was told of a membership. A newer one counts from the first that hears of it.
void WorkerOrders::hear_of(LiveJob& job, Generation generation, std::uint32_t world_size) {
  if (generation <= job.generation) return;
  const auto gone = static_cast<std::uint32_t>(job.parts_done.size()) + job.masters;
  progress_.adopt(job, generation, world_size > gone ? world_size - gone : 0);
  processes_.await_placement(job);
  job.forming = true;
}

// --- stop ---

void WorkerOrders::obey(const StopWorkers& order) {
  LiveJob* job = cluster_.jobs.find(order.job);
  if (job == nullptr) return;
  progress_.settle(*job);
  const bool kills = order.grace == Duration::zero();
  const Duration takes = cluster_.times.stop(job->id, cluster_.now);
  const Duration delay = is_pollux(cluster_) ? Duration::zero() : std::min(takes, order.grace);
  bool any = false;
  bool work_is_lost = false;
  Instant late = cluster_.now;  // One that hangs ends by the kill after its grace.
  for (const WorkerStop& stop : order.workers) {
    ModelWorker* worker = named_by(stop, *job);
    if (worker == nullptr || cluster_.nodes[worker->node].mute) continue;
    const Instant ends_at = cluster_.now + (worker->hung ? order.grace : delay);
    if (worker->stopping && ends_at >= worker->ends_at) continue;
    any = true;
    work_is_lost = work_is_lost || (kills && job->counts(*worker) && !job->is_master(*worker));
    if (worker->hung) late = std::max(late, ends_at);
    worker->killed = worker->hung || takes > order.grace || (kills && !is_pollux(cluster_));
    processes_.ask_to_stop(*job, *worker, ends_at);
  }
  if (work_is_lost) progress_.lose(*job);
  processes_.after_asking(*job, !kills);
  if (!any) return;
  if (late > cluster_.now + delay) cluster_.future.push(late, FutureKind::Stopped, job->id.value);
  if (delay == Duration::zero())
    processes_.end_stopped(*job);
  else
    cluster_.future.push(cluster_.now + delay, FutureKind::Stopped, job->id.value);
}

void WorkerOrders::act(NodeId node, const SignalWorker& action) {
  const auto [job, worker] = find(node, action.worker);
  if (worker == nullptr || !worker->alive) return;
  if (action.signal == WorkerSignal::Kill) return processes_.kill(*job, *worker);
  if (worker->stopping) return;
  progress_.settle(*job);
  // One that hangs does not hear it, and ends by the kill that follows.
  const bool hears = !worker->hung;
  const Duration takes = cluster_.times.stop(job->id, cluster_.now);
  const Instant ends_at = hears ? cluster_.now + takes : Instant::never();
  processes_.ask_to_stop(*job, *worker, ends_at);
  if (hears) cluster_.future.push(ends_at, FutureKind::Stopped, job->id.value);
  processes_.after_asking(*job, true);
}

// --- sub-masters ---

void WorkerOrders::obey(const TellSubMaster& order) {
  LiveJob* job = cluster_.jobs.find(order.job);
  if (job == nullptr || cluster_.nodes[order.node].mute) return;
  for (const ModelWorker& worker : job->workers)
    if (worker.role == order.master && worker.incarnation == order.incarnation &&
        worker.node == order.node)
      return tell(*job, worker, order.role, order.incident, order.word);
}

void WorkerOrders::act(NodeId node, const PassToSubMaster& action) {
  const auto [job, worker] = find(node, action.worker);
  if (worker != nullptr) tell(*job, *worker, action.role, action.incident, action.word);
}

void WorkerOrders::tell(LiveJob& job,
                        const ModelWorker& master,
                        RoleIndex role,
                        std::uint32_t incident,
                        SubMasterOrder word) {
  if (sub_masters_.receive(job, master, role, incident, word) == SubMasters::Outcome::Dies)
    processes_.end(job, master, WorkerFact::Exited, kKilled);
}

}  // namespace orrery::sim
