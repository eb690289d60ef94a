#include "core/recovery/incident.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/coverage_mark.hpp"
#include "core/base/planted.hpp"
#include "core/base/random.hpp"
#include "core/recovery/ending.hpp"
#include "core/recovery/failure_notes.hpp"

namespace orrery {
namespace {

bool is_window_over(const JobState& job, Instant since, Instant at) {
  const Duration window = job.spec->failover->reset_window;
  return !window.is_forever() && at - since >= window;
}

// Before rules 4 those of preemptions were cleared with the others, and counts that people see were
// never cleared.
void clear_old_budgets(const Step& step, JobState& job) {
  JobFailover& failover = job.failover.edit();
  if (failover.incidents == 0 || !is_window_over(job, failover.last_incident, step.at)) return;
  failover.restarts_used = 0;
  failover.node_losses_used = 0;
  for (ReplicaRecord& record : failover.replicas) record.failures = record.node_failures = 0;
  if (step.state.settings.rules < 4) {
    failover.preemptions_used = 0;
    return;
  }
  failover.cleared.job_restarts = failover.job_restarts;
  failover.cleared.nodes_relaunched = failover.nodes_relaunched;
  failover.cleared.role_restarts = failover.role_restarts;
}

Notice incident_notice(const Step& step, const JobState& job, NoticeKind kind) {
  const Incident& open = job.failover->open;
  Notice notice = step.notice(kind, job);
  notice.incident = open.number;
  notice.scope = open.scope;
  notice.reason = open.cause;
  notice.charged = open.charged;
  notice.role = open.role;
  notice.local_rank = open.local_rank;
  notice.node = open.node;
  return notice;
}

const Condition* condition_of(const JobState& job, JobPhase phase) {
  const auto found = std::find_if(job.conditions.begin(),
                                  job.conditions.end(),
                                  [&](const Condition& c) { return c.phase == phase; });
  return found == job.conditions.end() ? nullptr : &*found;
}

// Since when the job is not Running, where it has not been stopped since: it is out of contact, or
// was. Never: it runs, or no work went on.
Instant out_of_contact_since(const JobState& job) {
  const Condition* running = condition_of(job, JobPhase::Running);
  if (running == nullptr || running->status) return Instant::never();
  for (const JobPhase stopped : {JobPhase::Pending, JobPhase::Rescheduling, JobPhase::Restarting})
    if (const Condition* c = condition_of(job, stopped); c != nullptr && c->since >= running->since)
      return Instant::never();
  return running->since;
}

// Since when the present workers may have been at work: those before them saved their work when
// they were told to stop, and a rate that is the same again is not told anew.
Instant at_work_since(const JobState& job) {
  const auto until = [&](JobPhase phase) {
    const Condition* c = condition_of(job, phase);
    return c == nullptr ? Instant::zero() : c->status ? Instant::never() : c->since;
  };
  const Instant placed = until(JobPhase::Pending);
  const Instant started = until(JobPhase::Starting);
  const bool all_began_together =
      std::all_of(job.workers.begin(), job.workers.end(), [&](const Worker& worker) {
        return worker.born == job.row.generation;
      });
  // After a time out of contact a job counts as Starting whose workers may have been at work.
  const Condition* unknown = condition_of(job, JobPhase::Unknown);
  const bool was_lost = unknown != nullptr && unknown->since >= placed && unknown->since < started;
  return all_began_together && !was_lost ? std::max(placed, started) : placed;
}

// What the job goes back by, as far as the controller has been told: all that was done until the
// cause occurred and was not reported as saved. `before`: when the last incident was opened.
void tell_lost_work(Step& step, const JobState& job, Reason cause, Instant before) {
  // Who moves saves first, and a start that found its port in use has taken nothing down.
  if (cause == Reason::WorkerStraggling || cause == Reason::PortInUse) return;
  const Instant left = out_of_contact_since(job);
  if (job.row.phase != JobPhase::Running && left.is_never()) return;
  const ProgressView& progress = job.row.progress;
  // Told before the last incident, which took it back: of the time since nothing is known.
  if (progress.as_of < before) return;
  Instant until = std::min(step.occurred_at, left);
  // A node that is found silent was heard last a lease before, also where it comes back empty.
  if (cause == Reason::NodeLost || (step.after_silence && !left.is_never()))
    until = std::min(until, std::min(step.at, left) - step.state.settings.node_lease);
  // Its work stood still for so long before that was noticed.
  const Duration hang_after = job.spec->failover->hang_after;
  if (cause == Reason::WorkerHung && !hang_after.is_forever()) until = until - hang_after;
  const Duration since =
      std::max(until - std::max(progress.as_of, at_work_since(job)), Duration::zero());
  const double done = progress.done + progress.rate * since.in_seconds();
  if (done <= progress.checkpointed) return;
  Notice notice = step.notice(NoticeKind::WorkLost, job);
  notice.work = done - progress.checkpointed;
  step.out.notices.push_back(notice);
}

bool is_charged(Reason cause) {
  return cause == Reason::WorkerFailed || cause == Reason::StartDeadline ||
         cause == Reason::WorkerHung;
}

}  // namespace

void open_incident(Step& step,
                   JobState& job,
                   IncidentScope scope,
                   Reason cause,
                   std::uint32_t root,
                   NodeId node,
                   std::uint32_t teller) {
  close_incident(step, job);
  clear_old_budgets(step, job);
  JobFailover& failover = job.failover.edit();
  Incident& open = failover.open;
  open = Incident{};
  open.number = ++failover.incidents;
  // A sub-master answers by the number that it was told: it has to hear of this one.
  if (step.state.settings.rules >= 1) failover.told = Incarnation{};
  open.scope = scope;
  open.cause = cause;
  open.since = step.occurred_at;
  open.node = node;
  if (root < job.workers.size()) {
    const Worker& worker = job.workers[root];
    open.role = worker.role;
    open.local_rank = worker.local_rank;
    open.node = worker.node;
    // A sub-master has a budget of its own.
    if (cause != Reason::WorkerStraggling)
      note_failure(step, job, teller < job.workers.size() ? teller : root, cause);
    open.charged = is_charged(cause) && job.spec->roles[worker.role.index()].master_of.is_none();
  } else if (step.state.settings.rules >= 3) {
    open.charged = is_charged(cause);
  }
  const Instant before = std::exchange(failover.last_incident, step.at);
  step.out.notices.push_back(incident_notice(step, job, NoticeKind::IncidentOpened));
  tell_lost_work(step, job, cause, before);
}

void close_incident(Step& step, JobState& job) {
  if (!job.failover->open.is_open()) return;
  step.out.notices.push_back(incident_notice(step, job, NoticeKind::IncidentClosed));
  job.failover.edit().open = Incident{};
}

void fail_at_limit(
    Step& step, JobState& job, Limit limit, std::uint32_t count, std::int32_t value) {
  JobFailover& failover = job.failover.edit();
  failover.limit = limit;
  failover.limit_count = count;
  failover.limit_value = value;
  if (const Incident& open = failover.open; open.is_open()) {
    failover.limit_role = open.role;
    failover.limit_rank = open.local_rank;
    failover.limit_node = open.node;
  }
  finish(step,
         job,
         JobPhase::Failed,
         limit == Limit::Backoff ? Reason::BackoffLimitReached : Reason::FailureLimitReached);
}

bool spend(Step& step,
           JobState& job,
           Limit limit,
           std::uint32_t& count,
           std::int32_t value,
           std::uint32_t cleared) {
  const std::uint32_t used = ++count - cleared;
  if (planted(Bug::BackoffLimitOffByOne) && limit == Limit::Backoff) ++value;
  if (value == kUnlimited || used <= static_cast<std::uint32_t>(value)) return true;
  reached(limit == Limit::Backoff ? Mark::BackoffLimit : Mark::FailureLimit);
  fail_at_limit(step, job, limit, used, value);
  return false;
}

bool charge_restart(Step& step, JobState& job) {
  std::uint32_t& used = job.failover.edit().restarts_used;
  if (!spend(step, job, Limit::Backoff, used, job.spec->backoff_limit)) return false;
  if (planted(Bug::ChargeTwice)) ++job.row.restarts;
  ++job.row.restarts;
  count(step, job, Counter::Restarts);
  step.state.set_timer(job, TimerKind::Backoff, step.at + backoff_delay(step, job, used));
  return true;
}

bool charge_preemption(Step& step, JobState& job) {
  JobFailover& failover = job.failover.edit();
  if (step.state.settings.rules >= 4 && is_window_over(job, failover.last_preemption, step.at))
    failover.preemptions_used = 0;
  failover.last_preemption = step.at;
  return spend(step,
               job,
               Limit::Preemptions,
               failover.preemptions_used,
               job.spec->failover->preemptions_max);
}

Duration backoff_delay(const Step& step, const JobState& job, std::uint32_t restart) {
  const Duration longest = job.spec->backoff_max;
  Duration delay = job.spec->backoff_base;
  for (std::uint32_t i = 1; i < restart && delay < longest; ++i)
    delay = delay.ns > longest.ns / 2 ? longest : delay * 2;
  delay = std::min(delay, longest);
  const double jitter = job.spec->failover->jitter;
  if (jitter <= 0) return delay;
  Random random = Random::stream(step.state.settings.seed,
                                 "backoff/" + std::to_string(job.row.id.value) + "/" +
                                     std::to_string(job.failover->incidents));
  return Duration::from_seconds(delay.in_seconds() * (1 - jitter * random.uniform()));
}

ReplicaRecord& record_of(JobState& job, RoleIndex role, std::int32_t local_rank) {
  std::vector<ReplicaRecord>& replicas = job.failover.edit().replicas;
  for (ReplicaRecord& record : replicas)
    if (record.role == role && record.local_rank == local_rank) return record;
  ReplicaRecord& fresh = replicas.emplace_back();
  fresh.role = role;
  fresh.local_rank = local_rank;
  return fresh;
}

}  // namespace orrery
