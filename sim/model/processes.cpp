#include "sim/model/processes.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace orrery::sim {
namespace {

constexpr std::int32_t kAborted = 134;  // By SIGABRT: what a process does whose device is gone.

// Whether the end of the worker is an error of its program that its job does not act upon now: then
// it counts as done, and the others go on. Beyond 127 a signal ended it.
bool is_set_aside(const LiveJob& job,
                  const ModelWorker& gone,
                  WorkerFact fact,
                  std::int32_t exit_code) {
  const FailureTrigger trigger = job.job.spec->failover->trigger;
  if (fact != WorkerFact::Exited || exit_code < 1 || exit_code > 127 ||
      trigger == FailureTrigger::Now)
    return false;
  // The end has come with the last one that is required.
  return trigger == FailureTrigger::Skip ||
         std::any_of(job.workers.begin(), job.workers.end(), [&](const ModelWorker& w) {
           const bool is_it = w.incarnation == gone.incarnation && w.birth_rank == gone.birth_rank;
           return !is_it && !w.stopping && !job.is_master(w) && job.is_required(w);
         });
}

}  // namespace

// --- starts ---

void Processes::create(LiveJob& job, ModelWorker worker) {
  if (job.workers.empty()) {
    job.running = false;
    cluster_.jobs.place(job);
  }
  const ModelNode& node = cluster_.nodes[worker.node];
  worker.since = cluster_.now;
  worker.alive = !node.down && !node.mute;
  if (node.slow > 1) job.hampered = true;
  job.workers.push_back(worker);
  cluster_.jobs.note_on(job, worker.node);
  if (!job.job.lives->empty()) scripts_.schedule_early_end(job, worker);
}

void Processes::tell_partner(LiveJob& job) {
  if (LiveJob* const partner = cluster_.jobs.partner_of(job)) share_anew(*partner);
}

void Processes::share_anew(LiveJob& job) {
  if (rounds_.runs(job)) rounds_.partner_changed(job);
  progress_.pace(job, true);
}

void Processes::await_placement(LiveJob& job) {
  if (rounds_.runs(job)) rounds_.release(job);
  if (job.pollux) pollux_.release(job);
}

void Processes::place_if_whole(LiveJob& job) {
  if (!job.forming || !job.is_whole() || !progress_.follows_artifact(job)) return;
  job.forming = false;
  if (rounds_.runs(job))
    rounds_.place(job);
  else
    pollux_.place(job);
}

void Processes::expect_ready(LiveJob& job, Incarnation incarnation, Rank only) {
  const scenarios::Timing& timing = cluster_.scenario.timing;
  Duration delay;
  if (timing.mode != scenarios::TimingMode::Pollux) {
    const std::optional<Duration>& own = job.job.times->ready_after;
    delay = own ? *own : cluster_.times.start(job.id, incarnation);
    if (job.safe > 0 && !delay.is_forever()) delay += cluster_.times.restore(job.id, incarnation);
  }
  if (delay.is_forever()) return;
  cluster_.future.push(cluster_.now + delay,
                       FutureKind::Ready,
                       job.id.value,
                       incarnation.value,
                       only.is_none() ? 0 : only.value + 1);
}

