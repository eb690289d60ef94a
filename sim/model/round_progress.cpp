#include "sim/model/round_progress.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::sim {

void RoundProgress::place(LiveJob& job) {
  if (leases_.contains(job.id)) release(job);
  Lease& lease = leases_[job.id];
  lease.speed = speeds_.measured(job);
  job.running = true;
  if (lease.speed <= 0) {
    cluster_.warn(job.job.spec->name +
                  ": its speed on these devices is not in the table of throughputs, "
                  "so it makes no progress");
    return;
  }
  begin(job, lease);
  tell(job, lease, lease.speed);
}

void RoundProgress::partner_changed(LiveJob& job) {
  const auto found = leases_.find(job.id);
  if (found == leases_.end()) return;
  Lease& lease = found->second;
  if (!lease.runs || lease.begin != cluster_.now) return;
  --running_;
  lease.runs = false;
  lease.speed = speeds_.measured(job);
  if (lease.speed > 0) begin(job, lease);
  tell(job, lease, lease.speed);
}

void RoundProgress::begin(LiveJob& job, Lease& lease) {
  const double round_s = cluster_.scenario.timing.tick.in_seconds();
  const double left = job.job.work.units - job.done;
  lease.steps = std::min(std::max(std::floor(lease.speed * round_s), 1.0), left);
  lease.begin = cluster_.now;
  lease.runs = true;
  ++running_;
  cluster_.future.push(cluster_.now + Duration::from_seconds(lease.steps / lease.speed),
                       FutureKind::Complete,
                       job.id.value,
                       ++job.stamp);
}

void RoundProgress::add(LiveJob& job, double steps) {
  job.done += steps;
  job.worked += steps;
  job.safe = job.done;
}

void RoundProgress::release(LiveJob& job) {
  const auto found = leases_.find(job.id);
  if (found == leases_.end()) return;
  const Lease lease = found->second;
  leases_.erase(found);
  ++job.stamp;
  if (!lease.runs) return;
  --running_;
  const double whole = std::floor((cluster_.now - lease.begin).in_seconds() * lease.speed);
  add(job, std::clamp(whole, 0.0, lease.steps));
  // The others may stand already.
  if (running_ == 0 && !leases_.empty())
    cluster_.future.push(cluster_.now, FutureKind::Tick, kRound);
}

bool RoundProgress::lease_done(LiveJob& job) {
  Lease& lease = leases_.at(job.id);
  lease.runs = false;
  --running_;
  ++lease.rounds;
  add(job, lease.steps);
  return job.done >= job.job.work.units;
}

void RoundProgress::end_if_done() {
  if (running_ > 0) return;
  bool told = false;
  for (auto& [id, lease] : leases_) {
    if (lease.speed <= 0) continue;
    LiveJob& job = *cluster_.jobs.find(id);
    if (cluster_.jobs.was_put_together(id)) lease.speed = speeds_.measured(job);
    if (lease.speed <= 0) continue;
    if (!told) {
      tell(job, lease, 0);
      tell(job, lease, lease.speed);
      told = true;
    }
    begin(job, lease);
  }
}

void RoundProgress::tell(LiveJob& job, const Lease& lease, double rate) {
  ProgressReported progress{job.id, job.generation, job.done, rate};
  progress.epoch = lease.rounds;
  progress.checkpointed = true;
  cluster_.listener.on_progress(job.spokesman(), progress);
}

}  // namespace orrery::sim
