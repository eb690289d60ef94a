#include "core/recovery/recovery.hpp"

#include <algorithm>
#include <utility>

#include "core/base/coverage_mark.hpp"
#include "core/base/invariant.hpp"
#include "core/base/planted.hpp"
#include "core/membership/advancing.hpp"
#include "core/membership/forming.hpp"
#include "core/membership/places.hpp"
#include "core/membership/placing.hpp"
#include "core/membership/releasing.hpp"
#include "core/membership/seating.hpp"
#include "core/recovery/blame.hpp"
#include "core/recovery/ending.hpp"
#include "core/recovery/failure_notes.hpp"
#include "core/recovery/incident.hpp"
#include "core/recovery/node_health.hpp"
#include "core/recovery/relaunch.hpp"
#include "core/recovery/sub_master.hpp"
#include "core/state/phases.hpp"

namespace orrery {
namespace {

constexpr std::uint32_t kNoRank = UINT32_MAX;

// A program that ended by itself with an error; beyond 127 it was ended by a signal.
bool is_program_error(const Worker& worker) {
  return worker.state == WorkerState::Failed && worker.exit_code >= 1 && worker.exit_code <= 127;
}

// A member of the coming membership that was to stay and could start again where it is; else null.
Worker* staying(const Step& step, JobState& job, std::size_t member) {
  if (job.next_from[member] == kNew) return nullptr;
  Worker& worker = job.workers[job.next_from[member]];
  const bool in_place = !worker.lease.is_none() && step.state.ledger.node(worker.node).usable;
  return in_place ? &worker : nullptr;
}

std::uint32_t first_of(const RankFlags& flags) {
  const auto first = std::find_if(flags.begin(), flags.end(), [](auto f) { return f != 0; });
  return first == flags.end() ? kNoRank : static_cast<std::uint32_t>(first - flags.begin());
}

bool is_sub_master(const JobState& job, const Worker& worker) {
  return !job.spec->roles[worker.role.index()].master_of.is_none();
}

// The lowest rank that failed. A sub-master is the root only where no other failed.
std::uint32_t root_of(const JobState& job, const RankFlags& flags) {
  for (std::uint32_t rank = 0; rank < flags.size(); ++rank)
    if (flags[rank] != 0 && !is_sub_master(job, job.workers[rank])) return rank;
  return first_of(flags);
}

IncidentScope incident_scope(RecoveryScope scope) {
  switch (scope) {
    case RecoveryScope::Worker:
      return IncidentScope::Worker;
    case RecoveryScope::Role:
      return IncidentScope::Role;
    case RecoveryScope::Job:
      return IncidentScope::Job;
  }
  return IncidentScope::Worker;
}

// How far a failure of `failed` reaches. `erred`: its program has ended with an error of its own.
RecoveryScope scope_of(const JobState& job, const Worker& failed, bool erred) {
  if (!job.spec->roles[failed.role.index()].master_of.is_none()) return RecoveryScope::Worker;
  if (!sub_master_of(*job.spec, failed.role).is_none()) return RecoveryScope::Role;
  if (erred) {
    if (job.spec->failover->response == FailureResponse::Role) return RecoveryScope::Role;
    if (job.spec->failover->response == FailureResponse::Job) return RecoveryScope::Job;
  }
  return job.spec->recovery;
}

// Widens the flags to the scope: 2 marks those that go along.
void widen(const JobState& job, RankFlags& failed, RecoveryScope scope) {
  if (scope == RecoveryScope::Worker) return;
  RankFlags role_failed(job.role_count(), 0);
  for (std::size_t i = 0; i < failed.size(); ++i)
    if (failed[i] != 0) role_failed[job.workers[i].role.index()] = 1;
  for (std::size_t i = 0; i < failed.size(); ++i)
    if (failed[i] == 0 &&
        (scope == RecoveryScope::Job || role_failed[job.workers[i].role.index()] != 0))
      failed[i] = 2;
}

// Counts restarts of whole roles, or of the whole job. False: a limit is passed, the job has ended.
bool count_wide_restarts(Step& step, JobState& job, const RankFlags& failed, RecoveryScope scope) {
  JobFailover& failover = job.failover.edit();
  const FailoverSpec& limits = *job.spec->failover;
  if (scope == RecoveryScope::Job) {
    if (!spend(step,
               job,
               Limit::JobRestarts,
               failover.job_restarts,
               limits.job_restarts_max,
               failover.cleared.job_restarts))
      return false;
    count(step, job, Counter::JobRestarts);
    return true;
  }
  if (scope == RecoveryScope::Worker) return true;
  failover.role_restarts.resize(job.role_count(), 0);
  RankFlags counted(job.role_count(), 0);
  bool any = false;
  for (std::size_t i = 0; i < failed.size(); ++i) {
    const std::size_t role = job.workers[i].role.index();
    // Sub-masters are no role of the user's.
    if (failed[i] == 0 || counted[role] != 0 || !job.spec->roles[role].master_of.is_none())
      continue;
    counted[role] = 1;
    any = true;
    const std::vector<std::uint32_t>& cleared = failover.cleared.role_restarts;
    if (!spend(step,
               job,
               Limit::RoleRestarts,
               failover.role_restarts[role],
               limits.role_restarts_max,
               role < cleared.size() ? cleared[role] : 0))
      return false;
  }
  if (any) count(step, job, Counter::RoleRestarts);
  return true;
}

// What the root's own failure says: of the replica, and of the replica on its node. Returns false
// where the job has been ended.
bool charge_replica(Step& step, JobState& job, const Worker& root, bool& relaunch) {
  const FailoverSpec& limits = *job.spec->failover;
  const bool master = !job.spec->roles[root.role.index()].master_of.is_none();
  ReplicaRecord& record = record_of(job, root.role, root.local_rank);
  if (record.node != root.node) record.node_failures = 0;
  record.node = root.node;
  ++record.node_failures;
  relaunch = limits.worker_node_failures_max != kUnlimited &&
             record.node_failures > static_cast<std::uint32_t>(limits.worker_node_failures_max);
  // A sub-master is not charged to the job, so the same number bounds it by itself.
  const std::int32_t most = limits.worker_failures_max != kUnlimited ? limits.worker_failures_max
                            : master                                 ? job.spec->backoff_limit
                                                                     : kUnlimited;
  std::uint32_t failures = record.failures;
  const bool within = spend(step, job, Limit::WorkerFailures, failures, most);
  record_of(job, root.role, root.local_rank).failures = failures;
  if (within && master)
    step.state.set_timer(job, TimerKind::Backoff, step.at + backoff_delay(step, job, failures));
  return within;
}

// One more to the budget of lost nodes and devices. False: it is used up, the job has been ended.
bool charge_node(Step& step, JobState& job) {
  if (!spend(step,
             job,
             Limit::NodeLosses,
             job.failover.edit().node_losses_used,
             job.spec->failover->node_losses_max))
    return false;
  ++job.row.node_losses;
  count(step, job, Counter::NodeLosses);
  step.state.touch(job.row.id);
  return true;
}

// The same for a node that a worker blames. Nothing but that worker says so, so that what starts
// again waits as after any failure: a program that always does would never stop starting.
bool charge_blamed_node(Step& step, JobState& job) {
  if (!charge_node(step, job)) return false;
  const Duration delay = backoff_delay(step, job, job.failover->node_losses_used);
  step.state.set_timer(job, TimerKind::Backoff, step.at + delay);
  return true;
}

// Whether the change under way is a recovery that leaves the job as large as it was.
bool recovers_at_size(const JobState& job) {
  const auto elastic = [&](const std::vector<Worker>& workers) {
    return std::count_if(workers.begin(), workers.end(), [&](const Worker& worker) {
      return worker.role == job.row.elastic;
    });
  };
  return job.after_drain == AfterDrain::Start && job.row.phase == JobPhase::Restarting &&
         job.next.size() == job.workers.size() && elastic(job.next) == elastic(job.workers);
}

// Whether the change under way leaves the worker as it is: running, or done.
bool stays_in(const JobState& job, std::uint32_t rank) {
  const Worker& worker = job.workers[rank];
  const bool well = worker.state == WorkerState::Starting || worker.state == WorkerState::Ready ||
                    worker.state == WorkerState::Succeeded || is_set_aside(job, worker);
  return well && std::find(job.next_from.begin(), job.next_from.end(), rank) != job.next_from.end();
}

// A change that was decided, while an incident may still be open: the workers that it stops have
// successors in it, which must not be lost with it.
bool is_by_decision(Reason change) {
  return change == Reason::Granted || change == Reason::Rescaled || change == Reason::Moved ||
         change == Reason::NodeLeaving;
}

// A job that has to recover waits for no silent node any more: what it had there is lost too.
void lose_silent(Step& step, JobState& job, RankFlags& lost) {
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    Worker& worker = job.workers[i];
    if (worker.is_gone() || !step.state.nodes[worker.node.index()].silent) continue;
    worker_gone(step, job, worker, WorkerState::Lost);
    lost[i] = 1;
  }
}

// Workers that did not come up are started again, without a charge.
void start_again(Step& step, JobState& job) {
  ignore(
      step, &job, Ignored::NotInThisPhase, EventKinds(std::in_place_type<WorkersChanged>).index());
  step.state.set_timer(job, TimerKind::Backoff, step.at + job.spec->backoff_base);
  resume_recovery(step, job, Reason::WorkerFailed, RecoveryScope::Worker);
}

}  // namespace

