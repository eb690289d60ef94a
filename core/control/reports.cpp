#include "core/control/reports.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/base/coverage_mark.hpp"
#include "core/base/planted.hpp"
#include "core/control/nodes.hpp"
#include "core/control/settle.hpp"
#include "core/job/heard_ranks.hpp"
#include "core/job/phase.hpp"
#include "core/membership/forming.hpp"
#include "core/membership/releasing.hpp"
#include "core/recovery/ending.hpp"
#include "core/recovery/node_health.hpp"
#include "core/recovery/recovery.hpp"
#include "core/recovery/sub_master.hpp"
#include "core/state/phases.hpp"

namespace orrery {
namespace {

constexpr std::size_t kProfilingKeysMax = 64;

template <class Body, class... Bodies>
constexpr std::size_t position_in(const std::variant<Bodies...>* /*unused*/) {
  std::size_t position = 0;
  (void)((std::is_same_v<Body, Bodies> || (++position, false)) || ...);
  return position;
}

template <class Body>
constexpr std::size_t kind_of() {
  return position_in<Body>(static_cast<const EventBody*>(nullptr));
}

Worker* find_worker(JobState& job, Generation generation, Incarnation incarnation, Rank rank) {
  return const_cast<Worker*>(worker_named(job, generation, incarnation, rank));
}

void gone(Step& step, JobState& job, Worker& worker, WorkerState state, std::int32_t exit_code) {
  worker.exit_code = exit_code;
  worker_gone(step, job, worker, state);
}

// A worker is up, or says hello later than that. False where all of it was known.
bool came_up(JobState& job, Worker& worker, const WorkersChanged& event) {
  const bool is_told = event.fact == WorkerFact::Ready;
  if (worker.state == WorkerState::Starting) {
    worker.state = WorkerState::Ready;
    ++job.ready;
    if (!is_told) worker.environment = event.environment;
    return true;
  }
  if (worker.state != WorkerState::Ready || !is_told || worker.environment.value == 0) return false;
  worker.environment = Generation{0};
  return true;
}

// A program that is not there is not there at the next try either: the job ends, with the reason.
bool is_refused_for_good(const WorkersChanged& event) {
  return event.fact == WorkerFact::LaunchFailed &&
         (event.exit_code == kCannotRun || event.exit_code == kNotFound);
}

void note_refusal(JobState& job, const Worker& worker, const WorkersChanged& event) {
  JobFailover& failover = job.failover.edit();
  if (!failover.refused_role.is_none()) return;
  failover.refused_role = worker.role;
  failover.refused_rank = worker.local_rank;
  failover.refused_by = worker.node;
  failover.refused_why = event.why;
}

// A port of the worker's own is in use by something else on its host: what starts in its place
// gets others. False where that is not the reason, or no other ports are to be had.
bool exchange_ports(Step& step, const Worker& worker, const WorkersChanged& event) {
  return event.busy_port != 0 && !worker.lease.is_none() &&
         step.state.ledger.exchange_ports(worker.lease, event.busy_port);
}

// Whose fault it was, as the worker itself has said. The end of one that was told to stop is no
// failure.
void note_diagnosis(const Step& step, Worker& worker, const WorkersChanged& event) {
  if (event.diagnosis->blame == Blame::None || worker.state != WorkerState::Failed ||
      step.state.settings.rules < 4)
    return;
  Diagnosis& diagnosis = worker.diagnosis.edit();
  diagnosis = *event.diagnosis;
  diagnosis.message = cut_at_character(diagnosis.message, kDiagnosisTextMax);
}

// Why the fact changes nothing; empty where it was applied.
std::optional<Ignored> apply(Step& step,
                             JobState& job,
                             Worker& worker,
                             const WorkersChanged& event) {
  if (worker.is_gone()) return Ignored::AlreadyKnown;
  switch (event.fact) {
    case WorkerFact::Ready:
    case WorkerFact::Running:
      if (!came_up(job, worker, event)) return Ignored::AlreadyKnown;
      break;
    case WorkerFact::Exited:
      gone(step,
           job,
           worker,
           event.exit_code == 0 ? WorkerState::Succeeded : WorkerState::Failed,
           event.exit_code);
      note_diagnosis(step, worker, event);
      break;
    case WorkerFact::LaunchFailed:
      if (exchange_ports(step, worker, event))
        gone(step, job, worker, WorkerState::Lost, kPortInUse);
      else
        gone(step, job, worker, WorkerState::Failed, event.exit_code);
      break;
    case WorkerFact::Lost:
      gone(step, job, worker, WorkerState::Lost, 0);
      break;
  }
  return std::nullopt;
}

ProfilingSeries* series_of(JobState& job, const std::string& key) {
  std::vector<ProfilingSeries>& profilings = job.profilings.edit();
  for (ProfilingSeries& series : profilings)
    if (series.key == key) return &series;
  if (profilings.size() >= kProfilingKeysMax) return nullptr;
  return &profilings.emplace_back(ProfilingSeries{key, {}});
}

// Every rank reports the throughput of the whole job, as it sees it: their mean is the job's. Where
// the role that a policy sizes reports, the others do not count, who may count something else.
double rate_of(const JobState& job, const std::vector<std::pair<Rank, double>>& latest) {
  double sums[2] = {0, 0};
  std::size_t ranks[2] = {0, 0};
  for (const auto& [rank, value] : latest) {
    const bool elastic =
        rank.index() < job.workers.size() && job.workers[rank.index()].role == job.row.elastic;
    sums[elastic] += value;
    ++ranks[elastic];
  }
  const bool elastic = ranks[true] > 0;
  return ranks[elastic] == 0 ? 0 : sums[elastic] / static_cast<double>(ranks[elastic]);
}

void measure_rate(const State& state, JobState& job, Instant at) {
  const ProfilingSeries* throughput = series_of(job, "throughput");
  std::vector<std::pair<Rank, double>> latest;
  latest.reserve(throughput->samples.size());
  HeardRanks heard(throughput->samples.size());
  for (const ProfilingSample& sample : throughput->samples) {
    if (sample.generation != job.row.generation) continue;
    const std::uint32_t number = heard.hear(sample.rank);
    if (number == latest.size()) latest.emplace_back(sample.rank, 0.0);
    latest[number].second = sample.value;
  }
  double sum = 0;  // Journals from before rule 1 have it for each rank, of its own part.
  for (const auto& [rank, value] : latest) sum += value;
  job.row.progress.rate = state.settings.rules >= 1 ? rate_of(job, latest) : sum;
  job.row.progress.source = EstimateSource::Measured;
  job.row.progress.as_of = at;
}

bool out_of_contact(const State& state, const JobState& job) {
  return !job.workers.empty() &&
         std::all_of(job.workers.begin(), job.workers.end(), [&](const Worker& w) {
           return w.is_gone() || state.nodes[w.node.index()].silent;
         });
}

// Whether every node of an Unknown job has given its list in this epoch.
bool is_reconciled(const State& state, const JobState& job) {
  return std::all_of(job.workers.begin(), job.workers.end(), [&](const Worker& w) {
    const NodeState& node = state.nodes[w.node.index()];
    return w.is_gone() || (!node.silent && node.heard == state.epoch);
  });
}

// Whether somebody's node was neither heard in this epoch nor found silent.
bool awaits_word(const State& state, const JobState& job) {
  return std::any_of(job.workers.begin(), job.workers.end(), [&](const Worker& w) {
    const NodeState& node = state.nodes[w.node.index()];
    return !w.is_gone() && !node.silent && node.heard < state.epoch;
  });
}

// The worker that the list names, if it lives on as far as the controller knows.
Worker* living(State& state, NodeId node, const RunningWorker& listed) {
  JobState* job = state.find(listed.job);
  if (job == nullptr) return nullptr;
  Worker* worker = find_worker(*job, listed.generation, listed.incarnation, listed.rank);
  return worker != nullptr && worker->is_alive() && worker->node == node ? worker : nullptr;
}

// Workers that run and should not: given up while the node was away, or of a forgotten job.
void stop_orphans(Step& step, const NodeReturned& event) {
  for (const RunningWorker& listed : event.workers)
    if (living(step.state, event.node, listed) == nullptr) {
      reached(Mark::OrphanStopped);
      step.out.orders.emplace_back(
          StopWorkers{listed.job,
                      listed.generation,
                      Duration::zero(),
                      {{listed.rank, event.node, listed.incarnation, listed.rank}}});
    }
}

// The node had not heard of the worker when it made its list: the order is on its way, or was lost
// with the leader that gave it. To give it twice does no harm.
void start_once_more(Step& step, JobState& job, std::uint32_t rank) {
  Worker& worker = job.workers[rank];
  worker.ordered = step.state.sequence;
  WorkerStart start = start_of(job, rank);
  start.rank = worker.birth_rank;
  step.out.orders.emplace_back(StartWorkers{
      job.row.id, worker.born, static_cast<std::uint32_t>(job.workers.size()), {start}});
}

// The last change of membership may have been lost with the leader that ordered it, or with the
// connection of its node. None: any node.
void tell_old_members(Step& step, JobState& job, NodeId node) {
  if (std::any_of(job.workers.begin(), job.workers.end(), [&](const Worker& w) {
        return w.is_alive() && w.born != job.row.generation && (node.is_none() || w.node == node);
      }))
    tell_membership(step, job);
}

// Compares what a node says it runs of one job with what it should; true where somebody is missing.
bool find_missing(Step& step, JobState& job, const NodeReturned& event) {
  if (planted(Bug::IgnoreCompleteList)) return false;
  std::vector<const Worker*> runs;
  for (const RunningWorker& listed : event.workers)
    if (listed.job == job.row.id)
      if (const Worker* worker = living(step.state, event.node, listed)) runs.push_back(worker);
  StopWorkers again{job.row.id, job.row.generation, job.spec->drain_grace, {}};
  bool missing = false;
  bool told = false;
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    Worker& worker = job.workers[rank];
    if (worker.node != event.node || worker.is_gone()) continue;
    if (std::find(runs.begin(), runs.end(), &worker) == runs.end()) {
      if (worker.state == WorkerState::Starting && event.seen < worker.ordered) {
        // Who had its place before may not have heard that it has another one by now.
        if (!told && step.state.settings.rules >= 1) tell_old_members(step, job, NodeId::none());
        told = true;
        start_once_more(step, job, rank);
        continue;
      }
      gone(step, job, worker, WorkerState::Lost, 0);
      missing = true;
    } else if (worker.state == WorkerState::Draining) {
      // The order to stop may have been lost with the leader that gave it.
      again.workers.push_back(stop_of(worker, rank));
    }
  }
  if (!again.workers.empty()) step.out.orders.emplace_back(std::move(again));
  return missing;
}

// What is known of an Unknown job once all its nodes have been heard.
void regain(Step& step, JobState& job) {
  reached(Mark::ContactRegained);
  tell_old_members(step, job, NodeId::none());
  if (job.ready == job.workers.size() && job.failover->led == LedRecovery::None)
    become_running(step, job, Reason::ContactRegained);
  else
    set_phase(step, job, JobPhase::Starting, Reason::ContactRegained);
}

}  // namespace

