// Work in the machine room that goes over the fabric: stages begin, end and are taken back, and
// checkpoints are written between or beside them.

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/model/machine_room.hpp"

namespace orrery::sim {
namespace {

// A job reports its rate anew when it has changed by this share: not every stage is news.
constexpr double kRateNews = 0.05;

// After so many looks at the links the next ones are twice as far apart.
constexpr std::int64_t kLinkSamples = 1000;

}  // namespace

bool MachineRoom::has_stages(const LiveJob& job) const {
  return staged_ && has_traffic(job.job.work) && job.job.work.units > 0;
}

Duration MachineRoom::checkpoint_interval(const LiveJob& job) const {
  return has_stages(job) ? staged_->checkpoint_interval(job) : scenario_.timing.checkpoint_interval;
}

// The gang is whole: what do these workers do, and what must they read first?
void MachineRoom::form_stages(LiveJob& job) {
  staged_->form(job);
  if (!std::exchange(job.stages->reload, false) || job.safe <= 0) return;
  if (job.stages->on_fabric)
    job.stages->restore_due = true;
  else
    job.paused_until =
        std::max(job.paused_until, now_ + Duration::from_seconds(staged_->restore_alone_s(job)));
}

// Lets stages end up to `limit`; whether any did.
bool MachineRoom::stages_to(Instant limit) {
  const Instant at = staged_->next(limit);
  if (at.is_never()) return false;
  std::vector<StageEnd> ended;
  staged_->pass_to(
      at, [this](JobId id) -> LiveJob& { return *live(id); }, ended);
  if (!ended.empty()) now_ = std::max(now_, at);
  for (const StageEnd& end : ended) stage_ended(end);
  return !ended.empty() || at < limit;
}

void MachineRoom::stage_ended(const StageEnd& end) {
  LiveJob* job = live(end.job);
  if (job == nullptr || end.beside) return;
  if (checkpoint_interval(*job) <= Duration::zero()) job->safe = job->done;
  if (job->done >= job->job.work.units) return complete(*job);
  if (end.activity == StageActivity::Save) job->stages->checkpoints_timed = false;
  if (job->stages->doing == StageActivity::None) go_on(*job, true);
}

// What `pace` is for jobs whose rate is constant until something changes.
void MachineRoom::pace_stages(LiveJob& job, bool told) {
  staged_->halt(job, now_);
  ++job.stamp;
  if (job.running && !job.forming && job.is_whole() && job.done < job.job.work.units)
    return go_on(job, told);
  job.rate = 0;
  finish_what_is_done(job);
}

// Nothing of the job is under way; it goes on with what is due, or its work.
void MachineRoom::go_on(LiveJob& job, bool told) {
  StageRun& run = *job.stages;
  const double before = job.rate;
  const double speed = pace_factor(job);
  if (now_ < job.paused_until) {
    future_.push(job.paused_until, FutureKind::Resume, job.id.value, job.stamp);
  } else if (speed > 0) {
    if (run.restore_due)
      staged_->restore(job, now_);
    else if (run.save_due)
      staged_->save(job, false, now_);
    else
      staged_->work(job, 1 / speed, now_);
    const Duration interval = staged_->checkpoint_interval(job);
    if (interval > Duration::zero() && !run.checkpoints_timed) {
      run.checkpoints_timed = true;
      future_.push(now_ + interval, FutureKind::Checkpoint, job.id.value, run.checkpoints);
    }
  }
  const double rate = speed > 0 ? staged_->rate(job, 1 / speed) : 0;
  if (std::abs(rate - before) <= kRateNews * before && (rate > 0 || before == 0)) return;
  job.rate = rate;
  if (told) tell_progress(job, false);
}

void MachineRoom::checkpoint(LiveJob& job) {
  StageRun& run = *job.stages;
  run.checkpoints_timed = false;
  if (!job.running || job.forming) return;
  settle_progress(job);
  if (!staged_->saves_block(job)) {
    staged_->save(job, true, now_);
    run.checkpoints_timed = true;
    future_.push(now_ + staged_->checkpoint_interval(job),
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

void MachineRoom::watch_links(Duration every, LinkWatcher watcher) {
  link_samples_every_ = every;
  link_watcher_ = std::move(watcher);
  future_.push(now_, FutureKind::LinkSample, 0);
}

void MachineRoom::sample_links() {
  std::vector<double> shares;
  staged_->fabric().link_use(shares);
  link_watcher_(now_, shares);
  if (++link_samples_ % kLinkSamples == 0) link_samples_every_ = link_samples_every_ * 2;
  // Where nothing else will happen, looking would never end.
  if (is_busy()) future_.push(now_ + link_samples_every_, FutureKind::LinkSample, 0);
}

void MachineRoom::drop_stages(LiveJob& job) {
  if (job.stages != nullptr) staged_->drop(job, now_);
}

void MachineRoom::slow_links(const scenarios::Fault& fault) {
  if (!staged_ || scenario_.fidelity == scenarios::Fidelity::L0) return;
  const auto slow = [&](NodeId id) {
    Node& node = nodes_[id.index()];
    node.link_share = std::min(node.link_share, fault.factor);
    node.link_whole_at = std::max(node.link_whole_at, now_ + fault.lasting);
    if (!node.link_whole_at.is_never())
      future_.push(node.link_whole_at, FutureKind::LinkWhole, id.value);
    staged_->set_link_share(id, node.link_share, now_);
  };
  for (const NodeId node : fault.nodes) slow(node);
  if (!fault.nodes.empty()) return;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) slow(NodeId{n});
}

}  // namespace orrery::sim
