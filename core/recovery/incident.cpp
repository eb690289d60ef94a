#include "core/recovery/incident.hpp"

#include <algorithm>
#include <string>

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

// What the job goes back by, as far as the controller has been told.
void tell_lost_work(Step& step, const JobState& job) {
  const ProgressView& progress = job.row.progress;
  if (job.row.phase != JobPhase::Running) return;
  const double done = progress.done + progress.rate * (step.at - progress.as_of).in_seconds();
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
  failover.last_incident = step.at;
  step.out.notices.push_back(incident_notice(step, job, NoticeKind::IncidentOpened));
  tell_lost_work(step, job);
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