void on_event(Step& step, const WorkersChanged& event) {
  constexpr std::size_t kKind = kind_of<WorkersChanged>();
  JobState* job = step.state.find(event.job);
  if (job == nullptr) {
    ignore(step, nullptr, Ignored::UnknownJob, kKind);
    return;
  }
  const bool recovers = job->failover->open.is_open() &&
                        (job->after_drain != AfterDrain::Nothing || awaits_answer(*job));
  std::int32_t applied = 0;
  bool covered = false;
  Ignored why = Ignored::UnknownRank;
  for (std::uint32_t i = 0; i < event.count && i < 1u << 20; ++i) {
    Worker* worker =
        find_worker(*job, event.generation, event.incarnation, Rank{event.first.value + i});
    if (planted(Bug::AcceptStaleGeneration))
      if (worker == nullptr && event.first.value + i < job->workers.size())
        worker = &job->workers[event.first.value + i];
    if (worker == nullptr) {
      reached(Mark::ReportStale);
      why = event.generation < job->row.generation ? Ignored::StaleGeneration
                                                   : Ignored::StaleIncarnation;
      continue;
    }
    // What fails while its own scope recovers is replaced along with the rest, and counts nowhere.
    covered = covered || (recovers && !is_up(event.fact) && worker->state != WorkerState::Draining);
    if (const std::optional<Ignored> ignored = apply(step, *job, *worker, event)) {
      why = *ignored;
      continue;
    }
    ++applied;
    // One that was told to stop anyway is no failure.
    if (is_refused_for_good(event) && worker->state == WorkerState::Failed)
      note_refusal(*job, *worker, event);
  }
  if (applied == 0) {
    ignore(step, job, is_final(job->row.phase) ? Ignored::JobFinished : why, kKind);
    return;
  }
  Notice notice = step.notice(NoticeKind::WorkersReported, *job);
  notice.fact = event.fact;
  notice.first = event.first;
  notice.count = applied;
  notice.exit_code = event.exit_code;
  step.out.notices.push_back(notice);
  if (!job->failover->refused_role.is_none() && !is_final(job->row.phase))
    return finish(step, *job, JobPhase::Failed, Reason::CannotStart);
  if (covered) reached(Mark::ReportCovered);
  if (covered && !outgrows_recovery(*job)) ignore(step, job, Ignored::RecoveryUnderWay, kKind);
  settle(step, *job);
}

