#include "sim/model/progress.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace orrery::sim {
namespace {

// A job reports its rate anew when it has changed by this share: not every stage is news.
constexpr double kRateNews = 0.05;

// Less than this share of a job's work is left by rounding alone.
constexpr double kRounding = 1e-9;

// What `detail` says of a future of kind Checkpoint: of a job whose rate is constant, it is over.
constexpr std::uint32_t kWritten = 1;

// Whether checkpoints are told as they are written. Where control is direct and no fault waits for
// one it does to tell of the last when something fails: a million jobs write ten million.
bool tells_each_checkpoint(const scenarios::Scenario& scenario) {
  return scenario.needs_agents() || scenario.fidelity == scenarios::Fidelity::L3 ||
         scenario.world == scenarios::World::Cluster ||
         std::any_of(
             scenario.faults.begin(), scenario.faults.end(), [](const scenarios::Fault& fault) {
               return fault.after && fault.after->event == scenarios::ObservedEvent::Checkpoint;
             });
}

}  // namespace

Progress::Progress(ClusterState& cluster, WorkerSpeeds& speeds, Fabric* fabric)
    : cluster_(cluster),
      speeds_(speeds),
      tells_each_checkpoint_(tells_each_checkpoint(cluster.scenario)) {
  if (fabric != nullptr) staged_.emplace(cluster.scenario, *fabric);
}

void Progress::settle(LiveJob& job) {
  if (job.stages != nullptr && job.stages->on_fabric) {
    const double before = job.done;
    staged_->settle(job, cluster_.now);
    job.worked += job.done - before;
    job.as_of = cluster_.now;
    if (staged_->checkpoint_interval(job) <= Duration::zero()) job.safe = job.done;
    return;
  }
  job.safe = std::max(job.safe, job.safe_at(cluster_.now, checkpoint_interval(job)));
  const double done = job.done_at(cluster_.now);
  job.worked += done - job.done;
  job.done = done;
  job.as_of = cluster_.now;
}

void Progress::adopt(LiveJob& job, Generation generation, std::uint32_t world_size) {
  settle(job);
  const bool changed = generation != job.generation;
  job.generation = generation;
  job.world_size = world_size;
  if (job.running && changed)
    job.paused_until =
        std::max(job.paused_until, cluster_.now + cluster_.times.rescale(job.id, generation));
}

void Progress::lose(LiveJob& job, NodeId from) {
  settle(job);
  drop_stages(job);
  if (job.stages != nullptr) job.stages->reload = true;
  const double done = std::exchange(job.done, job.safe);
  job.lost += done - job.safe;
  // A checkpoint for which the work stands still is broken off; the next one is due as after a
  // start.
  if (job.pauses->every > Duration::zero()) job.running_since = cluster_.now;
  if (follows_artifact(job)) return;
  // What was saved meanwhile, and how far the work had come: the difference is what is lost.
  if (job.safe > job.told_safe) tell(job, true, from);
  if (done <= job.safe) return;
  const double rate = std::exchange(job.rate, 0);
  job.done = done;
  tell(job, false, from);
  job.done = job.safe;
  job.rate = rate;
  job.rate_untold = true;
}

void Progress::save_if_able(LiveJob& job) {
  const bool any_hangs =
      job.hampered &&
      std::any_of(job.workers.begin(), job.workers.end(), [&](const ModelWorker& w) {
        return w.hung && w.alive && !job.is_master(w);
      });
  if (!any_hangs) job.safe = std::max(job.safe, job.done);
}

void Progress::halt(LiveJob& job) {
  // What could not be saved is lost with the workers.
  if (job.done > job.safe) lose(job);
  drop_stages(job);
  job.running = false;
  job.led.clear();
  ++job.stamp;
  tell(job, true);
}

void Progress::finish(LiveJob& job) {
  settle(job);
  drop_stages(job);
  job.worked += job.job.work.units - job.done;  // Rounding of the last instant.
  job.done = job.safe = job.job.work.units;
  job.running = false;
  ++job.stamp;
  if (job.parts_done.empty() || follows_artifact(job)) return;
  // Who erred before may start anew now, and has nothing to do again.
  job.rate = 0;
  tell(job, true);
}

void Progress::release(LiveJob& job) {
  drop_stages(job);
  job.running = false;
  job.led.clear();
}

bool Progress::follows_artifact(const LiveJob& job) const {
  return (job.job.application != nullptr || job.job.speeds != nullptr) &&
         cluster_.scenario.timing.mode == scenarios::TimingMode::Pollux;
}