void Processes::come_up(LiveJob& job, const Future& future) {
  using Launch = WorkerScripts::Launch;
  std::vector<ModelWorker> up;
  std::vector<ModelWorker> refused;
  std::vector<ModelWorker> without_port;
  std::vector<ModelWorker> without_program;
  up.reserve(job.workers.size());
  const bool scripted = !job.job.scripts->empty() || !job.job.lives->empty();
  for (ModelWorker& worker : job.workers) {
    if (worker.incarnation.value != future.stamp || worker.ready || !worker.alive ||
        worker.stopping || worker.hung)
      continue;
    if (future.detail != 0 && worker.birth_rank.value + 1 != future.detail) continue;
    const bool no_device = (cluster_.nodes[worker.node].lost_devices & worker.devices) != 0;
    switch (no_device ? Launch::Refused : scripted ? scripts_.launch(job, worker) : Launch::Up) {
      case Launch::Refused:
        refused.push_back(worker);
        break;
      case Launch::PortInUse:
        without_port.push_back(worker);
        break;
      case Launch::NoProgram:
        without_program.push_back(worker);
        break;
      case Launch::EndsYet:
        break;
      case Launch::Up:
        worker.ready = true;
        up.push_back(worker);
        break;
    }
  }
  const std::optional<Duration>& hello = job.job.times->hello_after;
  tell(job, up, hello ? WorkerFact::Running : WorkerFact::Ready, 0, cluster_.now);
  tell(job, refused, WorkerFact::LaunchFailed, 1, cluster_.now);
  tell(job, without_port, WorkerFact::LaunchFailed, kPortInUse, cluster_.now);
  tell(job, without_program, WorkerFact::LaunchFailed, kNotFound, cluster_.now);
  for (const auto* gone : {&refused, &without_port, &without_program})
    for (const ModelWorker& worker : *gone) remove(job, worker);
  if (hello)
    for (const ModelWorker& worker : up) expect(FutureKind::Hello, *hello, job, worker);
  if (scripted)
    for (const ModelWorker& worker : up) scripts_.schedule_exit(job, worker);
  if (job.hampered) suspect_again(job);
  place_if_whole(job);
  progress_.pace_anew(job);
}

// One that hangs, or ends, says nothing.
void Processes::say_hello(LiveJob& job, ModelWorker& worker) {
  if (!worker.ready || worker.hung || worker.stopping) return;
  worker.environment = Generation{0};
  tell(job, {&worker, 1}, WorkerFact::Ready, 0, cluster_.now);
}

// --- ends ---

void Processes::ask_to_stop(LiveJob& job, ModelWorker& worker, Instant ends_at) {
  worker.stopping = true;
  worker.ends_at = ends_at;
  sub_masters_.forget_lead(job, worker);
}

void Processes::after_asking(LiveJob& job, bool saves) {
  if (saves) progress_.save_if_able(job);
  const bool all = std::all_of(job.workers.begin(), job.workers.end(), [&](const ModelWorker& w) {
    return w.stopping || !w.alive || w.generation != job.generation;
  });
  if (all)
    progress_.halt(job);
  else
    progress_.pace(job, true);
}

void Processes::kill(LiveJob& job, ModelWorker& worker) {
  if (worker.stuck) return ask_to_stop(job, worker, cluster_.now);
  sub_masters_.forget_lead(job, worker);
  end(job, worker, WorkerFact::Exited, kKilled);
}

void Processes::end_stopped(LiveJob& job) {
  std::vector<ModelWorker> gone;
  std::vector<ModelWorker> killed_ones;
  bool killed = false;
  for (ModelWorker& worker : job.workers) {
    if (!worker.stopping || !worker.alive || worker.stuck || worker.ends_at > cluster_.now)
      continue;
    killed = killed || (worker.hung && worker.generation == job.generation);
    if (cluster_.nodes[worker.node].mute)
      worker.alive = false;
    else
      (worker.killed ? killed_ones : gone).push_back(worker);
  }
  std::erase_if(job.workers, [&](const ModelWorker& w) {
    return w.stopping && w.alive && !w.stuck && w.ends_at <= cluster_.now;
  });
  if (killed && job.running) progress_.lose(job);
  tell(job, gone, WorkerFact::Exited, kAskedToStop, cluster_.now);
  tell(job, killed_ones, WorkerFact::Exited, kKilled, cluster_.now);
  if (job.workers.empty()) release(job);
  drop_if_over(job);
}