void on_event(Step& step, const ProgressReported& event) {
  constexpr std::size_t kKind = kind_of<ProgressReported>();
  JobState* job = step.state.find(event.job);
  if (job == nullptr) return ignore(step, nullptr, Ignored::UnknownJob, kKind);
  if (is_final(job->row.phase)) return ignore(step, job, Ignored::JobFinished, kKind);
  if (event.generation != job->row.generation)
    return ignore(step, job, Ignored::StaleGeneration, kKind);
  ProgressView& progress = job->row.progress;
  // A job that has ended a stretch of its work and stands: its devices may serve another, as those
  // of a job that has completed.
  if (event.rate == 0 && event.epoch > progress.epoch) step.state.due.completion = true;
  progress.done = event.done;
  progress.rate = event.rate;
  progress.efficiency = event.efficiency;
  progress.epoch = event.epoch;
  progress.remaining = event.remaining;
  progress.source = event.source;
  progress.as_of = step.occurred_at;
  if (event.checkpointed) progress.checkpointed = event.done;
  step.state.touch(event.job);
}

void on_event(Step& step, const ProfilingChanged& event) {
  constexpr std::size_t kKind = kind_of<ProfilingChanged>();
  JobState* job = step.state.find(event.job);
  if (job == nullptr) return ignore(step, nullptr, Ignored::UnknownJob, kKind);
  if (is_final(job->row.phase)) return ignore(step, job, Ignored::JobFinished, kKind);
  if (event.generation != job->row.generation)
    return ignore(step, job, Ignored::StaleGeneration, kKind);
  bool throughput = false;
  for (const ProfilingValue& value : event.values) {
    ProfilingSeries* series = series_of(*job, value.key);
    if (series == nullptr) {
      ignore(step, job, Ignored::OutOfBounds, kKind);
      continue;
    }
    // At least the last sample of each rank.
    if (series->samples.size() >= std::max(ProfilingSeries::kSamplesMax, job->workers.size()))
      series->samples.erase(series->samples.begin());
    series->samples.push_back({step.at, event.generation, event.rank, value.value});
    throughput = throughput || value.key == "throughput";
  }
  if (throughput) measure_rate(step.state, *job, step.at);
  step.state.touch(event.job);
}

