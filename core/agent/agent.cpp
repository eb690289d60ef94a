#include "core/agent/agent.hpp"

#include <algorithm>
#include <utility>

#include "core/base/coverage_mark.hpp"
#include "core/base/invariant.hpp"
#include "core/base/planted.hpp"

namespace orrery {
namespace {

bool has_process(AgentWorkerState state) { return state != AgentWorkerState::Waiting; }

WorkersChanged report_of(const AgentWorker& worker, WorkerFact fact, std::int32_t exit_code) {
  const WorkerName& name = worker.name;
  return {name.job, worker.born, name.incarnation, fact, name.birth_rank, 1, exit_code};
}

WorkersChanged report_of(const EndedWorker& ended) {
  const WorkerName& name = ended.name;
  WorkersChanged report{
      name.job, ended.born, name.incarnation, ended.fact, name.birth_rank, 1, ended.exit_code};
  report.why = ended.why;
  report.busy_port = ended.busy_port;
  report.diagnosis = ended.diagnosis;
  return report;
}

// Of a worker that is up: whether it can be told of changes.
WorkersChanged up_report_of(const AgentWorker& worker) {
  if (worker.environment.value == 0) return report_of(worker, WorkerFact::Ready, 0);
  WorkersChanged report = report_of(worker, WorkerFact::Running, 0);
  report.environment = worker.environment;
  return report;
}

EndedWorker ended_as(const AgentWorker& worker,
                     WorkerFact fact,
                     std::int32_t exit_code,
                     const SpawnFailed& refusal = {}) {
  return {worker.name,
          worker.slot,
          worker.born,
          worker.generation,
          worker.rank,
          fact,
          exit_code,
          refusal.why,
          refusal.busy_port,
          {}};
}

SpawnWorker spawn_of(const AgentWorker& worker) {
  return {worker.name,
          worker.slot,
          worker.born,
          worker.generation,
          worker.rank,
          worker.world_size,
          worker.devices,
          worker.share,
          worker.hardware,
          worker.first_port,
          worker.beside};
}

/// Part of a container. Not std::ranges::subrange: clang 14, which tidy and the fuzz targets use,
/// does not compile that of g++ 12's library.
template <class Iterator>
struct Part {
  Iterator first;
  Iterator last;

  Iterator begin() const { return first; }