bool place_missing(Step& step,
                   const JobState& job,
                   const std::vector<std::int32_t>& missing,
                   std::span<const std::uint8_t> kept,
                   std::vector<Placed>& added) {
  for (std::size_t r = 0; r < missing.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    const RoleSpec& spec = job.spec->roles[r];
    if (missing[r] > 0 && spec.is_seated()) {
      // A virtual cluster that lost a node is formed anew as a whole, from the queue.
      if (spec.workers.is_set()) return false;
      const auto size = static_cast<std::int32_t>(std::count_if(
          job.workers.begin(), job.workers.end(), [&](const Worker& w) { return w.role == role; }));
      add_missing_seats(job, role, size, kept, added);
      continue;
    }
    const bool elastic = role == job.row.elastic && job.row.preemptible;
    const std::int32_t spare = elastic ? job.row.replicas - job.row.min_replicas : 0;
    std::vector<NodeCount> nodes;
    std::int32_t want = missing[r];
    while (want > 0 && !find_nodes(step, job, demand_of(step, job, role), want, nodes)) --want;
    if (missing[r] - want > std::max(spare, 0)) return false;
    for (const NodeCount& n : nodes) added.push_back({role, n});
  }
  return fits_together(step, job, added);
}

bool charge_master(Step& step, JobState& job, const Worker& master) {
  bool relaunch = false;
  return charge_replica(step, job, master, relaunch);
}

