#include "core/control/lifecycle.hpp"

#include <algorithm>
#include <utility>

#include "core/base/coverage_mark.hpp"
#include "core/base/invariant.hpp"
#include "core/base/planted.hpp"
#include "core/control/incident.hpp"
#include "core/control/recovery.hpp"
#include "core/control/sub_master.hpp"
#include "core/job/phase.hpp"

namespace orrery {
namespace {

void set_condition(JobState& job, JobPhase phase, Reason reason, Instant at) {
  Condition* mine = nullptr;
  for (Condition& c : job.conditions) {
    if (c.phase == phase) mine = &c;
    if (c.phase == phase || !c.status) continue;
    c.status = false;
    c.since = at;
  }
  if (mine == nullptr) {
    // A job that leaves the queue goes through four phases at least.
    if (job.conditions.size() == 1) job.conditions.reserve(4);
    mine = &job.conditions.emplace_back();
  }
  *mine = {phase, true, reason, mine->status ? mine->since : at};
}

bool is_silent(const Step& step, NodeId node) { return step.state.nodes[node.index()].silent; }

// A preempted job has at least the notice that the settings promise.
Duration drain_grace(const Step& step, const JobState& job) {
  const bool preempted = job.after_drain == AfterDrain::Wait &&
                         job.change_reason == Reason::Preempted &&
                         !planted(Bug::PreemptionGraceIgnored);
  return preempted ? std::max(job.spec->drain_grace, step.state.settings.preemption_grace)
                   : job.spec->drain_grace;
}

// A killed process may be reported as late as its node may be silent.
void set_drain_deadline(Step& step, JobState& job) {
  step.state.set_timer(job, step.at + drain_grace(step, job) + step.state.settings.node_lease);
}

void give_back(Step& step, Worker& worker) {
  step.state.due.ports_given = step.state.due.ports_given || worker.first_port > 0;
  step.state.ledger.release(std::exchange(worker.lease, LeaseId::none()), step.woken);
}

void release(Step& step, Worker& worker) {
  if (!worker.lease.is_none() && !planted(Bug::LeakLease)) give_back(step, worker);
}

// A final job is forgotten some time after the last of its workers has gone.
void retain_if_cleared(Step& step, JobState& job) {
  if (job.retained || job.draining > 0 ||
      !std::all_of(
          job.workers.begin(), job.workers.end(), [](const Worker& w) { return w.is_gone(); }))
    return;
  job.retained = true;
  step.state.retain(job);
}

Instant plus(Instant from, Duration time) {
  return time.is_forever() ? Instant::never() : from + time;
}

// When the phase that was just entered ends by itself.
Instant phase_deadline(JobState& job, Instant now) {
  switch (job.row.phase) {
    case JobPhase::Pending:
      return waits_until(job);
    case JobPhase::Starting:
      // Strict recovery starts again without a charge, so all tries share one deadline.
      if (job.failover.start_by.is_never())
        job.failover.start_by = plus(now, job.spec->start_deadline);
      return job.spec->failover.mode == RecoveryMode::Strict ? job.failover.start_by
                                                             : plus(now, job.spec->start_deadline);
    case JobPhase::Running:
      return runs_until(job);
    case JobPhase::Rescheduling:
    case JobPhase::Restarting:
    case JobPhase::Unknown:
    case JobPhase::Succeeded:
    case JobPhase::Failed:
      return Instant::never();
  }
  return Instant::never();
}

// What was asked of a sub-master or of the extension is of no interest any more.
void forget_answers(JobState& job) {
  job.failover.led = LedRecovery::None;
  job.failover.relaunching.clear();
}

// After a takeover nothing starts on a node before its list has come: it may run what the leader
// before has ordered and nobody has told this one.
bool nodes_are_heard(const Step& step, const JobState& job) {
  for (std::size_t i = 0; i < job.next.size(); ++i) {
    const NodeState& node = step.state.nodes[job.next[i].node.index()];
    if (job.next_from[i] == kNew && !node.silent && node.heard < step.state.epoch) return false;
  }
  return true;
}

// Where the first rank listens for the others.
struct MeetingPlace {
  NodeId node;
  std::int32_t port = 0;