void Progress::tell(LiveJob& job, bool checkpointed, NodeId from) {
  job.rate_untold = false;
  if (job.job.work.units <= 0) return;
  if (checkpointed) job.told_safe = job.done;
  const JobSpec& spec = *job.job.spec;
  ProgressReported progress{job.id, job.generation, job.done, job.rate};
  progress.checkpointed = checkpointed;
  if (spec.estimate_source == EstimateSource::Oracle && job.rate > 0) {
    progress.source = EstimateSource::Oracle;
    const scenarios::WorkSpec& work = job.job.work;
    const double level_rate = job.rate / scenarios::phase_at(work, job.done).speed;
    const Duration left =
        Duration::from_seconds(scenarios::level_units_left(work, job.done) / level_rate);
    progress.remaining = job.done_by(cluster_.now, left, Duration::zero()) - cluster_.now;
  }
  const bool by_any = from.is_none() || cluster_.nodes[from].mute;
  cluster_.listener.on_progress(by_any ? job.spokesman() : from, progress);
}

void Progress::tell_saved(LiveJob& job, NodeId from) {
  settle(job);
  if (follows_artifact(job) || job.safe <= job.told_safe) return;
  const double done = std::exchange(job.done, job.safe);
  tell(job, true, from);
  if (done <= job.safe) return;
  job.done = done;
  tell(job, false, from);
}

// Units per second of those who work now.
double Progress::rate_now(const LiveJob& job) const {
  if (!job.running || job.forming) return 0;
  // Workers that exchange gradients wait for those missing.
  if (job.stages != nullptr) return job.is_whole() ? staged_->alone_rate(job) : 0;
  if (job.job.waits_for_all && !job.is_whole()) return 0;
  return scenarios::rate_of(job.job.work, job.ready_elastic()) *
         scenarios::phase_at(job.job.work, job.done).speed;
}

// At a constant rate the work stops for checkpoints at known times, so that they take no events.
void Progress::set_pauses(LiveJob& job) {
  CheckpointPauses pauses{checkpoint_interval(job), cluster_.scenario.timing.checkpoint_cost};
  if (job.stages != nullptr)
    pauses.each = staged_->saves_block(job) ? Duration::from_seconds(staged_->save_alone_s(job))
                                            : Duration::zero();
  if (pauses.every <= Duration::zero() || pauses.each <= Duration::zero()) pauses = {};
  if (*job.pauses == pauses) return;
  // Other workers write in another time: it begins anew.
  if (job.as_of > job.running_since) job.running_since = cluster_.now;
  job.pauses = pauses;
}

void Progress::pace(LiveJob& job, bool told) {
  if (follows_artifact(job) || job.over) return;
  settle(job);
  if ((!job.running || job.forming) && job.is_whole()) {
    if (job.stages != nullptr) job.stages->reload |= !job.running;
    // Who paused for a rescale is gone.
    if (!job.running) job.paused_until = Instant::zero();
    job.running = true;
    job.forming = false;
    job.running_since = cluster_.now;
  }
  if (has_stages(job) && job.running && job.is_whole()) form_stages(job);
  if (job.stages != nullptr && job.stages->on_fabric) {
    job.pauses.clear();
    return pace_stages(job, told);
  }
  const double before = job.rate;
  job.rate = rate_now(job) * speeds_.factor(job);
  ++job.stamp;
  if (job.running && !job.forming) set_pauses(job);
  // Its first checkpoint is due when so much has been done, and not so long after it was formed.
  if (job.pauses->every > Duration::zero() && before <= 0 && job.rate > 0 && job.done <= job.safe)
    job.running_since = std::max(cluster_.now, job.paused_until);
  if (job.rate > 0 && job.job.work.units > 0) {
    const double until = scenarios::phase_at(job.job.work, job.done).until;
    const Duration left = Duration::from_seconds((until - job.done) / job.rate);
    // Of a checkpoint that is due with the end of the work, rounding would decide.
    const Duration rounding = Duration::from_seconds(kRounding * job.job.work.units / job.rate);
    cluster_.future.push(job.done_by(std::max(cluster_.now, job.paused_until), left, rounding),
                         until < job.job.work.units ? FutureKind::Resume : FutureKind::Complete,
                         job.id.value,
                         job.stamp);
  }
  expect_checkpoint(job);
  if (job.rate <= 0) finish_what_is_done(job);
  tell_rate(job, before, told);
}

void Progress::tell_rate(LiveJob& job, double before, bool told) {
  if (job.rate == before) return;
  job.rate_untold = true;
  if (told) tell(job, false);
}

// Who goes on without those who failed says so; who waits for them, or stands still, says nothing.
void Progress::pace_anew(LiveJob& job) {
  pace(job, true);
  if (job.rate_untold && job.rate > 0 && job.is_whole() && !job.over) tell(job, false);
}

// A worker that is started again after the end has nothing left to do, whichever others are
// missing.
void Progress::finish_what_is_done(LiveJob& job) {
  const bool all_done = job.job.work.units > 0 && job.done >= job.job.work.units;
  if (all_done && std::any_of(job.workers.begin(), job.workers.end(), [&](const ModelWorker& w) {
        return job.is_required(w) && job.counts(w);
      }))
    cluster_.future.push(cluster_.now, FutureKind::Complete, job.id.value, job.stamp);
}