bool is_set_aside(const JobState& job, const Worker& worker) {
  return job.spec->failover->trigger != FailureTrigger::Now && is_program_error(worker);
}

void on_failures(Step& step, JobState& job, RankFlags failed, Reason reason) {
  const std::uint32_t lowest = root_of(job, failed);
  const bool says = lowest != kNoRank && reason == Reason::WorkerFailed;
  const Verdict verdict =
      says ? verdict_of(job, failed, lowest) : Verdict{Blame::Mine, lowest, lowest};
  const std::uint32_t rank = verdict.root;
  // No worker in particular: the start as a whole was late.
  const Worker root = rank == kNoRank ? Worker{} : job.workers[rank];
  // The root itself, unless that is a peer which this one blames.
  const Worker teller = rank == kNoRank ? Worker{} : job.workers[verdict.teller];
  if (verdict.blame == Blame::Node) reason = Reason::NodeBlamed;
  const bool erred = reason == Reason::WorkerFailed && is_program_error(teller);
  if (erred && job.spec->failover->response == FailureResponse::Stop) {
    note_failure(step, job, verdict.teller, reason);
    finish(step, job, JobPhase::Failed, Reason::WorkerErred);
    return;
  }
  const RecoveryScope scope = rank == kNoRank ? job.spec->recovery : scope_of(job, teller, erred);
  // A sub-master that dies while it leads belongs to the incident that it leads out of.
  const bool leads = job.failover->led != LedRecovery::None && rank != kNoRank &&
                     job.spec->roles[root.role.index()].master_of == job.failover->led_role;
  if (leads) return restart_sub_master(step, job);
  open_incident(step, job, incident_scope(scope), reason, rank, NodeId::none(), verdict.teller);
  if (job.failover->open.charged && !charge_restart(step, job)) return;
  bool relaunch = false;
  if (rank != kNoRank) note_node_incident(step, root.node);
  if (reason == Reason::NodeBlamed) {
    if (!charge_blamed_node(step, job)) return;
  } else if (rank != kNoRank && !charge_replica(step, job, root, relaunch)) {
    return;
  }
  // A recovery that is led is not left half done: the next failure there asks for the node.
  if (relaunch && job.failover->led == LedRecovery::None) {
    begin_relaunch(step, job, root.node, reason);
  } else if (rank != kNoRank && !sub_master_of(*job.spec, teller.role).is_none()) {
    begin_led_recovery(step, job, teller.role, reason);
  } else {
    recover(step, job, std::move(failed), reason, scope);
  }
}