  friend bool operator==(const MeetingPlace&, const MeetingPlace&) = default;
};

MeetingPlace meeting_place(const JobState& job) {
  if (job.workers.empty()) return {};
  return {job.workers.front().node, job.workers.front().first_port};
}

void activate(Step& step, JobState& job) {
  const std::size_t size_before = job.workers.size();
  const MeetingPlace met_before = meeting_place(job);
  const bool came_back = job.workers.empty() && !job.started_at.is_never();
  job.row.generation = job.row.generation.next();
  job.incarnation = job.incarnation.next();
  for (std::size_t i = 0; i < job.next.size(); ++i) {
    Worker& worker = job.next[i];
    if (job.next_from[i] == kNew) continue;
    const std::int32_t local_rank = worker.local_rank;
    worker = job.workers[job.next_from[i]];
    worker.local_rank = local_rank;
  }
  job.workers = std::move(job.next);
  job.next.clear();
  const std::vector<std::uint32_t> from = std::move(job.next_from);
  job.next_from.clear();
  job.after_drain = AfterDrain::Nothing;
  job.ready = 0;

  const auto size = static_cast<std::uint32_t>(job.workers.size());
  const bool same_job = size == size_before && meeting_place(job) == met_before;
  StartWorkers start{job.row.id, job.row.generation, size, {}};
  bool someone_stays = false;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    Worker& worker = job.workers[rank];
    if (from[rank] != kNew) {
      if (!same_job || from[rank] != rank) worker.placed = job.row.generation;
      if (worker.state == WorkerState::Ready) ++job.ready;
      someone_stays = someone_stays || worker.is_alive();
      continue;
    }
    if (worker.recover || came_back) {
      Notice notice = step.notice(NoticeKind::WorkerRestarted, job);
      notice.role = worker.role;
      notice.local_rank = worker.local_rank;
      notice.node = worker.node;
      step.out.notices.push_back(notice);
    }
    worker.state = WorkerState::Starting;
    worker.incarnation = job.incarnation;
    worker.born = job.row.generation;
    worker.birth_rank = Rank{rank};
    worker.environment = Generation{0};
    worker.placed = job.row.generation;
    worker.recover = false;
    worker.ordered = step.state.sequence;
    start.workers.push_back(start_of(job, rank));
  }
  if (someone_stays) tell_membership(step, job);
  if (!start.workers.empty()) step.out.orders.emplace_back(std::move(start));
  if (job.started_at.is_never()) job.started_at = step.at;
  set_phase(step, job, JobPhase::Starting, job.change_reason);
  step.woken.push_back(job.row.id);
}

}  // namespace

// Drops a membership that has not started: its own claims end, kept workers are not touched. A
// worker that was to be started again in place gets its lease back while its process still stops.
void abandon_next(Step& step, JobState& job) {
  std::vector<Worker> abandoned = std::move(job.next);
  const std::vector<std::uint32_t> from = std::move(job.next_from);
  job.next.clear();
  job.next_from.clear();
  job.blocked = 0;
  job.after_drain = AfterDrain::Nothing;
  for (std::size_t i = 0; i < abandoned.size(); ++i) {
    if (from[i] != kNew) continue;
    const auto before =
        std::find_if(job.workers.begin(), job.workers.end(), [&](const Worker& worker) {
          return abandoned[i].recover && worker.state == WorkerState::Draining &&
                 worker.incarnation == abandoned[i].incarnation &&
                 worker.birth_rank == abandoned[i].birth_rank;
        });
    if (before == job.workers.end()) {
      step.state.ledger.release(abandoned[i].lease, step.woken);
    } else {
      before->lease = abandoned[i].lease;
      step.state.ledger.begin_release(before->lease, step.woken);
    }
  }
}