void Processes::end(LiveJob& job,
                    const ModelWorker& worker,
                    WorkerFact fact,
                    std::int32_t exit_code,
                    const Diagnosis& diagnosis) {
  const ModelWorker gone = worker;
  const bool clean = fact == WorkerFact::Exited && exit_code == 0;
  const bool is_member = gone.generation == job.generation && !job.is_master(gone);
  const bool works = is_member && !gone.stopping;
  if (works && (clean || is_set_aside(job, gone, fact, exit_code))) {
    progress_.settle(job);
    if (job.world_size > 0) --job.world_size;
    job.parts_done.push_back(slot_of(gone.role, gone.local_rank));
  } else if (works) {
    lose(job, gone.node);
    if (job.job.spec->recovery != RecoveryScope::Worker) job.running = false;
    // It has no part in the work, so that its end takes nothing more.
    if (const ModelWorker* master = sub_masters_.dying_at_report(job, gone))
      take_away(job, ModelWorker{*master}, WorkerFact::Exited, kKilled);
  } else if (is_member && gone.hung && job.running) {
    // It did not hear that it was asked to stop, so that it saved nothing.
    lose(job, gone.node);
  }
  take_away(job, gone, fact, exit_code, diagnosis);
}

// A worker's death takes what was not in a checkpoint; where progress is an artifact's, all stands
// until the job is placed again.
void Processes::lose(LiveJob& job, NodeId from) {
  if (rounds_.runs(job)) return rounds_.release(job);
  if (job.pollux) return pollux_.release(job);
  progress_.lose(job, from);
}

// The end as its node tells it, and what is left of the job goes on.
void Processes::take_away(LiveJob& job,
                          const ModelWorker& gone,
                          WorkerFact fact,
                          std::int32_t exit_code,
                          const Diagnosis& diagnosis) {
  if (cluster_.nodes[gone.node].mute) {
    ModelWorker* dead = job.find(gone.incarnation, gone.birth_rank);
    dead->alive = dead->ready = false;
  } else {
    tell(job, {&gone, 1}, fact, exit_code, cluster_.now, diagnosis);
    remove(job, gone);
  }
  progress_.pace(job, false);
  drop_if_over(job);
}

void Processes::end_by_script(LiveJob& job, const Future& future) {
  const WorkerScripts::Exit exit = scripts_.exit_of(job, future);
  if (exit.worker != nullptr) end(job, *exit.worker, exit.fact, exit.exit_code, exit.diagnosis);
}

void Processes::complete(LiveJob& job) {
  progress_.finish(job);
  const auto ends = [&](const ModelWorker& w) {
    return job.is_required(w) && w.alive && !w.stopping && w.generation == job.generation;
  };
  std::vector<ModelWorker> done;
  job.parts_done.reserve(job.parts_done.size() + job.workers.size());
  bool all = true;
  for (ModelWorker& worker : job.workers) {
    if (!ends(worker)) {
      all = false;
      continue;
    }
    job.parts_done.push_back(slot_of(worker.role, worker.local_rank));
    if (!cluster_.nodes[worker.node].mute) continue;
    worker.alive = worker.ready = false;
    all = false;
  }
  if (all) {
    done.swap(job.workers);
  } else {
    std::ranges::copy_if(job.workers, std::back_inserter(done), ends);
    std::erase_if(job.workers, ends);
  }
  tell(job, done, WorkerFact::Exited, 0, cluster_.now);
  if (job.workers.empty()) release(job);
}

void Processes::complete_pollux(LiveJob& job, Instant at) {
  std::vector<ModelWorker> done;
  done.swap(job.workers);
  tell(job, done, WorkerFact::Exited, 0, at);
  release(job);
}

void Processes::tell(const LiveJob& job,
                     std::span<const ModelWorker> workers,
                     WorkerFact fact,
                     std::int32_t exit_code,
                     Instant occurred_at,
                     const Diagnosis& diagnosis) {
  if (!workers.empty())
    cluster_.listener.on_workers(job.id, workers, fact, exit_code, occurred_at, diagnosis);
}