void on_node_loss(Step& step, JobState& job, RankFlags lost, NodeId node, Reason reason) {
  if (job.row.phase == JobPhase::Unknown && step.state.settings.rules >= 4)
    lose_silent(step, job, lost);
  open_incident(step, job, IncidentScope::Node, reason, kNoRank, node);
  if (!charge_node(step, job)) return;
  if (recovers_at_size(job)) {
    // In the middle of a recovery: it begins anew. Who lives and was to stay goes on.
    for (std::size_t i = 0; i < lost.size(); ++i)
      if (!stays_in(job, static_cast<std::uint32_t>(i))) lost[i] = 1;
    abandon_next(step, job);
    recover(step, job, std::move(lost), reason, job.spec->recovery);
  } else if (job.after_drain != AfterDrain::Nothing || job.row.phase == JobPhase::Pending) {
    // In the middle of a change: the plan it followed is void, so it starts over from the queue.
    give_all_back(step, job, reason);
  } else {
    recover(step, job, std::move(lost), reason, job.spec->recovery);
  }
}

void settle_failures(Step& step, JobState& job) {
  // Nearly always nothing has failed.
  const bool any_trouble =
      std::any_of(job.workers.begin(), job.workers.end(), [](const Worker& worker) {
        return worker.state == WorkerState::Failed || worker.state == WorkerState::Lost;
      });
  if (!any_trouble && job.row.phase != JobPhase::Starting) return;
  RankFlags failed(job.workers.size(), 0);
  RankFlags lost(job.workers.size(), 0);
  bool any_failed = false;
  bool any_lost = false;
  bool any_aside = false;
  bool others_ended = true;
  bool all_up = !job.workers.empty();
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    const Worker& worker = job.workers[i];
    const bool aside = is_set_aside(job, worker);
    failed[i] = worker.state == WorkerState::Failed && !aside;
    lost[i] = worker.state == WorkerState::Lost;
    any_failed = any_failed || failed[i] != 0;
    any_lost = any_lost || lost[i] != 0;
    any_aside = any_aside || aside;
    const bool ended = worker.state == WorkerState::Succeeded || aside;
    const bool required = job.spec->roles[worker.role.index()].completion == Completion::Required;
    others_ended = others_ended && (ended || !required);
    all_up = all_up && (worker.state == WorkerState::Ready || ended);
  }
  if (any_aside && others_ended && job.spec->failover->trigger == FailureTrigger::AtEnd)
    for (std::size_t i = 0; i < job.workers.size(); ++i)
      if (is_set_aside(job, job.workers[i])) {
        failed[i] = 1;
        any_failed = true;
      }
  // Strict recovery counts what fails while Running only; the start deadline bounds the rest.
  if ((any_failed || any_lost) && job.row.phase == JobPhase::Starting &&
      job.spec->failover->mode == RecoveryMode::Strict) {
    if (any_failed) note_failure(step, job, root_of(job, failed), Reason::WorkerFailed);
    return start_again(step, job);
  }
  if (any_failed) {
    on_failures(step, job, std::move(failed), Reason::WorkerFailed);
  } else if (any_lost) {
    on_losses(step, job, std::move(lost));
  } else if (all_up && job.row.phase == JobPhase::Starting) {
    all_are_up(step, job, Reason::AllReady);
  }
}