void stop_workers(Step& step,
                  JobState& job,
                  const std::vector<std::uint32_t>& ranks,
                  bool give_up) {
  if (ranks.empty()) return;
  StopWorkers order{job.row.id, job.row.generation, drain_grace(step, job), {}};
  order.workers.reserve(ranks.size());
  for (const std::uint32_t rank : ranks) {
    Worker& worker = job.workers[rank];
    if (is_silent(step, worker.node)) {
      worker_gone(step, job, worker, WorkerState::Lost);
      // Nobody starts in its place: its lease would outlive the job.
      if (give_up && step.state.settings.rules >= 1) release(step, worker);
      continue;
    }
    if (worker.state == WorkerState::Ready) --job.ready;
    worker.state = WorkerState::Draining;
    ++job.draining;
    order.workers.push_back(stop_of(worker, rank));
    if (give_up && !worker.lease.is_none())
      step.state.ledger.begin_release(worker.lease, step.woken);
  }
  if (!order.workers.empty()) {
    step.out.orders.emplace_back(std::move(order));
    set_drain_deadline(step, job);
  }
}

WorkerStart start_of(const JobState& job, std::uint32_t rank) {
  const Worker& worker = job.workers[rank];
  return {Rank{rank},
          worker.role,
          worker.local_rank,
          worker.node,
          worker.incarnation,
          worker.devices,
          worker.share,
          Rank::none(),
          worker.hardware,
          worker.first_port};
}

WorkerStop stop_of(const Worker& worker, std::uint32_t rank) {
  return {Rank{rank}, worker.node, worker.incarnation, worker.birth_rank};
}

Worker successor_of(const Ledger& ledger, Worker& worker) {
  Worker again = worker;
  if (!worker.lease.is_none()) again.first_port = ledger.lease(worker.lease).ports.first;
  again.state = WorkerState::Claimed;
  again.exit_code = 0;
  again.recover = true;
  worker.lease = LeaseId::none();
  return again;
}

bool all_required_succeeded(const JobState& job) {
  for (const Worker& worker : job.workers)
    if (job.spec->roles[worker.role.index()].completion == Completion::Required &&
        worker.state != WorkerState::Succeeded &&
        !(job.spec->failover.trigger == FailureTrigger::Skip && is_set_aside(job, worker)))
      return false;
  return !job.workers.empty();
}

void set_phase(Step& step, JobState& job, JobPhase to, Reason reason) {
  JobRow& row = job.row;
  job.reason = reason;
  step.state.touch(row.id);
  if (row.phase == to && !job.conditions.empty()) {
    set_condition(job, to, reason, step.at);
    return;
  }
  invariant(row.phase == to || is_legal(row.phase, to), "a job goes along a legal edge");
  Notice notice = step.notice(NoticeKind::PhaseChanged, job);
  notice.from = row.phase;
  notice.to = to;
  notice.reason = reason;
  step.out.notices.push_back(notice);
  row.phase = to;
  set_condition(job, to, reason, step.at);
  step.state.set_timer(job, phase_deadline(job, step.at));
}

Instant waits_until(const JobState& job) {
  for (const Condition& condition : job.conditions)
    if (condition.phase == JobPhase::Pending && condition.status)
      return plus(condition.since, job.spec->wait_deadline);
  return Instant::never();
}

void look_again(Step& step, JobState& job, Instant at) {
  const bool waits = job.row.phase == JobPhase::Pending && step.state.settings.rules >= 1;
  step.state.set_timer(job, waits ? std::min(at, waits_until(job)) : at);
}

Instant runs_until(const JobState& job) { return plus(job.started_at, job.spec->run_deadline); }

void count(Step& step, JobState& job, Counter counter) {
  Notice notice = step.notice(NoticeKind::Counted, job);
  notice.counter = counter;
  switch (counter) {
    case Counter::Restarts:
      notice.count = static_cast<std::int32_t>(job.row.restarts);
      break;
    case Counter::Reschedules:
      notice.count = static_cast<std::int32_t>(job.row.reschedules);
      break;
    case Counter::Preemptions:
      notice.count = static_cast<std::int32_t>(job.row.preemptions);
      break;
    case Counter::NodeLosses:
      notice.count = static_cast<std::int32_t>(job.row.node_losses);
      break;
    case Counter::RoleRestarts:
      for (const std::uint32_t restarts : job.failover.role_restarts)
        notice.count += static_cast<std::int32_t>(restarts);
      break;
    case Counter::JobRestarts:
      notice.count = static_cast<std::int32_t>(job.failover.job_restarts);
      break;
    case Counter::NodesRelaunched:
      notice.count = static_cast<std::int32_t>(job.failover.nodes_relaunched);
      break;
  }
  step.out.notices.push_back(notice);
}

