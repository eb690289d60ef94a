#include "core/membership/advancing.hpp"

#include <algorithm>
#include <utility>

#include "core/base/coverage_mark.hpp"
#include "core/base/planted.hpp"
#include "core/job/turns.hpp"
#include "core/membership/forming.hpp"
#include "core/membership/releasing.hpp"
#include "core/membership/sizes.hpp"
#include "core/state/phases.hpp"

namespace orrery {
namespace {

// After a takeover nothing starts on a node before its list has come: it may run what the leader
// before has ordered, of which this one does not know.
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
  start.workers.reserve(static_cast<std::size_t>(std::count(from.begin(), from.end(), kNew)));
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
  if (job.started_at.is_never()) {
    job.started_at = step.at;
    if (step.state.settings.rules >= 3) step.state.set_timer(job, TimerKind::Run, runs_until(job));
  }
  step.state.clear_timer(job, TimerKind::Backoff);
  step.state.clear_timer(job, TimerKind::Lists);
  set_phase(step, job, JobPhase::Starting, job.change_reason);
  step.woken.push_back(job.row.id);
}

// The places that the change waits for come free when those who leave them have ended. Their own
// time to end, and what is left of the backoff, are not counted; from then on the change has as
// long as a start.
void bound_change(Step& step, JobState& job) {
  const bool is_change =
      job.row.phase == JobPhase::Rescheduling || job.row.phase == JobPhase::Restarting;
  if (step.state.settings.rules < 3 || !is_change || job.timers.is_set(TimerKind::Change)) return;
  const auto later = [](Instant a, Instant b) { return b.is_never() ? a : std::max(a, b); };
  Instant from = later(step.at, job.timers.at(TimerKind::Backoff));
  const Ledger& ledger = step.state.ledger;
  for (std::size_t i = 0; i < job.next.size(); ++i) {
    if (job.next_from[i] != kNew || ledger.lease(job.next[i].lease).stage != LeaseStage::Claimed)
      continue;
    for (const JobId id : owners_on(ledger, job.next[i].node))
      from = later(from, step.state.job(id).timers.at(TimerKind::Drain));
  }
  step.state.set_timer(job, TimerKind::Change, from + job.spec->start_deadline);
}

}  // namespace

void advance(Step& step, JobState& job) {
  if (job.after_drain == AfterDrain::Nothing || job.draining > 0) return;
  if (job.after_drain == AfterDrain::Wait) {
    job.after_drain = AfterDrain::Nothing;
    for (Worker& worker : job.workers) release(step, worker);
    job.workers.clear();
    job.ready = 0;
    note_allocation(step, job);
    // While it ran, a user may have asked for more than there can ever be.
    if (step.state.settings.rules >= 4 && !is_seated(*job.spec)) {
      judge_feasibility(step.state, job);
      if (job.row.infeasible) job.change_reason = Reason::Infeasible;
    }
    if (job.row.phase != JobPhase::Pending)
      set_phase(step, job, JobPhase::Pending, job.change_reason);
    else if (step.state.settings.rules == 1 || step.state.settings.rules == 2)
      step.state.set_timer(job, TimerKind::Wait, waits_until(job));  // Its claim had it.
    step.state.enqueue(job);
    step.state.due.capacity = true;
    return;
  }
  if (job.blocked > 0 && !planted(Bug::StartBeforeRelease)) return bound_change(step, job);
  step.state.clear_timer(job, TimerKind::Change);
  if (!nodes_are_heard(step, job)) {
    reached(Mark::WaitsForLists);
    if (step.state.settings.rules < 3)
      look_again(step, job, step.at + step.state.settings.node_lease);
    else if (!job.timers.is_set(TimerKind::Lists))
      step.state.set_timer(job, TimerKind::Lists, step.at + step.state.settings.node_lease);
    return;
  }
  if (const Instant backoff = job.timers.at(TimerKind::Backoff);
      step.at < backoff && !backoff.is_never()) {
    reached(Mark::BackoffWaited);
    if (step.state.settings.rules < 3) look_again(step, job, backoff);
    return;
  }
  activate(step, job);
}

void give_all_back(Step& step, JobState& job, Reason reason) {
  if (job.after_drain != AfterDrain::Nothing) abandon_next(step, job);
  job.forget_answers();
  step.state.clear_timer(job, TimerKind::Answer);
  MembershipChange none;
  none.keep.assign(job.workers.size(), 0);
  none.replace.assign(job.workers.size(), 0);
  job.after_drain = AfterDrain::Wait;
  job.change_reason = reason;
  if (job.row.phase == JobPhase::Starting || job.row.phase == JobPhase::Running)
    set_phase(step, job, JobPhase::Rescheduling, reason);
  release_dropped(step, job, none);
  advance(step, job);
}

}  // namespace orrery