bool outgrows_recovery(const JobState& job) {
  const Incident& open = job.failover->open;
  if (job.after_drain != AfterDrain::Start || is_by_decision(job.change_reason) ||
      !open.is_open() || open.role.is_none() ||
      job.spec->roles[open.role.index()].master_of.is_none() ||
      job.failover->led != LedRecovery::None)
    return false;
  return std::any_of(job.workers.begin(), job.workers.end(), [&](const Worker& worker) {
    return worker.state == WorkerState::Failed && !is_sub_master(job, worker) &&
           !is_set_aside(job, worker);
  });
}

void join_recovery(Step& step, JobState& job) {
  if (job.after_drain != AfterDrain::Start || !job.failover->open.is_open() ||
      job.row.phase != JobPhase::Restarting)
    return;
  RankFlags role_failed(job.role_count(), 0);
  for (std::size_t i = 0; i < job.next.size(); ++i)
    if (const Worker* worker = staying(step, job, i);
        worker != nullptr && worker->state == WorkerState::Failed && !is_set_aside(job, *worker))
      role_failed[worker->role.index()] = 1;
  std::vector<std::uint32_t> peers;
  for (std::size_t i = 0; i < job.next.size(); ++i) {
    Worker* worker = staying(step, job, i);
    if (worker == nullptr || role_failed[worker->role.index()] == 0) continue;
    const bool failed = worker->state == WorkerState::Failed && !is_set_aside(job, *worker);
    if (!failed && job.spec->recovery == RecoveryScope::Worker) continue;
    if (!failed && worker->is_alive()) peers.push_back(job.next_from[i]);
    const std::int32_t local_rank = job.next[i].local_rank;
    job.next[i] = successor_of(step.state.ledger, *worker);
    job.next[i].local_rank = local_rank;
    job.next_from[i] = kNew;
  }
  stop_workers(step, job, peers, false);
}

void on_losses(Step& step, JobState& job, RankFlags lost) {
  const std::uint32_t first = first_of(lost);
  const bool by_its_port = job.workers[first].exit_code == kPortInUse;
  const Reason reason = by_its_port ? Reason::PortInUse : Reason::WorkerLost;
  open_incident(step, job, IncidentScope::Worker, reason, first);
  if (job.spec->family != JobFamily::Group) {
    ++job.row.reschedules;
    set_phase(step, job, JobPhase::Rescheduling, reason);
    count(step, job, Counter::Reschedules);
  } else {
    lost.assign(lost.size(), 1);
  }
  recover(step, job, std::move(lost), reason, job.spec->recovery);
}