  Iterator end() const { return last; }
};

/// The entries of one job in a map by name.
template <class Map>
auto of_job(Map& map, JobId job) {
  const auto begin = map.lower_bound({job, Incarnation{0}, Rank{0}});
  auto end = begin;
  while (end != map.end() && end->first.job == job) ++end;
  return Part<decltype(end)>{begin, end};
}

/// A StopWorkers names a worker by its lasting name, since news of its generation may have been
/// lost; without one by its rank in that generation, or in that of its birth.
template <class AnyWorker>
bool is_named_by(const StopWorkers& order, const WorkerStop& stop, const AnyWorker& worker) {
  const WorkerName& name = worker.name;
  if (name.job != order.job || name.incarnation != stop.incarnation) return false;
  if (!stop.birth_rank.is_none()) return name.birth_rank == stop.birth_rank;
  return (worker.generation == order.generation && worker.rank == stop.rank) ||
         (worker.born == order.generation && name.birth_rank == stop.rank);
}

}  // namespace

AgentSettings AgentSettings::of(NodeId node, std::uint64_t session, const Settings& settings) {
  AgentSettings out;
  out.node = node;
  out.session = session;
  out.node_lease = settings.node_lease;
  out.fence_margin = settings.fence_margin;
  out.heartbeat_period = Duration{settings.node_lease.ns / 5};
  return out;
}

Agent::Agent(const AgentSettings& settings) : settings_(settings) {
  invariant(settings.fence_margin < settings.node_lease, "an agent fences itself within its lease");
  invariant(settings.heartbeat_period > Duration::zero(), "heartbeats have a period");
  invariant(settings.kill_repeat > Duration::zero(), "kills are repeated at intervals");
}

void Agent::step(const AgentEvent& event, Instant now, AgentOutput& out) {
  // What lives is learnt before the first heartbeat says what lives.
  const bool restarted = std::holds_alternative<AgentRestarted>(event);
  if (!restarted) act_on_time(now, out);
  std::visit([&](const auto& body) { on(body, now, out); }, event);
  if (restarted) act_on_time(now, out);
  if (now >= heartbeat_at_) send_heartbeat(now, out);
  // Reports of this output are sent before the list, so the list must be as new as they are.
  if (out.heartbeat) out.heartbeat->workers = complete_list();
}

Instant Agent::next_deadline() const {
  Instant deadline = heartbeat_at_;
  if (lease_held_) deadline = std::min(deadline, lease_until_);
  for (const auto& [name, worker] : workers_) deadline = std::min(deadline, worker.act_at);
  return deadline;
}

const WorkerList& Agent::complete_list() const {
  if (!list_is_old_) return list_;
  std::vector<RunningWorker> list;
  list.reserve(workers_.size());
  for (const auto& [name, worker] : workers_)
    if (!worker.stuck) list.push_back({name.job, worker.born, name.incarnation, name.birth_rank});
  list_ = WorkerList(std::move(list));
  list_is_old_ = false;
  return list_;
}

void Agent::on(const CommandReceived& event, Instant now, AgentOutput& out) {
  if (!accept_epoch(event.command.epoch, now, out)) return;
  last_order_ = std::max(last_order_, event.command.sequence);
  std::visit([&](const auto& order) { obey(order, now, out); }, event.command.body);
}

void Agent::on(const LeaseRenewed& event, Instant now, AgentOutput& out) {
  if (!accept_epoch(event.epoch, now, out)) return;
  const Instant sent_at = std::min(event.sent_at, now);
  Instant until = sent_at + (settings_.node_lease - settings_.fence_margin);
  if (planted(Bug::FenceTooLate)) until = until + settings_.node_lease;
  // An answer that took longer than the lease itself gives none.
  if (until <= now) return reached(Mark::AgentLateRenewal);
  lease_until_ = lease_held_ ? std::max(lease_until_, until) : until;
  lease_held_ = true;
  if (sent_at >= registering_since_) registering_ = false;
}

void Agent::on(const EpochAnnounced& event, Instant now, AgentOutput& out) {
  accept_epoch(event.epoch, now, out);
}

void Agent::on(const WorkerReady& event, Instant, AgentOutput& out) {
  AgentWorker* worker = find(event.worker);
  if (worker == nullptr || !has_process(worker->state)) {
    out.notices.push_back({AgentNote::UnknownWorker, event.worker});
    return;
  }
  // One that is ending already is not reported as ready any more.
  const bool late_hello =
      worker->state == AgentWorkerState::Ready && worker->environment.value != 0;
  if (worker->state != AgentWorkerState::Starting && !late_hello) return;
  worker->state = AgentWorkerState::Ready;
  worker->environment = Generation{0};
  out.reports.push_back(up_report_of(*worker));
}

void Agent::on(const WorkerRuns& event, Instant, AgentOutput& out) {
  AgentWorker* worker = find(event.worker);
  if (worker == nullptr || !has_process(worker->state)) {
    out.notices.push_back({AgentNote::UnknownWorker, event.worker});
    return;
  }
  if (worker->state != AgentWorkerState::Starting) return;
  worker->state = AgentWorkerState::Ready;
  worker->environment = event.environment;
  out.reports.push_back(up_report_of(*worker));
}

void Agent::on(const WorkerExited& event, Instant, AgentOutput& out) {
  const AgentWorker* worker = find(event.worker);
  if (worker == nullptr || !has_process(worker->state)) {
    out.notices.push_back({AgentNote::UnknownWorker, event.worker});
    return;
  }
  if (worker->fenced || worker->stuck)
    end(event.worker, WorkerFact::Lost, 0, out);
  else
    end(event.worker,
        WorkerFact::Exited,
        event.exit_code,
        out,
        {},
        event.exit_code == 0 ? Diagnosis{} : event.diagnosis);
}

void Agent::on(const WorkerVanished& event, Instant, AgentOutput& out) {
  const AgentWorker* worker = find(event.worker);
  if (worker == nullptr || !has_process(worker->state)) {
    out.notices.push_back({AgentNote::UnknownWorker, event.worker});
    return;
  }
  end(event.worker, WorkerFact::Lost, 0, out);
}

void Agent::on(const SpawnFailed& event, Instant, AgentOutput& out) {
  const AgentWorker* worker = find(event.worker);
  if (worker == nullptr || !has_process(worker->state)) {
    out.notices.push_back({AgentNote::UnknownWorker, event.worker});
    return;
  }
  end(event.worker, WorkerFact::LaunchFailed, event.exit_code, out, event);
}

void Agent::on(const AgentRestarted& event, Instant now, AgentOutput& out) {
  epoch_ = std::max(epoch_, event.epoch);
  lease_until_ = event.lease_until;
  lease_held_ = true;  // Where it is over, acting on time fences what was adopted.
  if (planted(Bug::AdoptWithoutChecking)) lease_until_ = now + settings_.node_lease * 50;
  for (const EndedWorker& ended : event.ended) remember_end(ended);
  if (!planted(Bug::AdoptNothing))
    for (const AgentWorker& found : event.living) adopt(found, now, out);
  register_anew(now);
}

void Agent::on(const Connected&, Instant now, AgentOutput&) { register_anew(now); }

void Agent::on(const SubMasterSpoke& event, Instant, AgentOutput& out) {
  const AgentWorker* worker = find(event.worker);
  if (worker == nullptr || !has_process(worker->state)) {
    out.notices.push_back({AgentNote::UnknownWorker, event.worker});
    return;
  }
  out.said.push_back(
      {event.worker.job, event.role, event.worker.incarnation, event.incident, event.word});
}

// It never runs again, so its place may be taken elsewhere. Here its slot stays taken, and what
// else it holds is unknown: the node is to be given nothing more, which is its daemon's to say.
void Agent::on(const WorkerStuck& event, Instant, AgentOutput& out) {
  AgentWorker* worker = find(event.worker);
  if (worker == nullptr || worker->state != AgentWorkerState::Killed) {
    out.notices.push_back({AgentNote::UnknownWorker, event.worker});
    return;
  }
  if (std::exchange(worker->stuck, true)) return;
  list_is_old_ = true;
  out.notices.push_back({AgentNote::Stuck, event.worker});
  out.reports.push_back(report_of(*worker, WorkerFact::Lost, 0));
}

void Agent::on(const TimePassed&, Instant, AgentOutput&) {}

void Agent::obey(const StartWorkers& order, Instant now, AgentOutput& out) {
  for (const WorkerStart& start_of : order.workers) {
    if (start_of.node != settings_.node) continue;
    AgentWorker wanted;
    wanted.name = {order.job, start_of.incarnation, start_of.rank};
    wanted.slot = {start_of.role, start_of.local_rank};
    wanted.born = order.generation;
    wanted.generation = order.generation;
    wanted.rank = start_of.rank;
    wanted.world_size = order.world_size;
    wanted.devices = start_of.devices;
    wanted.share = start_of.share;
    wanted.hardware = start_of.hardware;
    wanted.first_port = start_of.first_port;
    wanted.beside = start_of.beside;
    start(wanted, now, out);
  }
}

void Agent::obey(const StopWorkers& order, Instant now, AgentOutput& out) {
  for (const WorkerStop& target : order.workers) {
    if (target.node != settings_.node) continue;
    const auto names = [&](const auto& entry) { return is_named_by(order, target, entry.second); };
    const auto living = std::find_if(workers_.begin(), workers_.end(), names);
    if (living != workers_.end()) {
      stop(living->first, now + order.grace, now, out);
      continue;
    }
    const auto ended = std::find_if(ended_.begin(), ended_.end(), names);
    if (ended != ended_.end()) {
      out.reports.push_back(report_of(ended->second));
    } else {
      out.reports.push_back(
          {order.job, order.generation, target.incarnation, WorkerFact::Lost, target.rank, 1, 0});
    }
    reached(Mark::AgentStopOfNone);
    out.notices.push_back({AgentNote::NotRunning, {order.job, target.incarnation, target.rank}});
  }
}

void Agent::obey(const UpdateMembership& order, Instant, AgentOutput& out) {
  for (const WorkerStart& member : order.members) {
    if (member.node != settings_.node) continue;
    const Rank birth_rank = member.birth_rank.is_none() ? member.rank : member.birth_rank;
    AgentWorker* worker = find({order.job, member.incarnation, birth_rank});
    // A member that is not here yet comes with a StartWorkers of its own.
    if (worker == nullptr || order.generation < worker->generation) continue;
    if (worker->generation == order.generation && worker->rank == member.rank &&
        worker->world_size == order.world_size)
      continue;
    worker->slot = {member.role, member.local_rank};
    worker->generation = order.generation;
    worker->rank = member.rank;
    worker->world_size = order.world_size;
    if (has_process(worker->state))
      out.actions.push_back(
          TellMembership{worker->name, worker->generation, worker->rank, worker->world_size});
  }
}

void Agent::obey(const CleanJob& order, Instant now, AgentOutput& out) {
  std::vector<WorkerName> names;
  for (auto& [name, worker] : of_job(workers_, order.job)) {
    worker.job_cleaned = true;
    // One that was asked to stop keeps its grace.
    if (worker.state != AgentWorkerState::Asked) names.push_back(name);
  }
  if (order.policy != CleanPodPolicy::None)
    for (const WorkerName& name : names) stop(name, now + settings_.clean_grace, now, out);
  const auto ended = of_job(ended_, order.job);
  ended_.erase(ended.begin(), ended.end());
}

// The order names the sub-master by its start: a role has one, so no two workers of a job share it
// on a node unless they were started together, and then only one of them leads the role.
void Agent::obey(const TellSubMaster& order, Instant, AgentOutput& out) {
  if (order.node != settings_.node) return;
  for (const auto& [name, worker] : of_job(workers_, order.job)) {
    if (name.incarnation != order.incarnation || worker.slot.role != order.master) continue;
    if (worker.state == AgentWorkerState::Ready)
      out.actions.push_back(PassToSubMaster{name, order.role, order.incident, order.word});
    return;
  }
  out.notices.push_back({AgentNote::NotRunning, {order.job, order.incarnation, Rank::none()}});
}

void Agent::obey(const RelaunchNodes&, Instant, AgentOutput&) {
  // For the extension, not for agents.
}

void Agent::obey(const AnswerRequest&, Instant, AgentOutput&) {
  // Answers go to clients; an agent that is handed one has nothing to do with it.
}

bool Agent::accept_epoch(Epoch epoch, Instant now, AgentOutput& out) {
  if (epoch < epoch_) {
    reached(Mark::AgentStaleEpoch);
    out.notices.push_back({AgentNote::StaleEpoch, {}});
    return false;
  }
  if (epoch > epoch_) {
    epoch_ = epoch;
    register_anew(now);
  }
  return true;
}

void Agent::start(const AgentWorker& wanted, Instant now, AgentOutput& out) {
  if (const AgentWorker* worker = find(wanted.name)) {
    out.notices.push_back({AgentNote::AlreadyRunning, wanted.name});
    if (worker->state == AgentWorkerState::Ready) out.reports.push_back(up_report_of(*worker));
    return;
  }
  if (const auto ended = ended_.find(wanted.name); ended != ended_.end()) {
    reached(Mark::AgentAlreadyEnded);
    out.notices.push_back({AgentNote::AlreadyEnded, wanted.name});
    out.reports.push_back(report_of(ended->second));
    return;
  }
  if (newer_start_known(wanted)) {
    reached(Mark::AgentStaleIncarnation);
    out.notices.push_back({AgentNote::StaleIncarnation, wanted.name});
    return;
  }
  if (!lease_held_ || workers_.size() >= settings_.workers_max) {
    if (!lease_held_) reached(Mark::AgentNoLease);
    out.notices.push_back({lease_held_ ? AgentNote::Full : AgentNote::NoLease, wanted.name});
    out.reports.push_back(report_of(wanted, WorkerFact::LaunchFailed, 0));
    remember_end(ended_as(wanted, WorkerFact::LaunchFailed, 0));
    return;
  }
  const bool room = make_room(wanted, now, out);
  if (!room) reached(Mark::AgentWaited);
  AgentWorker& worker = workers_[wanted.name] = wanted;
  list_is_old_ = true;
  worker.state = room ? AgentWorkerState::Starting : AgentWorkerState::Waiting;
  if (room) out.actions.push_back(spawn_of(worker));
}

bool Agent::newer_start_known(const AgentWorker& start) const {
  const auto newer = [&](const auto& entry) { return comes_after(entry.second, start); };
  return std::ranges::any_of(of_job(workers_, start.name.job), newer) ||
         std::ranges::any_of(of_job(ended_, start.name.job), newer);
}

/// Ends older starts of the slot. Whether the slot is free now.
bool Agent::make_room(const AgentWorker& wanted, Instant now, AgentOutput& out) {
  bool room = true;
  std::vector<WorkerName> never_started;
  for (auto& [name, older] : of_job(workers_, wanted.name.job)) {
    if (older.slot != wanted.slot) continue;
    if (older.state == AgentWorkerState::Waiting) {
      never_started.push_back(name);
      continue;
    }
    room = false;
    // One that was asked to stop keeps its grace.
    if (older.state == AgentWorkerState::Starting || older.state == AgentWorkerState::Ready) {
      reached(Mark::AgentReplaced);
      out.notices.push_back({AgentNote::Replaced, name});
      kill(older, now, out);
    }
  }
  for (const WorkerName& older : never_started) end(older, WorkerFact::Lost, 0, out);
  const auto ended = of_job(ended_, wanted.name.job);
  for (auto it = ended.begin(); it != ended.end();)
    it = it->second.slot == wanted.slot ? ended_.erase(it) : std::next(it);
  return room;
}

void Agent::stop(WorkerName name, Instant kill_at, Instant now, AgentOutput& out) {
  AgentWorker& worker = workers_.at(name);
  switch (worker.state) {
    case AgentWorkerState::Waiting:
      end(name, WorkerFact::Lost, 0, out);
      break;
    case AgentWorkerState::Starting:
    case AgentWorkerState::Ready:
      if (kill_at <= now) {
        kill(worker, now, out);
      } else {
        worker.state = AgentWorkerState::Asked;
        worker.act_at = kill_at;
        out.actions.push_back(SignalWorker{name, WorkerSignal::Ask});
      }
      break;
    case AgentWorkerState::Asked:
      worker.act_at = std::min(worker.act_at, kill_at);
      if (worker.act_at <= now) kill(worker, now, out);
      break;
    case AgentWorkerState::Killed:
      break;
  }
}

void Agent::kill(AgentWorker& worker, Instant now, AgentOutput& out) {
  worker.state = AgentWorkerState::Killed;
  worker.act_at = now + settings_.kill_repeat;
  out.actions.push_back(SignalWorker{worker.name, WorkerSignal::Kill});
}

// Takes the name by value: it usually is that of the entry which goes away.
void Agent::end(WorkerName name,
                WorkerFact fact,
                std::int32_t exit_code,
                AgentOutput& out,
                const SpawnFailed& refusal,
                const Diagnosis& diagnosis) {
  const AgentWorker worker = workers_.at(name);
  EndedWorker ended = ended_as(worker, fact, exit_code, refusal);
  if (diagnosis.blame != Blame::None) ended.diagnosis = diagnosis;
  workers_.erase(name);
  list_is_old_ = true;
  if (!planted(Bug::SwallowExit)) out.reports.push_back(report_of(ended));
  if (!worker.job_cleaned) remember_end(ended);
  spawn_waiting(worker, out);
}

void Agent::spawn_waiting(const AgentWorker& gone, AgentOutput& out) {
  AgentWorker* waiting = nullptr;
  for (auto& [name, worker] : of_job(workers_, gone.name.job)) {
    if (worker.slot != gone.slot) continue;
    if (has_process(worker.state)) return;
    waiting = &worker;
  }
  if (waiting == nullptr) return;
  waiting->state = AgentWorkerState::Starting;
  out.actions.push_back(spawn_of(*waiting));
}

/// Takes one living process over; of two starts of one slot, the older one is killed.
void Agent::adopt(AgentWorker found, Instant now, AgentOutput& out) {
  invariant(has_process(found.state), "only a living process can be adopted");
  AgentWorker& adopted = workers_[found.name] = found;
  list_is_old_ = true;
  if (newer_start_known(found)) {
    out.notices.push_back({AgentNote::Replaced, found.name});
    kill(adopted, now, out);
    return;
  }
  reached(Mark::AgentAdopted);
  out.notices.push_back({AgentNote::Adopted, found.name});
  for (auto& [name, older] : of_job(workers_, found.name.job)) {
    if (!comes_after(found, older)) continue;
    out.notices.push_back({AgentNote::Replaced, name});
    kill(older, now, out);
  }
}

void Agent::act_on_time(Instant now, AgentOutput& out) {
  if (lease_held_ && now >= lease_until_) fence(now, out);
  for (auto& [name, worker] : workers_)
    if (worker.act_at <= now) kill(worker, now, out);
}

void Agent::fence(Instant now, AgentOutput& out) {
  lease_held_ = false;
  register_anew(now);
  std::vector<WorkerName> never_started;
  for (auto& [name, worker] : workers_) {
    if (worker.state == AgentWorkerState::Killed) continue;
    if (planted(Bug::ForgetSelfFence)) continue;
    reached(Mark::AgentFenced);
    out.notices.push_back({AgentNote::Fenced, name});
    if (worker.state == AgentWorkerState::Waiting) {
      never_started.push_back(name);
      continue;
    }
    worker.fenced = true;
    kill(worker, now, out);
  }
  for (const WorkerName& name : never_started) end(name, WorkerFact::Lost, 0, out);
}

void Agent::register_anew(Instant now) {
  registering_ = !planted(Bug::ForgetToRegister) || epoch_.value <= 1;
  registering_since_ = now;
  heartbeat_at_ = now;
}

void Agent::send_heartbeat(Instant now, AgentOutput& out) {
  if (registering_) repeat_reports(out);
  Heartbeat beat;
  beat.node = settings_.node;
  beat.epoch = epoch_;
  beat.session = settings_.session;
  beat.number = ++heartbeats_;
  beat.sent_at = now;
  beat.registers = registering_;
  beat.seen = last_order_;
  out.heartbeat = std::move(beat);
  heartbeat_at_ = now + settings_.heartbeat_period;
}

/// Everything that the controller may have missed and that the complete list does not say.
void Agent::repeat_reports(AgentOutput& out) const {
  for (const auto& [name, ended] : ended_) out.reports.push_back(report_of(ended));
  for (const auto& [name, worker] : workers_) {
    if (worker.state == AgentWorkerState::Ready) out.reports.push_back(up_report_of(worker));
    if (worker.stuck) out.reports.push_back(report_of(worker, WorkerFact::Lost, 0));
  }
}

void Agent::remember_end(const EndedWorker& ended) {
  ended_[ended.name] = ended;
  ended_order_.push_back(ended.name);
  while (ended_order_.size() > settings_.ended_max) {
    ended_.erase(ended_order_.front());
    ended_order_.pop_front();
  }
}

AgentWorker* Agent::find(const WorkerName& name) {
  const auto it = workers_.find(name);
  return it == workers_.end() ? nullptr : &it->second;
}

}  // namespace orrery