Duration Progress::checkpoint_interval(const LiveJob& job) const {
  return has_stages(job) ? staged_->checkpoint_interval(job)
                         : cluster_.scenario.timing.checkpoint_interval;
}

// Of a job whose rate is constant, where the next one is to be told.
void Progress::expect_checkpoint(LiveJob& job) {
  const Duration interval = checkpoint_interval(job);
  if (!tells_each_checkpoint_ || interval <= Duration::zero() || job.rate <= 0) return;
  cluster_.future.push(job.next_checkpoint(cluster_.now, interval),
                       FutureKind::Checkpoint,
                       job.id.value,
                       job.stamp,
                       kWritten);
}

void Progress::resume(LiveJob& job, std::uint32_t stamp) {
  if (stamp == job.stamp) pace(job, true);
}

// --- stages on the fabric ---

bool Progress::has_stages(const LiveJob& job) const {
  return staged_ && has_traffic(job.job.work) && job.job.work.units > 0;
}

// The gang is whole: what do these workers do, and what must they read first?
void Progress::form_stages(LiveJob& job) {
  staged_->form(job);
  if (!std::exchange(job.stages->reload, false) || job.safe <= 0) return;
  if (job.stages->on_fabric)
    job.stages->restore_due = true;
  else
    job.paused_until = std::max(
        job.paused_until, cluster_.now + Duration::from_seconds(staged_->restore_alone_s(job)));
}

bool Progress::stage_ended(LiveJob& job, const StageEnd& end) {
  if (end.activity == StageActivity::Save && tells_each_checkpoint_) tell_saved(job);
  if (end.beside) return false;
  if (checkpoint_interval(job) <= Duration::zero()) job.safe = job.done;
  if (job.done >= job.job.work.units) return true;
  if (end.activity == StageActivity::Save) job.stages->checkpoints_timed = false;
  if (job.stages->doing == StageActivity::None) go_on(job, true);
  return false;
}

// What `pace` is for jobs whose rate is constant until something changes.
void Progress::pace_stages(LiveJob& job, bool told) {
  staged_->halt(job, cluster_.now);
  ++job.stamp;
  if (job.running && !job.forming && job.is_whole() && job.done < job.job.work.units)
    return go_on(job, told);
  job.rate = 0;
  finish_what_is_done(job);
}

// Nothing of the job is under way; it goes on with what is due, or its work.
void Progress::go_on(LiveJob& job, bool told) {
  StageRun& run = *job.stages;
  const double before = job.rate;
  const double speed = speeds_.factor(job);
  if (cluster_.now < job.paused_until) {
    cluster_.future.push(job.paused_until, FutureKind::Resume, job.id.value, job.stamp);
  } else if (speed > 0) {
    if (run.restore_due)
      staged_->restore(job, cluster_.now);
    else if (run.save_due)
      staged_->save(job, false, cluster_.now);
    else
      staged_->work(job, 1 / speed, cluster_.now);
    const Duration interval = staged_->checkpoint_interval(job);
    if (interval > Duration::zero() && !run.checkpoints_timed && run.doing == StageActivity::Work) {
      run.checkpoints_timed = true;
      cluster_.future.push(
          cluster_.now + interval, FutureKind::Checkpoint, job.id.value, run.checkpoints);
    }
  }
  const double rate = speed > 0 ? staged_->rate(job, 1 / speed) : 0;
  const bool is_news = std::abs(rate - before) > kRateNews * before || (rate == 0 && before > 0);
  if (is_news) job.rate = rate;
  tell_rate(job, before, told);
}

void Progress::checkpoint(LiveJob& job, const Future& future) {
  if (future.detail == kWritten) {
    if (future.stamp != job.stamp) return;
    tell_saved(job);
    return expect_checkpoint(job);
  }
  if (job.stages == nullptr || future.stamp != job.stages->checkpoints) return;
  StageRun& run = *job.stages;
  run.checkpoints_timed = false;
  if (!job.running || job.forming) return;
  settle(job);
  // As at a constant rate.
  if (job.job.work.units - job.done <= kRounding * job.job.work.units) return;
  if (!staged_->saves_block(job)) {
    staged_->save(job, true, cluster_.now);
    run.checkpoints_timed = true;
    cluster_.future.push(cluster_.now + staged_->checkpoint_interval(job),
                         FutureKind::Checkpoint,
                         job.id.value,
                         run.checkpoints);
    return;
  }
  // The next one is timed when the work goes on after this one.
  run.save_due = true;
  run.checkpoints_timed = true;
  pace_stages(job, false);
}

void Progress::drop_stages(LiveJob& job) {
  if (job.stages != nullptr) staged_->drop(job, cluster_.now);
}

}  // namespace orrery::sim