void Processes::remove(LiveJob& job, const ModelWorker& worker) {
  std::erase_if(job.workers, [&](const ModelWorker& w) {
    return w.incarnation == worker.incarnation && w.birth_rank == worker.birth_rank;
  });
  if (job.workers.empty()) release(job);
}

// The job has no workers any more.
void Processes::release(LiveJob& job) {
  cluster_.jobs.unplace(job);
  progress_.release(job);
  pollux_.release(job);
  rounds_.release(job);
  for (LiveJob* const other : cluster_.jobs.put_together_with(job.id)) share_anew(*other);
}

void Processes::job_over(LiveJob& job) {
  const JobId id = job.id;
  job.over = true;
  if (!drop_if_over(job)) lingering_.insert(id);
}

// Followers may outlive the job where its clean-pod policy keeps them; they end at once here.
bool Processes::drop_if_over(LiveJob& job) {
  if (!job.over) return false;
  const auto count = [&](auto wanted) {
    return std::count_if(job.workers.begin(), job.workers.end(), wanted);
  };
  const bool all_gone = count([](const ModelWorker& w) { return w.alive; }) == 0;
  const bool some_stop = count([](const ModelWorker& w) { return w.alive && w.stopping; }) > 0;
  if (some_stop || (!all_gone && job.job.spec->clean_pods != CleanPodPolicy::None)) return false;
  if (!all_gone) {
    const std::vector<ModelWorker> kept = std::exchange(job.workers, {});
    tell(job, kept, WorkerFact::Exited, 0, cluster_.now);
  }
  release(job);
  lingering_.erase(job.id);
  slowdowns_.erase(job.id);
  cluster_.jobs.erase(job.id);
  return true;
}

// --- processes that hang or are slow ---

void Processes::expect(FutureKind kind,
                       Duration after,
                       const LiveJob& job,
                       const ModelWorker& worker) {
  if (after.is_forever()) return;
  cluster_.future.push(
      cluster_.now + after, kind, job.id.value, worker.incarnation.value, worker.birth_rank.value);
}

// No report tells that the job stands still: it is noticed after `hang_after`. The last one before
// tells what was saved.
void Processes::hang(LiveJob& job, ModelWorker& worker, Duration lasting) {
  const Instant until = cluster_.now + lasting;
  expect(FutureKind::HangOver, lasting, job, worker);
  if (worker.hung) {
    worker.hung_until = std::max(worker.hung_until, until);
    return;
  }
  if (job.counts(worker) && !job.is_master(worker)) progress_.tell_saved(job);
  worker.hung = true;
  worker.hung_at = cluster_.now;
  worker.hung_until = until;
  job.hampered = true;
  expect(FutureKind::Suspect, job.job.spec->failover->hang_after, job, worker);
  progress_.pace(job, false);
}

void Processes::hang_over(LiveJob& job, ModelWorker& worker) {
  if (!worker.hung || worker.hung_until > cluster_.now) return;
  worker.hung = worker.stuck = false;
  if (worker.stopping) {
    // It hears only now that it was asked, or a kill that was pending takes effect.
    const Instant asked = cluster_.now + cluster_.times.stop(job.id, cluster_.now);
    worker.ends_at = std::max(cluster_.now, std::min(worker.ends_at, asked));
    cluster_.future.push(worker.ends_at, FutureKind::Stopped, job.id.value);
  } else if (!worker.ready) {
    cluster_.future.push(cluster_.now,
                         FutureKind::Ready,
                         job.id.value,
                         worker.incarnation.value,
                         worker.birth_rank.value + 1);
  }
  progress_.pace(job, true);
}

// What was suspected while the job did not run was not acted upon: with each readiness it is looked
// at anew.
void Processes::suspect_again(LiveJob& job) {
  for (ModelWorker& worker : job.workers) {
    worker.told_slow = false;
    if (worker.hung && worker.alive)
      expect(FutureKind::Suspect, job.job.spec->failover->hang_after, job, worker);
  }
}