void fail_start(Step& step, JobState& job) {
  if (job.spec->failover->mode == RecoveryMode::Strict)
    return finish(step, job, JobPhase::Failed, Reason::StartDeadline);
  RankFlags late(job.workers.size(), 0);
  for (std::size_t i = 0; i < job.workers.size(); ++i)
    late[i] = job.workers[i].state == WorkerState::Starting;
  on_failures(step, job, std::move(late), Reason::StartDeadline);
}

void fail_change(Step& step, JobState& job) {
  reached(Mark::ChangeLate);
  open_incident(step, job, IncidentScope::Job, Reason::StartDeadline, kNoRank);
  if (charge_restart(step, job)) give_all_back(step, job, Reason::StartDeadline);
}

namespace {

// Those marked start again: where they were if that is possible, else elsewhere.
void replace_workers(Step& step, JobState& job, const RankFlags& failed, Reason reason) {
  invariant(job.after_drain == AfterDrain::Nothing,
            "a recovery begins where no change is under way");
  // Nor is an answer awaited any more about nodes of the incident before: it would come as a stale
  // one, and the next question would be taken for that one.
  if (step.state.settings.rules >= 1 && !job.failover->relaunching.empty())
    job.failover.edit().relaunching.clear();
  step.state.clear_timer(job, TimerKind::Answer);
  if (job.row.phase != JobPhase::Rescheduling) set_phase(step, job, JobPhase::Restarting, reason);
  job.change_reason = reason;
  MembershipChange change;
  change.keep.assign(job.workers.size(), 1);
  change.replace.assign(job.workers.size(), 0);
  std::vector<std::int32_t> missing(job.role_count(), 0);
  bool moves = false;
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    if (failed[i] == 0) continue;
    const Worker& worker = job.workers[i];
    // A lease that is being given back may have been promised to somebody else.
    const bool keeps_place = !worker.lease.is_none() &&
                             step.state.ledger.node(worker.node).usable &&
                             step.state.ledger.lease(worker.lease).stage == LeaseStage::Held;
    if (keeps_place) {
      change.replace[i] = 1;
    } else {
      change.keep[i] = 0;
      ++missing[worker.role.index()];
      moves = true;
    }
  }
  // What else is missing may take the room that there is.
  const bool blamed = job.failover->open.cause == Reason::NodeBlamed;
  if (blamed && !moves) moves = leave_blamed_nodes(step, job, change);
  // Where somebody goes elsewhere, or goes for good, the others meet in another place or are fewer.
  if (moves && job.spec->rescale == RescaleMode::Auto)
    for (std::size_t i = 0; i < job.workers.size(); ++i)
      if (failed[i] == 0 && must_start_anew(job, job.workers[i]) &&
          step.state.ledger.node(job.workers[i].node).usable)
        change.replace[i] = 1;
  release_dropped(step, job, change);
  if (!place_missing(step, job, missing, present_after(change), change.added)) {
    give_all_back(step, job, reason);
    return;
  }
  form_next(step, job, change);
}

}  // namespace

void recover(Step& step, JobState& job, RankFlags failed, Reason reason, RecoveryScope scope) {
  widen(job, failed, scope);
  if (count_wide_restarts(step, job, failed, scope)) replace_workers(step, job, failed, reason);
}

void leave_unusable_nodes(Step& step, JobState& job) {
  if (job.after_drain != AfterDrain::Start || step.state.settings.rules < 4) return;
  bool any = false;
  for (std::size_t i = 0; i < job.next.size(); ++i) {
    const NodeId node = job.next[i].node;
    // What is silent is judged when it is lost, or heard again.
    any = any || (job.next_from[i] == kNew && !step.state.ledger.node(node).usable &&
                  !step.state.nodes[node.index()].silent);
  }
  if (!any || planted(Bug::PlaceNotAskedAgain)) return;
  if (recovers_at_size(job)) {
    RankFlags failed(job.workers.size(), 0);
    for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank)
      failed[rank] = stays_in(job, rank) ? 0 : 1;
    reached(Mark::PlaceTakenAway);
    abandon_next(step, job);
    replace_workers(step, job, failed, job.change_reason);
  } else if (job.row.phase != JobPhase::Rescheduling ||
             std::all_of(job.workers.begin(), job.workers.end(), [](const Worker& worker) {
               return worker.is_gone();
             })) {
    reached(Mark::PlaceTakenAway);
    give_all_back(step, job, job.change_reason);
  }
}

