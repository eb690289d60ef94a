#include "sim/model/simulated_cluster.hpp"

namespace orrery::sim {

SimulatedCluster::SimulatedCluster(const scenarios::Scenario& scenario,
                                   JobSource& source,
                                   ClusterListener& listener,
                                   Fabric* fabric)
    : state_(scenario, listener),
      speeds_(state_),
      progress_(state_, speeds_, fabric),
      pollux_(state_),
      rounds_(state_, speeds_),
      scripts_(state_),
      sub_masters_(state_, progress_),
      processes_(state_, progress_, pollux_, rounds_, scripts_, sub_masters_),
      orders_(state_, progress_, pollux_, rounds_, sub_masters_, processes_),
      links_(state_, progress_.stages()),
      node_faults_(state_, progress_, processes_),
      faults_(state_, links_, sub_masters_, processes_, node_faults_),
      submissions_(state_, source) {
  const auto list = [&](const auto& items, FutureKind kind) {
    for (std::uint32_t i = 0; i < items.size(); ++i) state_.future.push(items[i].at, kind, i);
    state_.named_futures += static_cast<std::int64_t>(items.size());
  };
  const auto& faults = scenario.faults;
  for (std::uint32_t i = 0; i < faults.size(); ++i) {
    if (faults[i].after) continue;  // `strike` comes when the event is seen.
    // A crash of a sub-master waits for its message from its time on, for `times` of them.
    const bool armed = faults[i].kind == scenarios::FaultKind::SubMasterCrash;
    scenarios::for_each_strike(
        faults[i], faults[i].at, armed ? 1 : faults[i].times, [&](Instant at) { strike(i, at); });
  }
  list(scenario.requests, FutureKind::Request);
  list(scenario.profilings, FutureKind::Profiling);
  faults_.schedule_random();
  submissions_.schedule_next();
}

// --- time ---

Instant SimulatedCluster::next(Instant limit) {
  const Instant own = state_.future.next();
  const Instant until = std::min(own, limit);
  if (until <= state_.now || !progress_.stages_under_way()) return own;
  const Instant stage = progress_.stages()->next(until);
  return stage.is_never() ? own : stage;
}

void SimulatedCluster::pass_to(Instant until) {
  while (true) {
    const Instant own = state_.future.next();
    const Instant limit = std::min(own, until);
    // Of one instant stages end first, as completions do.
    if (progress_.stages_under_way() && stages_to(limit)) continue;
    if (own.is_never() || own > until) break;
    state_.now = std::max(state_.now, own);
    const Future future = state_.future.pop();
    if (const JobId next = state_.future.next_job(); !next.is_none()) state_.jobs.expect(next);
    state_.future.for_each_job_behind([this](JobId job) { state_.jobs.expect_place(job); });
    happen(future);
    if (const JobId next = state_.future.next_job(); !next.is_none())
      state_.jobs.expect_parts(next);
  }
  if (!until.is_never()) state_.now = std::max(state_.now, until);
}

// Lets stages end up to `limit`; whether any did.
bool SimulatedCluster::stages_to(Instant limit) {
  StagedWork& staged = *progress_.stages();
  const Instant at = staged.next(limit);
  if (at.is_never()) return false;
  std::vector<StageEnd> ended;
  staged.pass_to(
      at, [this](JobId id) -> LiveJob& { return *state_.jobs.find(id); }, ended);
  if (!ended.empty()) state_.now = std::max(state_.now, at);
  for (const StageEnd& end : ended) {
    LiveJob* job = state_.jobs.find(end.job);
    if (job != nullptr && progress_.stage_ended(*job, end)) processes_.complete(*job);
  }
  return !ended.empty() || at < limit;
}

bool SimulatedCluster::work_left() const {
  if (submissions_.more_to_come() || state_.named_futures > 0 || state_.jobs.any_placed())
    return true;
  // Jobs that wait may yet get what comes back.
  return jobs_left() && state_.comebacks > 0;
}

void SimulatedCluster::strike(std::uint32_t index, Instant at) {
  state_.future.push(at, FutureKind::Fault, index);
  ++state_.named_futures;
}

void SimulatedCluster::obey(const CleanJob& order) {
  if (LiveJob* job = state_.jobs.find(order.job)) processes_.job_over(*job);
}

// --- each future to its part ---

void SimulatedCluster::happen(const Future& future) {
  const NodeId node{future.subject};
  switch (future.kind) {
    case FutureKind::Arrival:
      return submissions_.arrive();
    case FutureKind::Tick:
      if (future.subject == RoundProgress::kRound) return rounds_.end_if_done();
      return pollux_.tick(
          [this](LiveJob& job, Instant at) { processes_.complete_pollux(job, at); });
    case FutureKind::Fault:
      --state_.named_futures;
      faults_.strike(state_.scenario.faults[future.subject]);
      return state_.listener.on_struck(future.subject);
    case FutureKind::Request:
      --state_.named_futures;
      return submissions_.request(state_.scenario.requests[future.subject]);
    case FutureKind::Profiling:
      --state_.named_futures;
      return submissions_.profiling(state_.scenario.profilings[future.subject]);
    case FutureKind::Departure:
      return node_faults_.departure(node, future.detail);
    case FutureKind::NodeQuick:
      return node_faults_.fast_again(node);
    case FutureKind::NodeUp:
      return node_faults_.repaired(node);
    case FutureKind::DevicesBack:
      return node_faults_.devices_repaired(node);
    case FutureKind::LetIn:
      return node_faults_.let_in(node);
    case FutureKind::Relaunched:
      return node_faults_.relaunched(future.subject);
    case FutureKind::NodeDown:
      return faults_.strike_at_random(node, future.detail);
    case FutureKind::LinkSample:
      return links_.sample([this] { return is_busy(); });
    case FutureKind::LinkWhole:
      return links_.restore(node);
    case FutureKind::Complete:
    case FutureKind::Resume:
    case FutureKind::Checkpoint:
    case FutureKind::Script:
    case FutureKind::HangOver:
    case FutureKind::SlowOver:
    case FutureKind::Suspect:
    case FutureKind::Hello:
    case FutureKind::Stopped:
    case FutureKind::Ready:
      if (LiveJob* job = state_.jobs.find(JobId{future.subject})) happen_to_job(*job, future);
      return;
  }
}

void SimulatedCluster::happen_to_job(LiveJob& job, const Future& future) {
  switch (future.kind) {
    case FutureKind::Complete:
      if (future.stamp != job.stamp) return;
      if (!rounds_.runs(job)) return processes_.complete(job);
      if (rounds_.lease_done(job)) processes_.complete_pollux(job, state_.now);
      return rounds_.end_if_done();
    case FutureKind::Resume:
      return progress_.resume(job, future.stamp);
    case FutureKind::Checkpoint:
      return progress_.checkpoint(job, future);
    case FutureKind::Script:
      return processes_.end_by_script(job, future);
    case FutureKind::Stopped:
      return processes_.end_stopped(job);
    case FutureKind::Ready:
      return processes_.come_up(job, future);
    default:
      break;
  }
  ModelWorker* worker = job.find(Incarnation{future.stamp}, Rank{future.detail});
  if (worker != nullptr && worker->alive) happen_to_worker(job, *worker, future.kind);
}

void SimulatedCluster::happen_to_worker(LiveJob& job, ModelWorker& worker, FutureKind kind) {
  if (kind == FutureKind::HangOver) return processes_.hang_over(job, worker);
  if (kind == FutureKind::SlowOver) return processes_.slow_over(job, worker);
  if (kind == FutureKind::Hello) return processes_.say_hello(job, worker);
  if (worker.hung && !worker.stopping &&
      state_.now >= worker.hung_at + job.job.spec->failover->hang_after)
    speeds_.suspect(job, worker, Suspicion::Hung);
}

}  // namespace orrery::sim