void on_event(Step& step, const NodeSilent& event) {
  constexpr std::size_t kKind = kind_of<NodeSilent>();
  State& state = step.state;
  if (event.node.index() >= state.nodes.size())
    return ignore(step, nullptr, Ignored::UnknownNode, kKind);
  NodeState& node = state.nodes[event.node.index()];
  if (node.silent) return ignore(step, nullptr, Ignored::AlreadyKnown, kKind);
  node.silent = true;
  if (!node.leaves_at.is_never()) state.rebuild_node_timer();
  note_node_incident(step, event.node);
  refresh_node(step, event.node, NodeChange::Silent);
  if (planted(Bug::SilentNodeKeepsWorkers)) return;
  for (const JobId id : owners_on(state.ledger, event.node)) {
    JobState& job = state.job(id);
    const bool may_wait =
        job.spec->unknown_deadline > Duration::zero() && job.after_drain == AfterDrain::Nothing &&
        (job.row.phase == JobPhase::Starting || job.row.phase == JobPhase::Running);
    if (may_wait && out_of_contact(state, job)) {
      set_phase(step, job, JobPhase::Unknown, Reason::ContactLost);
      state.set_timer(job, TimerKind::Contact, step.at + job.spec->unknown_deadline);
    } else if (job.row.phase != JobPhase::Unknown) {
      lose_node(step, job, event.node, Reason::NodeLost);
    }
  }
  state.due.capacity = true;
}