void ignore(Step& step, const JobState* job, Ignored why, std::size_t event_kind) {
  ++step.state.totals.ignored;
  Notice notice;
  notice.kind = NoticeKind::IgnoredReport;
  notice.at = step.at;
  notice.occurred_at = step.occurred_at;
  if (job != nullptr) {
    notice.job = job->row.id;
    notice.generation = job->row.generation;
  }
  notice.ignored = why;
  notice.event_kind = static_cast<std::uint16_t>(event_kind);
  step.out.notices.push_back(notice);
}

void release_dropped(Step& step, JobState& job, const MembershipChange& change) {
  std::vector<std::uint32_t> dropped;
  std::vector<std::uint32_t> replaced;
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    Worker& worker = job.workers[rank];
    const bool replace = change.replace[rank] != 0;
    if (!replace && change.keep[rank] != 0) continue;
    if (worker.is_gone()) {
      if (!replace) release(step, worker);
    } else if (worker.state != WorkerState::Draining) {
      (replace ? replaced : dropped).push_back(rank);
    }
  }
  stop_workers(step, job, dropped, true);
  stop_workers(step, job, replaced, false);
}

void give_all_back(Step& step, JobState& job, Reason reason) {
  if (job.after_drain != AfterDrain::Nothing) abandon_next(step, job);
  forget_answers(job);
  MembershipChange nobody;
  nobody.keep.assign(job.workers.size(), 0);
  nobody.replace.assign(job.workers.size(), 0);
  job.after_drain = AfterDrain::Wait;
  job.change_reason = reason;
  if (job.row.phase == JobPhase::Starting || job.row.phase == JobPhase::Running)
    set_phase(step, job, JobPhase::Rescheduling, reason);
  release_dropped(step, job, nobody);
  advance(step, job);
}

void advance(Step& step, JobState& job) {
  if (job.after_drain == AfterDrain::Nothing || job.draining > 0) return;
  if (job.after_drain == AfterDrain::Wait) {
    job.after_drain = AfterDrain::Nothing;
    for (Worker& worker : job.workers) release(step, worker);
    job.workers.clear();
    job.ready = 0;
    note_allocation(step, job);
    if (job.row.phase != JobPhase::Pending)
      set_phase(step, job, JobPhase::Pending, job.change_reason);
    else if (step.state.settings.rules >= 1)
      step.state.set_timer(job, waits_until(job));  // Its claim had a timer of its own.
    step.state.enqueue(job);
    step.state.due.capacity = true;
    return;
  }
  if (job.blocked > 0 && !planted(Bug::StartBeforeRelease)) return;
  if (!nodes_are_heard(step, job)) {
    reached(Mark::WaitsForLists);
    look_again(step, job, step.at + step.state.settings.node_lease);
    return;
  }
  if (step.at < job.not_before) {
    reached(Mark::BackoffWaited);
    look_again(step, job, job.not_before);
    return;
  }
  activate(step, job);
}

void settle_woken(Step& step) {
  for (std::size_t i = 0; i < step.woken.size(); ++i) {
    JobState* job = step.state.find(step.woken[i]);
    if (job == nullptr || (i > 0 && step.woken[i] == step.woken[i - 1] && job->blocked == 0))
      continue;
    if (job->blocked > 0)
      job->blocked = static_cast<std::uint32_t>(
          std::count_if(job->next.begin(), job->next.end(), [&](const Worker& worker) {
            return worker.state == WorkerState::Claimed &&
                   step.state.ledger.lease(worker.lease).stage == LeaseStage::Claimed;
          }));
    settle(step, *job);
    // A request that came in the middle of a change has only set its target so far.
    if (!job->targets.empty()) meet_target(step, *job);
  }
  step.woken.clear();
}