void move_straggler(Step& step, JobState& job, const Worker& straggler) {
  // A worker that was given its seat stays there.
  if (job.spec->roles[straggler.role.index()].is_seated()) return;
  const NodeId slow = straggler.node;
  std::vector<std::int32_t> missing(job.role_count(), 0);
  missing[straggler.role.index()] = 1;
  MembershipChange change;
  change.keep.assign(job.workers.size(), 1);
  change.replace.assign(job.workers.size(), 0);
  const auto rank = static_cast<std::uint32_t>(&straggler - job.workers.data());
  change.keep[rank] = 0;
  // Anywhere but where it is slow.
  std::vector<NodeCount> nodes;
  const bool fits = find_nodes(step, job, demand_of(step, job, straggler.role), 1, nodes, slow);
  for (const NodeCount& n : nodes) change.added.push_back({straggler.role, n});
  if (!fits || !ports_fit(step.state.ledger, *job.spec, change.added)) return;
  open_incident(step, job, IncidentScope::Worker, Reason::WorkerStraggling, rank);
  note_node_incident(step, slow);
  ++job.row.reschedules;
  job.change_reason = Reason::WorkerStraggling;
  set_phase(step, job, JobPhase::Rescheduling, Reason::WorkerStraggling);
  count(step, job, Counter::Reschedules);
  release_dropped(step, job, change);
  form_next(step, job, change);
}

bool awaits_answer(const JobState& job) {
  return job.row.phase == JobPhase::Restarting && job.after_drain == AfterDrain::Nothing &&
         (job.failover->led == LedRecovery::Asked || !job.failover->relaunching.empty());
}

void resume_recovery(Step& step, JobState& job, Reason reason, RecoveryScope scope) {
  RankFlags failed(job.workers.size(), 0);
  // A worker set aside until the end is the cause itself where the end has come.
  const Incident& open = job.failover->open;
  const bool at_end = std::any_of(job.workers.begin(), job.workers.end(), [&](const Worker& w) {
    const Diagnosis& said = *w.diagnosis;
    const bool is_root = w.role == open.role && w.local_rank == open.local_rank;
    const bool blames_root =
        said.blame == Blame::Peer && said.role == open.role && said.rank == open.local_rank;
    return (is_root || blames_root) && is_set_aside(job, w);
  });
  // Nor have late workers come up while an answer was awaited.
  const bool late = open.cause == Reason::StartDeadline && step.state.settings.rules >= 2;
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    const Worker& worker = job.workers[i];
    failed[i] = worker.state == WorkerState::Lost ||
                (late && worker.state == WorkerState::Starting) ||
                (worker.state == WorkerState::Failed && (at_end || !is_set_aside(job, worker))) ||
                (job.failover->led != LedRecovery::None && worker.role == job.failover->led_role);
  }
  recover(step, job, std::move(failed), reason, scope);
}

void repeat_questions(Step& step, JobState& job) {
  if (job.failover->told != Incarnation{}) job.failover.edit().told = Incarnation{};
  if (!awaits_answer(job)) return;
  if (!job.failover->relaunching.empty()) {
    repeat_relaunch(step, job);
  } else {
    settle_led_recovery(step, job);
  }
}

void give_up_answer(Step& step, JobState& job) {
  if (!job.failover->relaunching.empty()) {
    give_up_relaunch(step, job);
  } else {
    give_up_sub_master(step, job);
  }
}

}  // namespace orrery
