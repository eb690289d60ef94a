#include "core/control/recovery.hpp"

#include <algorithm>

namespace orrery {
namespace {

Duration backoff(const JobState& job) {
  const Duration longest = job.spec->backoff_max;
  Duration delay = job.spec->backoff_base;
  for (std::uint32_t i = 1; i < job.row.restarts && delay < longest; ++i)
    delay = delay.ns > longest.ns / 2 ? longest : delay * 2;
  return std::min(delay, longest);
}

// Places for replicas that must start elsewhere. An elastic job goes on with its survivors where
// they are enough; false where the job cannot go on.
bool place_missing(Step& step,
                   const JobState& job,
                   const std::vector<std::int32_t>& missing,
                   std::vector<Placed>& added) {
  for (std::size_t r = 0; r < missing.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    const bool elastic = role == job.row.elastic && job.row.preemptible;
    const std::int32_t spare = elastic ? job.row.replicas - job.row.min_replicas : 0;
    std::vector<NodeCount> nodes;
    std::int32_t want = missing[r];
    while (want > 0 && !step.state.ledger.find_gang(demand_of(step, job, role), want, nodes))
      --want;
    if (missing[r] - want > std::max(spare, 0)) return false;
    for (const NodeCount& n : nodes) added.push_back({role, n});
  }
  return fits_together(step, job, added);
}

bool is_charged(Reason reason) {
  return reason == Reason::WorkerFailed || reason == Reason::StartDeadline;
}

// A member of the coming membership that was to stay and could start again where it is; else null.
Worker* staying(const Step& step, JobState& job, std::size_t member) {
  if (job.next_from[member] == kNew) return nullptr;
  Worker& worker = job.workers[job.next_from[member]];
  const bool in_place = !worker.lease.is_none() && step.state.ledger.node(worker.node).usable;
  return in_place ? &worker : nullptr;
}

}  // namespace

void on_failures(Step& step, JobState& job, std::vector<std::uint8_t> failed, Reason reason) {
  if (job.row.restarts >= static_cast<std::uint32_t>(job.spec->backoff_limit)) {
    finish(step, job, JobPhase::Failed, Reason::BackoffLimitReached);
    return;
  }
  ++job.row.restarts;
  count(step, job, Counter::Restarts);
  job.not_before = step.at + backoff(job);
  recover(step, job, std::move(failed), reason);
}

void join_recovery(Step& step, JobState& job) {
  if (job.after_drain != AfterDrain::Start || job.row.phase != JobPhase::Restarting ||
      !is_charged(job.change_reason))
    return;
  std::vector<std::uint8_t> role_failed(job.role_count(), 0);
  for (std::size_t i = 0; i < job.next.size(); ++i)
    if (const Worker* worker = staying(step, job, i);
        worker != nullptr && worker->state == WorkerState::Failed)
      role_failed[worker->role.index()] = 1;
  std::vector<std::uint32_t> peers;
  for (std::size_t i = 0; i < job.next.size(); ++i) {
    Worker* worker = staying(step, job, i);
    if (worker == nullptr || role_failed[worker->role.index()] == 0) continue;
    const bool failed = worker->state == WorkerState::Failed;
    if (!failed && job.spec->recovery == RecoveryScope::Worker) continue;
    if (!failed && worker->is_alive()) peers.push_back(job.next_from[i]);
    const std::int32_t local_rank = job.next[i].local_rank;
    job.next[i] = successor_of(*worker);
    job.next[i].local_rank = local_rank;
    job.next_from[i] = kNew;
  }
  stop_workers(step, job, peers, false);
}

void on_losses(Step& step, JobState& job, std::vector<std::uint8_t> lost) {
  if (job.spec->family != JobFamily::Group) {
    ++job.row.reschedules;
    set_phase(step, job, JobPhase::Rescheduling, Reason::WorkerLost);
    count(step, job, Counter::Reschedules);
  } else {
    lost.assign(lost.size(), 1);
  }
  recover(step, job, std::move(lost), Reason::WorkerLost);
}

void fail_start(Step& step, JobState& job) {
  std::vector<std::uint8_t> late(job.workers.size(), 0);
  for (std::size_t i = 0; i < job.workers.size(); ++i)
    late[i] = job.workers[i].state == WorkerState::Starting;
  on_failures(step, job, std::move(late), Reason::StartDeadline);
}

void recover(Step& step, JobState& job, std::vector<std::uint8_t> failed, Reason reason) {
  if (job.row.phase != JobPhase::Rescheduling) set_phase(step, job, JobPhase::Restarting, reason);
  job.change_reason = reason;
  MembershipChange change;
  change.keep.assign(job.workers.size(), 1);
  change.replace.assign(job.workers.size(), 0);
  std::vector<std::int32_t> missing(job.role_count(), 0);
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    if (job.spec->recovery == RecoveryScope::Job) failed[i] = 1;
    if (job.spec->recovery == RecoveryScope::Role && failed[i] == 0)
      for (std::size_t k = 0; k < job.workers.size(); ++k)
        if (failed[k] == 1 && job.workers[k].role == job.workers[i].role) failed[i] = 2;
    if (failed[i] == 0) continue;
    const Worker& worker = job.workers[i];
    if (!worker.lease.is_none() && step.state.ledger.node(worker.node).usable) {
      change.replace[i] = 1;
    } else {
      change.keep[i] = 0;
      ++missing[worker.role.index()];
    }
  }
  release_dropped(step, job, change);
  if (!place_missing(step, job, missing, change.added)) {
    give_all_back(step, job, reason);
    return;
  }
  form_next(step, job, change);
}

}  // namespace orrery