void Processes::slow_down(LiveJob& job, ModelWorker& worker, double factor, Duration lasting) {
  LastingFaults& faults = slowdowns_[job.id][{worker.incarnation, worker.birth_rank}];
  faults.add(factor, cluster_.now + lasting);
  worker.slow = faults.largest(cluster_.now);
  job.hampered = true;
  expect(FutureKind::SlowOver, lasting, job, worker);
  progress_.pace(job, true);
}

void Processes::slow_over(LiveJob& job, ModelWorker& worker) {
  worker.slow = slowdowns_[job.id][{worker.incarnation, worker.birth_rank}].largest(cluster_.now);
  progress_.pace(job, true);
}

// --- nodes ---

void Processes::tell_saved_on(NodeId node, std::uint64_t devices) {
  for (const JobId id : cluster_.jobs.on(node)) {
    LiveJob& job = *cluster_.jobs.find(id);
    const bool any = std::any_of(job.workers.begin(), job.workers.end(), [&](const ModelWorker& w) {
      return w.node == node && w.alive && (w.devices & devices) != 0;
    });
    if (any) progress_.tell_saved(job, node);
  }
}

void Processes::kill_all(NodeId node) {
  for (const JobId id : cluster_.jobs.on(node)) {
    LiveJob& job = *cluster_.jobs.find(id);
    bool hit = false;
    for (ModelWorker& worker : job.workers) {
      if (worker.node != node || !worker.alive) continue;
      worker.alive = worker.ready = false;
      hit = hit || (worker.generation == job.generation && !job.is_master(worker));
    }
    if (!hit) continue;
    lose(job, NodeId::none());
    if (job.job.spec->recovery != RecoveryScope::Worker) job.running = false;
    progress_.pace(job, false);
  }
}

void Processes::forget(NodeId node) {
  std::vector<JobId> jobs = cluster_.jobs.on(node);
  // Some may have been waiting for the last of their dead.
  jobs.insert(jobs.end(), lingering_.begin(), lingering_.end());
  std::sort(jobs.begin(), jobs.end());
  for (const JobId id : jobs) {
    LiveJob* job = cluster_.jobs.find(id);
    if (job == nullptr || !job->placed) continue;
    std::erase_if(job->workers, [&](const ModelWorker& w) { return w.node == node && !w.alive; });
    if (job->workers.empty()) release(*job);
    drop_if_over(*job);
  }
}

void Processes::abort_on(NodeId node, std::uint64_t devices) {
  const auto aborts = [&](const ModelWorker& w) {
    return w.node == node && w.alive && (w.devices & devices) != 0;
  };
  for (const JobId id : cluster_.jobs.on(node))
    while (LiveJob* job = cluster_.jobs.find(id)) {  // An end may take the job with it.
      const auto worker = std::find_if(job->workers.begin(), job->workers.end(), aborts);
      if (worker == job->workers.end()) break;
      end(*job, *worker, WorkerFact::Exited, kAborted);
    }
}

// --- truth ---

std::vector<LivingProcess> Processes::living() const {
  std::vector<LivingProcess> out;
  for (const JobId id : cluster_.jobs.placed())
    for (const ModelWorker& w : cluster_.jobs.find(id)->workers)
      if (w.alive)
        out.push_back({id,
                       w.role,
                       w.local_rank,
                       w.birth_rank,
                       w.rank,
                       w.incarnation,
                       w.born,
                       w.generation,
                       w.node,
                       w.devices,
                       w.share,
                       w.since,
                       w.ready,
                       w.stopping,
                       w.hung});
  return out;
}

std::vector<RunningWorker> Processes::complete_list(NodeId node) const {
  std::vector<RunningWorker> out;
  for (const JobId id : cluster_.jobs.on(node))
    for (const ModelWorker& w : cluster_.jobs.find(id)->workers)
      if (w.node == node && w.alive) out.push_back({id, w.born, w.incarnation, w.birth_rank});
  return out;
}

}  // namespace orrery::sim