void worker_gone(Step& step, JobState& job, Worker& worker, WorkerState state) {
  if (worker.state == WorkerState::Ready) --job.ready;
  const bool was_draining = worker.state == WorkerState::Draining;
  worker.state = was_draining ? WorkerState::Stopped : state;
  if (was_draining) --job.draining;
  // A failed or lost worker keeps its lease: its successor starts in place.
  const bool over = is_final(job.row.phase);
  if ((was_draining || state == WorkerState::Succeeded || over) && !worker.lease.is_none())
    give_back(step, worker);
  if (over) retain_if_cleared(step, job);
}

void become_running(Step& step, JobState& job, Reason reason) {
  set_phase(step, job, JobPhase::Running, reason);
  if (!planted(Bug::StartByNotCleared)) job.failover.start_by = Instant::never();
  close_incident(step, job);
  if (!job.targets.empty()) meet_target(step, job);
}

void settle(Step& step, JobState& job) {
  if (is_final(job.row.phase)) return;
  if (all_required_succeeded(job)) {
    finish(step, job, JobPhase::Succeeded, Reason::RequiredSucceeded);
    return;
  }
  if (job.row.phase == JobPhase::Unknown) return;
  if (outgrows_recovery(job)) {
    abandon_next(step, job);
    return settle_failures(step, job);
  }
  if (job.after_drain != AfterDrain::Nothing) {
    join_recovery(step, job);
    advance(step, job);
    return;
  }
  if (job.failover.led != LedRecovery::None && settle_led_recovery(step, job)) return;
  if (awaits_answer(job)) return;
  if (restart_outdated(step, job)) return;
  if (job.ready == job.workers.size()) {
    if (job.row.phase == JobPhase::Starting && !job.workers.empty())
      all_are_up(step, job, Reason::AllReady);
    return;
  }
  settle_failures(step, job);
}

void kill_late(Step& step, JobState& job) {
  reached(Mark::KilledLate);
  StopWorkers order{job.row.id, job.row.generation, Duration::zero(), {}};
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    const Worker& worker = job.workers[rank];
    if (worker.state != WorkerState::Draining) continue;
    order.workers.push_back(stop_of(worker, rank));
  }
  step.out.orders.emplace_back(std::move(order));
  set_drain_deadline(step, job);
}

void stop_remaining(Step& step, JobState& job) {
  std::vector<std::uint32_t> running;
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    const Worker& worker = job.workers[rank];
    if (!worker.is_gone() && worker.state != WorkerState::Draining) running.push_back(rank);
  }
  stop_workers(step, job, running, true);
}

void finish(Step& step, JobState& job, JobPhase phase, Reason reason) {
  State& state = step.state;
  const bool held = job.row.holds;
  if (!held) state.dequeue(job);
  if (job.after_drain != AfterDrain::Nothing) abandon_next(step, job);
  forget_answers(job);
  set_phase(step, job, phase, reason);
  close_incident(step, job);
  job.finished_at = step.occurred_at;
  for (Worker& worker : job.workers)
    if (worker.is_gone()) release(step, worker);
  if (job.spec->clean_pods != CleanPodPolicy::None || reason == Reason::StoppedByUser)
    stop_remaining(step, job);
  if (!job.conditions.empty() && !job.started_at.is_never())
    step.out.orders.emplace_back(CleanJob{job.row.id, job.spec->clean_pods});
  job.elastic_nodes.clear();
  job.row.replicas = 0;
  state.set_held(job, false, 0);
  if (job.wants_more) std::erase(state.wants_more, job.row.id);
  job.wants_more = false;
  if (held)
    state.due.completion = true;
  else if (reason != Reason::InvalidSpec)
    state.due.capacity = true;  // Whoever it kept waiting in the queue may go ahead.
  ++(phase == JobPhase::Succeeded ? state.totals.succeeded : state.totals.failed);
  state.note_final();
  retain_if_cleared(step, job);
}

}  // namespace orrery