void on_event(Step& step, const NodeReturned& event) {
  constexpr std::size_t kKind = kind_of<NodeReturned>();
  State& state = step.state;
  if (event.node.index() >= state.nodes.size())
    return ignore(step, nullptr, Ignored::UnknownNode, kKind);
  NodeState& node = state.nodes[event.node.index()];
  const bool was_silent = std::exchange(node.silent, false);
  node.heard = state.epoch;
  // A node that comes back from silence, or after the time of its leaving, has begun anew.
  step.after_silence = was_silent;
  if (was_silent) {
    node.lost_device = false;
    state.ledger.forget_avoided_ports(event.node);
  }
  const bool left = node.leaves_at <= step.at;
  if (was_silent || left) {
    // A look at all nodes, for those alone whose time to leave is over.
    if (!std::exchange(node.leaves_at, Instant::never()).is_never()) state.rebuild_node_timer();
    refresh_node(step, event.node, NodeChange::Returned);
    state.due.capacity = true;
  }
  stop_orphans(step, event);
  // First all that is missing, then what follows: that may start workers, which no list knows yet.
  std::vector<std::pair<JobId, bool>> missing;
  for (const JobId id : owners_on(state.ledger, event.node))
    missing.emplace_back(id, find_missing(step, state.job(id), event));
  for (const auto& [id, is_missing] : missing) {
    JobState& job = state.job(id);
    if (job.row.phase == JobPhase::Unknown && is_reconciled(state, job))
      regain(step, job);
    else if (job.row.phase == JobPhase::Running || job.row.phase == JobPhase::Starting)
      tell_old_members(step, job, event.node);
    if (is_missing || job.row.phase == JobPhase::Starting || job.after_drain == AfterDrain::Start)
      settle(step, job);
  }
}

void give_up_unknown(Step& step, JobState& job) {
  // Silence is found before this deadline, but a controller that stood still finds both past, and
  // lists that came meanwhile. A node may have a lease by such a list, so time alone makes no
  // worker lost.
  if (step.state.settings.rules >= 2 && awaits_word(step.state, job))
    return step.state.set_timer(job, TimerKind::Contact, step.at + step.state.settings.node_lease);
  reached(Mark::UnknownGivenUp);
  RankFlags lost;
  for (Worker& worker : job.workers) {
    const NodeState& node = step.state.nodes[worker.node.index()];
    if (!worker.is_gone() && (node.silent || node.heard < step.state.epoch))
      gone(step, job, worker, WorkerState::Lost, 0);
    lost.push_back(worker.state == WorkerState::Lost);
  }
  if (all_required_succeeded(job)) {
    finish(step, job, JobPhase::Succeeded, Reason::RequiredSucceeded);
  } else {
    on_node_loss(step, job, std::move(lost), NodeId::none(), Reason::NodeLost);
  }
}

void on_event(Step& step, const WorkerSuspected& event) {
  constexpr std::size_t kKind = kind_of<WorkerSuspected>();
  JobState* job = step.state.find(event.job);
  if (job == nullptr) return ignore(step, nullptr, Ignored::UnknownJob, kKind);
  if (job->row.phase != JobPhase::Running) return ignore(step, job, Ignored::NotInThisPhase, kKind);
  Worker* worker = find_worker(*job, event.generation, event.incarnation, event.rank);
  if (worker == nullptr || worker->state != WorkerState::Ready)
    return ignore(step, job, Ignored::StaleIncarnation, kKind);
  const FailoverSpec& failover = *job->spec->failover;
  RankFlags suspected(job->workers.size(), 0);
  suspected[static_cast<std::size_t>(worker - job->workers.data())] = 1;
  if (event.suspicion == Suspicion::Hung) {
    if (failover.hang_restarts)
      return on_failures(step, *job, std::move(suspected), Reason::WorkerHung);
  } else if (failover.straggler_moves) {
    return move_straggler(step, *job, *worker);
  }
  // Only told.
  Notice notice = step.notice(NoticeKind::WorkerSuspected, *job);
  notice.role = worker->role;
  notice.local_rank = worker->local_rank;
  notice.node = worker->node;
  notice.suspicion = event.suspicion;
  step.out.notices.push_back(notice);
}

void on_event(Step& step, const SubMasterSaid& event) {
  if (JobState* job = hear_sub_master(step, event)) settle(step, *job);
}

}  // namespace orrery
