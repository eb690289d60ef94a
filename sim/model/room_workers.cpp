// Processes in the machine room: how they start, what they are told, and how they end.

#include <algorithm>

#include "sim/model/machine_room.hpp"

namespace orrery::sim {

Duration MachineRoom::start_delay(const LiveJob& job) const {
  if (scenario_.timing.mode == scenarios::TimingMode::Pollux) return Duration::zero();
  Duration delay = job.job.ready_after.value_or(scenario_.timing.start);
  if (job.safe > 0 && !delay.is_forever()) delay += scenario_.timing.restore;
  return delay;
}

void MachineRoom::place(LiveJob& job) {
  const auto at = std::lower_bound(placed_.begin(), placed_.end(), job.id);
  if (at == placed_.end() || *at != job.id) placed_.insert(at, job.id);
}

void MachineRoom::unplace(LiveJob& job) {
  const auto at = std::lower_bound(placed_.begin(), placed_.end(), job.id);
  if (at != placed_.end() && *at == job.id) placed_.erase(at);
  drop_stages(job);
  job.running = false;
  job.led.clear();
  if (job.pollux) job.pollux->step(now_ - job.pollux->now());
  if (job.pollux && !job.pollux->placement().empty()) (void)job.pollux->reallocate({});
}

void MachineRoom::obey(const StartWorkers& order) {
  LiveJob* job = live(order.job);
  if (job == nullptr) return;
  job->generation = order.generation;
  if (job->workers.empty()) {
    job->running = false;
    place(*job);
  }
  Incarnation incarnation;
  for (const WorkerStart& start : order.workers) {
    const bool repeated =
        start.incarnation <= job->newest && job->find(start.incarnation, start.rank) != nullptr;
    if (repeated) continue;
    ModelWorker worker{start.role, start.local_rank, start.node, start.incarnation};
    worker.born = order.generation;
    worker.birth_rank = worker.rank = start.rank;
    worker.devices = start.devices;
    worker.share = start.share;
    worker.since = now_;
    const Node& node = nodes_[start.node.index()];
    worker.alive = !node.down && !node.mute;
    if (node.slow > 1) job->hampered = true;
    incarnation = start.incarnation;
    job->workers.push_back(worker);
  }
  job->newest = std::max(job->newest, incarnation);
  job->world_size = 0;
  for (ModelWorker& worker : job->workers) {
    worker.generation = order.generation;
    if (!worker.stopping && !job->is_master(worker)) ++job->world_size;
  }
  const Duration delay = start_delay(*job);
  if (scenario_.timing.mode == scenarios::TimingMode::Pollux) place_pollux(*job);
  if (!delay.is_forever())
    future_.push(now_ + delay, FutureKind::Ready, job->id.value, incarnation.value);
}

void MachineRoom::act(NodeId node, const SpawnWorker& action) {
  LiveJob* job = live(action.worker.job);
  ModelWorker worker{action.slot.role, action.slot.local_rank, node, action.worker.incarnation};
  worker.born = worker.generation = action.generation;
  worker.birth_rank = action.worker.birth_rank;
  worker.rank = action.rank;
  worker.devices = action.devices;
  worker.share = action.share;
  worker.since = now_;
  if (job == nullptr || job->over)  // Nobody needs it any more.
    return listener_.on_workers(action.worker.job, {&worker, 1}, WorkerFact::LaunchFailed, 1, now_);
  if (job->find(worker.incarnation, worker.birth_rank) != nullptr) return;
  if (job->workers.empty()) {
    job->running = false;
    place(*job);
  }
  job->newest = std::max(job->newest, worker.incarnation);
  // Whoever had done this slot's part is to do it again.
  if (std::erase(job->parts_done, slot_of(worker.role, worker.local_rank)) > 0 &&
      action.generation <= job->generation)
    ++job->world_size;
  raise(*job, action.generation, action.world_size);
  if (nodes_[node.index()].slow > 1) job->hampered = true;
  job->workers.push_back(worker);
  const Duration delay = start_delay(*job);
  if (!delay.is_forever())
    future_.push(now_ + delay,
                 FutureKind::Ready,
                 job->id.value,
                 worker.incarnation.value,
                 worker.birth_rank.value + 1);
  pace(*job, true);
}

// A worker was told of a membership. A newer one counts from the first who hears of it.
void MachineRoom::raise(LiveJob& job, Generation generation, std::uint32_t world_size) {
  if (generation <= job.generation) return;
  settle_progress(job);
  job.generation = generation;
  job.forming = true;
  const auto gone = static_cast<std::uint32_t>(job.parts_done.size()) + job.masters;
  job.world_size = world_size > gone ? world_size - gone : 0;
  if (job.running) job.paused_until = std::max(job.paused_until, now_ + scenario_.timing.rescale);
}

// Workers of one start (`detail` 0) or a single one of them are up, or are refused.
void MachineRoom::come_up(LiveJob& job, const Future& future) {
  std::vector<ModelWorker> up;
  std::vector<ModelWorker> refused;
  for (ModelWorker& worker : job.workers) {
    if (worker.incarnation.value != future.stamp || worker.ready || !worker.alive ||
        worker.stopping || worker.hung)
      continue;
    if (future.detail != 0 && worker.birth_rank.value + 1 != future.detail) continue;
    if (is_refused(job, worker)) {
      refused.push_back(worker);
    } else {
      worker.ready = true;
      up.push_back(worker);
    }
  }
  tell(job, up, WorkerFact::Ready, 0, now_);
  tell(job, refused, WorkerFact::LaunchFailed, 1, now_);
  for (const ModelWorker& worker : refused) remove(job, worker);
  for (const ModelWorker& worker : up) schedule_scripts(job, worker);
  if (job.hampered) suspect_again(job);
  pace(job, true);
}

bool MachineRoom::is_refused(LiveJob& job, const ModelWorker& worker) {
  if ((nodes_[worker.node.index()].lost_devices & worker.devices) != 0) return true;
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

void MachineRoom::obey(const UpdateMembership& order) {
  LiveJob* job = live(order.job);
  if (job == nullptr) return;
  settle_progress(*job);
  const bool repeated = order.generation == job->generation;
  job->generation = order.generation;
  job->world_size = 0;
  if (job->running && !repeated)
    job->paused_until = std::max(job->paused_until, now_ + scenario_.timing.rescale);
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
    if (!leads && (worker != nullptr || member.incarnation > job->newest)) ++job->world_size;
  }
  for (ModelWorker& worker : job->workers) worker.generation = order.generation;
  pace(*job, true);
}

void MachineRoom::act(NodeId node, const TellMembership& action) {
  LiveJob* job = live(action.worker.job);
  ModelWorker* worker =
      job == nullptr ? nullptr : job->find(action.worker.incarnation, action.worker.birth_rank);
  if (worker == nullptr || worker->node != node || action.generation < worker->generation) return;
  worker->generation = action.generation;
  worker->rank = action.rank;
  raise(*job, action.generation, action.world_size);
  // One who worked and knows the newest membership works on in it.
  if (job->running && job->counts(*worker) && !job->is_master(*worker)) job->forming = false;
  pace(*job, true);
}

// --- ends ---

// The checkpoint that a stop with grace writes first needs everybody's part.
void MachineRoom::save_before_stop(LiveJob& job) {
  const bool somebody_hangs =
      job.hampered &&
      std::any_of(job.workers.begin(), job.workers.end(), [&](const ModelWorker& w) {
        return w.hung && w.alive && !job.is_master(w);
      });
  if (!somebody_hangs) job.safe = std::max(job.safe, job.done);
}

// Some workers were told to stop: does anybody work on?
void MachineRoom::after_stop(LiveJob& job) {
  const bool all = std::all_of(job.workers.begin(), job.workers.end(), [&](const ModelWorker& w) {
    return w.stopping || !w.alive || w.generation != job.generation;
  });
  if (!all) return pace(job, true);
  // What could not be saved is lost with them.
  if (job.done > job.safe) lose_progress(job);
  drop_stages(job);
  job.running = false;
  job.led.clear();
  ++job.stamp;
  tell_progress(job, true);
}

void MachineRoom::obey(const StopWorkers& order) {
  LiveJob* job = live(order.job);
  if (job == nullptr) return;
  settle_progress(*job);
  const Duration delay = scenario_.timing.mode == scenarios::TimingMode::Pollux
                             ? Duration::zero()
                             : std::min(scenario_.timing.stop, order.grace);
  std::uint32_t batch = 0;
  bool killed = false;
  Instant late = now_;  // Who hangs ends by the kill after its grace.
  for (const WorkerStop& stop : order.workers)
    for (ModelWorker& worker : job->workers) {
      if (worker.incarnation != stop.incarnation || worker.rank != stop.rank) continue;
      if (nodes_[worker.node.index()].mute) break;
      const Instant ends_at = now_ + (worker.hung ? order.grace : delay);
      if (worker.stopping && ends_at >= worker.ends_at) break;
      killed = killed ||
               (order.grace == Duration::zero() && job->counts(worker) && !job->is_master(worker));
      worker.stopping = true;
      worker.ends_at = ends_at;
      forget_lead(*job, worker);
      if (worker.hung) late = std::max(late, ends_at);
      ++batch;
      break;
    }
  // A stop with grace writes a checkpoint first; a kill leaves the last one.
  if (order.grace > Duration::zero()) save_before_stop(*job);
  if (killed) lose_progress(*job);
  after_stop(*job);
  if (batch == 0) return;
  if (late > now_ + delay) future_.push(late, FutureKind::Stopped, job->id.value);
  if (delay == Duration::zero()) {
    stopped(*job);
  } else {
    future_.push(now_ + delay, FutureKind::Stopped, job->id.value);
  }
}

void MachineRoom::act(NodeId node, const SignalWorker& action) {
  LiveJob* job = live(action.worker.job);
  ModelWorker* worker =
      job == nullptr ? nullptr : job->find(action.worker.incarnation, action.worker.birth_rank);
  if (worker == nullptr || !worker->alive || worker->node != node) return;
  if (action.signal == WorkerSignal::Kill) {
    forget_lead(*job, *worker);
    return end_worker(*job, *worker, WorkerFact::Exited, kKilled);
  }
  if (worker->stopping) return;
  settle_progress(*job);
  worker->stopping = true;
  forget_lead(*job, *worker);
  save_before_stop(*job);
  // Who hangs does not hear it, and ends by the kill that follows.
  if (!worker->hung) {
    worker->ends_at = now_ + scenario_.timing.stop;
    future_.push(worker->ends_at, FutureKind::Stopped, job->id.value);
  }
  after_stop(*job);
}

// Whoever was told to stop, lives, and has had its time, has ended.
void MachineRoom::stopped(LiveJob& job) {
  std::vector<ModelWorker> gone;
  bool killed = false;
  for (ModelWorker& worker : job.workers) {
    if (!worker.stopping || !worker.alive || worker.ends_at > now_) continue;
    killed = killed || (worker.hung && worker.generation == job.generation);
    if (nodes_[worker.node.index()].mute)
      worker.alive = false;
    else
      gone.push_back(worker);
  }
  std::erase_if(job.workers,
                [&](const ModelWorker& w) { return w.stopping && w.alive && w.ends_at <= now_; });
  if (killed && job.running) lose_progress(job);
  tell(job, gone, WorkerFact::Exited, kAskedToStop, now_);
  if (job.workers.empty()) unplace(job);
  drop_if_over(job);
}

// One worker ends by itself or is taken away; what that does to the job's work.
void MachineRoom::end_worker(LiveJob& job,
                             const ModelWorker& worker,
                             WorkerFact fact,
                             std::int32_t exit_code) {
  const ModelWorker gone = worker;
  const bool clean = fact == WorkerFact::Exited && exit_code == 0;
  const bool works = gone.generation == job.generation && !job.is_master(gone) && !gone.stopping;
  if (works && clean) {
    settle_progress(job);
    if (job.world_size > 0) --job.world_size;
    job.parts_done.push_back(slot_of(gone.role, gone.local_rank));
  } else if (works) {
    lose_progress(job);
    if (job.job.spec->recovery != RecoveryScope::Worker) job.running = false;
    if (!armed_.empty()) die_at_report(job, gone);
  }
  if (nodes_[gone.node.index()].mute) {
    ModelWorker* dead = job.find(gone.incarnation, gone.birth_rank);
    dead->alive = dead->ready = false;
  } else {
    tell(job, {&gone, 1}, fact, exit_code, now_);
    remove(job, gone);
  }
  pace(job, false);
  drop_if_over(job);
}

void MachineRoom::tell(const LiveJob& job,
                       std::span<const ModelWorker> workers,
                       WorkerFact fact,
                       std::int32_t exit_code,
                       Instant occurred_at) {
  if (!workers.empty()) listener_.on_workers(job.id, workers, fact, exit_code, occurred_at);
}

void MachineRoom::remove(LiveJob& job, const ModelWorker& worker) {
  std::erase_if(job.workers, [&](const ModelWorker& w) {
    return w.incarnation == worker.incarnation && w.birth_rank == worker.birth_rank;
  });
  if (job.workers.empty()) unplace(job);
}

void MachineRoom::obey(const CleanJob& order) {
  LiveJob* job = live(order.job);
  if (job == nullptr) return;
  job->over = true;
  drop_if_over(*job);
}

// Followers may outlive the job where its clean-pod policy keeps them; they end at once here.
void MachineRoom::drop_if_over(LiveJob& job) {
  if (!job.over) return;
  const auto count = [&](auto wanted) {
    return std::count_if(job.workers.begin(), job.workers.end(), wanted);
  };
  const bool all_gone = count([](const ModelWorker& w) { return w.alive; }) == 0;
  const bool some_stop = count([](const ModelWorker& w) { return w.alive && w.stopping; }) > 0;
  if (some_stop || (!all_gone && job.job.spec->clean_pods != CleanPodPolicy::None)) return;
  if (!all_gone) {
    const std::vector<ModelWorker> kept = job.workers;
    job.workers.clear();
    tell(job, kept, WorkerFact::Exited, 0, now_);
  }
  unplace(job);
  ++over_;
  jobs_[job.id.index()].reset();
}

}  // namespace orrery::sim
