#include "core/membership/releasing.hpp"

#include <algorithm>
#include <utility>

#include "core/base/coverage_mark.hpp"
#include "core/base/planted.hpp"
#include "core/job/phase.hpp"

namespace orrery {
namespace {

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
  step.state.set_timer(
      job, TimerKind::Drain, step.at + drain_grace(step, job) + step.state.settings.node_lease);
  step.state.clear_timer(job, TimerKind::Kill);
}

// Orders may be lost: they are killed again after each lease, until they end or are given up.
void set_kill_deadline(Step& step, JobState& job) {
  const Settings& settings = step.state.settings;
  if (settings.rules < 3) return set_drain_deadline(step, job);
  step.state.set_timer(job, TimerKind::Drain, step.at + settings.node_lease);
  if (!job.timers.is_set(TimerKind::Kill))
    step.state.set_timer(job, TimerKind::Kill, step.at + settings.kill_deadline);
}

void note_end_of_drain(Step& step, JobState& job) {
  if (--job.draining > 0) return;
  step.state.clear_timer(job, TimerKind::Drain);
  step.state.clear_timer(job, TimerKind::Kill);
}

void give_back(Step& step, Worker& worker) {
  step.state.due.ports_given = step.state.due.ports_given || worker.first_port > 0;
  step.state.ledger.release(std::exchange(worker.lease, LeaseId::none()), step.woken);
}

}  // namespace

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

// Drops a membership that has not started: its own claims end, kept workers are not touched. A
// worker that was to be started again in place gets its lease back while its process still stops.
void abandon_next(Step& step, JobState& job) {
  std::vector<Worker> abandoned = std::move(job.next);
  const std::vector<std::uint32_t> from = std::move(job.next_from);
  job.next.clear();
  job.next_from.clear();
  job.blocked = 0;
  job.after_drain = AfterDrain::Nothing;
  step.state.clear_timer(job, TimerKind::Lists);
  step.state.clear_timer(job, TimerKind::Change);
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
      // No worker starts in its place: its lease would outlive the job.
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

void worker_gone(Step& step, JobState& job, Worker& worker, WorkerState state) {
  if (worker.state == WorkerState::Ready) --job.ready;
  const bool was_draining = worker.state == WorkerState::Draining;
  worker.state = was_draining ? WorkerState::Stopped : state;
  if (was_draining) note_end_of_drain(step, job);
  // A failed or lost worker keeps its lease: its successor starts in place.
  const bool over = is_final(job.row.phase);
  if ((was_draining || state == WorkerState::Succeeded || over) && !worker.lease.is_none()) {
    // What an ended job still held was in no plan since: those who wait have to be told of it now.
    // What a worker leaves that is done before its job goes into the next plan: as a rule the
    // others are done a moment later, and two plans would resize an elastic job twice.
    if (over && step.state.ledger.lease(worker.lease).stage == LeaseStage::Held)
      step.state.due.capacity = true;
    give_back(step, worker);
  }
  if (over) retain_if_cleared(step, job);
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
  set_kill_deadline(step, job);
}

void stop_remaining(Step& step, JobState& job) {
  std::vector<std::uint32_t> running;
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    const Worker& worker = job.workers[rank];
    if (!worker.is_gone() && worker.state != WorkerState::Draining) running.push_back(rank);
  }
  stop_workers(step, job, running, true);
}

}  // namespace orrery
