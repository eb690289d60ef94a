// How work goes on in the machine room: rates, checkpoints, completions, and the Pollux tick.

#include <algorithm>
#include <utility>

#include "sim/model/machine_room.hpp"

namespace orrery::sim {

// Brings `done` up to now; the rate goes on as it was.
void MachineRoom::settle_progress(LiveJob& job) {
  if (job.stages != nullptr && job.stages->on_fabric) {
    const double before = job.done;
    staged_->settle(job, now_);
    job.worked += job.done - before;
    job.as_of = now_;
    if (staged_->checkpoint_interval(job) <= Duration::zero()) job.safe = job.done;
    return;
  }
  job.safe = std::max(job.safe, job.safe_at(now_, checkpoint_interval(job)));
  const double done = job.done_at(now_);
  job.worked += done - job.done;
  job.done = done;
  job.as_of = now_;
}

// A crash: what was not in a checkpoint is lost.
void MachineRoom::lose_progress(LiveJob& job) {
  settle_progress(job);
  drop_stages(job);
  if (job.stages != nullptr) job.stages->reload = true;
  const double done = job.done;
  job.lost += done - job.safe;
  job.done = job.safe;
  // What was saved meanwhile, and how far the work had come: the difference is what is lost.
  if (job.pollux || job.safe <= job.told_safe) return;
  tell_progress(job, true);
  if (done <= job.safe) return;
  const double rate = std::exchange(job.rate, 0);
  job.done = done;
  tell_progress(job, false);
  job.done = job.safe;
  job.rate = rate;
}

void MachineRoom::tell_progress(LiveJob& job, bool checkpointed) {
  if (job.job.work.units <= 0) return;
  if (checkpointed) job.told_safe = job.done;
  const JobSpec& spec = *job.job.spec;
  ProgressReported progress{job.id, job.generation, job.done, job.rate};
  progress.checkpointed = checkpointed;
  if (spec.estimate_source == EstimateSource::Oracle && job.rate > 0) {
    progress.source = EstimateSource::Oracle;
    progress.remaining = Duration::from_seconds((job.job.work.units - job.done) / job.rate);
  }
  listener_.on_progress(job.spokesman(), std::move(progress));
}

// Units per second of those who work now.
double MachineRoom::rate_now(const LiveJob& job) const {
  if (!job.running || job.forming) return 0;
  // Who exchanges gradients waits for whoever is missing.
  if (job.stages != nullptr) return job.is_whole() ? staged_->alone_rate(job) : 0;
  double rate = scenarios::rate_of(job.job.work, job.ready_elastic());
  const scenarios::Timing& timing = scenario_.timing;
  // Writing checkpoints takes its share of the time.
  if (timing.checkpoint_interval > Duration::zero() && timing.checkpoint_cost > Duration::zero())
    rate *= timing.checkpoint_interval.in_seconds() /
            (timing.checkpoint_interval + timing.checkpoint_cost).in_seconds();
  return rate;
}

// Sets the rate after something changed, and when the work will be done.
void MachineRoom::pace(LiveJob& job, bool told) {
  if (job.pollux || job.over) return;
  settle_progress(job);
  if ((!job.running || job.forming) && job.is_whole()) {
    if (job.stages != nullptr) job.stages->reload |= !job.running;
    job.running = true;
    job.forming = false;
    job.running_since = now_;
  }
  if (has_stages(job) && job.running && job.is_whole()) form_stages(job);
  if (job.stages != nullptr && job.stages->on_fabric) return pace_stages(job, told);
  const double before = job.rate;
  job.rate = rate_now(job) * pace_factor(job);
  ++job.stamp;
  if (job.rate > 0 && job.job.work.units > 0) {
    const Duration left = Duration::from_seconds((job.job.work.units - job.done) / job.rate);
    future_.push(
        std::max(now_, job.paused_until) + left, FutureKind::Complete, job.id.value, job.stamp);
  }
  if (job.rate <= 0) finish_what_is_done(job);
  if (told && job.rate != before) tell_progress(job, false);
}

// Who is started again after the end has nothing left to do, whoever else is still missing.
void MachineRoom::finish_what_is_done(LiveJob& job) {
  const bool all_done = job.job.work.units > 0 && job.done >= job.job.work.units;
  if (all_done && std::any_of(job.workers.begin(), job.workers.end(), [&](const ModelWorker& w) {
        return job.is_required(w) && job.counts(w);
      }))
    future_.push(now_, FutureKind::Complete, job.id.value, job.stamp);
}

// The work is done: every required worker exits 0.
void MachineRoom::complete(LiveJob& job) {
  settle_progress(job);
  drop_stages(job);
  job.worked += job.job.work.units - job.done;  // Rounding of the last instant.
  job.done = job.safe = job.job.work.units;
  job.running = false;
  ++job.stamp;
  const auto ends = [&](const ModelWorker& w) {
    return job.is_required(w) && w.alive && !w.stopping && w.generation == job.generation;
  };
  std::vector<ModelWorker> done;
  for (ModelWorker& worker : job.workers) {
    if (!ends(worker)) continue;
    job.parts_done.push_back(slot_of(worker.role, worker.local_rank));
    if (nodes_[worker.node.index()].mute)
      worker.alive = worker.ready = false;
    else
      done.push_back(worker);
  }
  std::erase_if(job.workers, ends);
  tell(job, done, WorkerFact::Exited, 0, now_);
  if (job.workers.empty()) unplace(job);
}

// --- timing: pollux ---

void MachineRoom::schedule_tick() {
  if (tick_scheduled_) return;
  const std::int64_t tick = scenario_.timing.tick.ns;
  future_.push(Instant{(now_.ns / tick + 1) * tick}, FutureKind::Tick, 0);
  tick_scheduled_ = true;
}

// The job's workers are where the plan put them: ranks in order, nodes as they come.
void MachineRoom::place_pollux(LiveJob& job) {
  if (job.job.application == nullptr) return;
  if (!job.pollux) job.pollux.emplace(*job.job.application, job.job.spec->batch_size, now_);
  job.pollux->step(now_ - job.pollux->now());
  std::vector<int> gpus_per_node;
  NodeId last;
  for (const ModelWorker& worker : job.workers) {
    if (worker.stopping) continue;
    if (worker.node != last) gpus_per_node.push_back(0);
    last = worker.node;
    gpus_per_node.back() += job.job.spec->roles[0].bundle.devices;
  }
  if (!job.pollux->reallocate(gpus_per_node))
    troubles_.push_back(job.job.spec->name +
                        ": its profile does not reach this placement, so it makes no progress; use "
                        "nodes of at most 4 devices");
  job.running = true;
  schedule_tick();
}

void MachineRoom::tick() {
  tick_scheduled_ = false;
  const std::vector<JobId> placed = placed_;
  for (const JobId id : placed)
    if (LiveJob* job = live(id); job != nullptr && job->pollux) tick_one(*job);
  if (!placed_.empty()) schedule_tick();
}

void MachineRoom::tick_one(LiveJob& job) {
  PolluxJob& model = *job.pollux;
  const int epoch = model.epoch();
  model.step(now_ - model.now());
  if (model.completed_at()) {
    std::vector<ModelWorker> done;
    done.swap(job.workers);
    tell(job, done, WorkerFact::Exited, 0, *model.completed_at());
    unplace(job);
    return;
  }
  if (model.epoch() == epoch) return;
  ProgressReported progress{job.id, job.generation, model.progress(), model.rate()};
  progress.epoch = model.epoch();
  listener_.on_progress(job.spokesman(), std::move(progress));
}

}  // namespace orrery::sim
