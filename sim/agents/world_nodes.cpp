// The agents' side of the world: what happens in the simulated cluster, and what agents do about
// it.

#include <algorithm>
#include <utility>

#include "core/agent/worker_reports.hpp"
#include "sim/agents/agent_world.hpp"

namespace orrery::sim {
namespace {

using scenarios::Fault;
using scenarios::FaultKind;

// Ids of requests that are no submissions: those are numbered from 1 by the cluster.
constexpr std::uint64_t kOtherRequests = std::uint64_t{1} << 40;

WorkerName name_of(JobId job, const ModelWorker& worker) {
  return {job, worker.incarnation, worker.birth_rank};
}

}  // namespace

// --- what the cluster tells ---

void AgentWorld::on_outside(EventBody body) {
  Asked asked;
  std::uint64_t request = kOtherRequests + ++asked_ids_;
  if (const auto* submitted = std::get_if<JobSubmitted>(&body)) {
    request = submitted->request;
    const FailoverSpec& wanted = *submitted->spec->failover;
    any_watched_ = any_watched_ || !wanted.hang_after.is_forever() || wanted.straggler_factor > 0;
  } else if (auto* scale = std::get_if<ScaleRequested>(&body)) {
    scale->request = request;
    asked.repeats = scale->mode == ScaleMode::Set || scale->mode == ScaleMode::Clear;
  } else if (auto* stop = std::get_if<StopRequested>(&body)) {
    stop->request = request;
  } else if (auto* deletion = std::get_if<DeleteRequested>(&body)) {
    deletion->request = request;
  } else if (auto* change = std::get_if<JobChanged>(&body)) {
    change->request = request;
  } else if (auto* exclusion = std::get_if<ExclusionRequested>(&body)) {
    exclusion->request = request;
  } else {
    asked.dropped = true;
  }
  asked.body = std::move(body);
  asked_[request] = std::move(asked);
  futures_.push(now(), WorldFutureKind::Ask, request);
}

void AgentWorld::on_workers(JobId job,
                            std::span<const ModelWorker> workers,
                            WorkerFact fact,
                            std::int32_t exit_code,
                            Instant,
                            const Diagnosis& diagnosis) {
  for (const ModelWorker& worker : workers) {
    NodeHost& node = nodes_[worker.node.index()];
    const WorkerName name = name_of(job, worker);
    if (fact == WorkerFact::Ready || fact == WorkerFact::Running) {
      const bool is_told = fact == WorkerFact::Ready;
      node.became_ready(name, is_told ? Generation{0} : worker.environment);
      if (is_told)
        pending_.emplace_back(worker.node, WorkerReady{name});
      else
        pending_.emplace_back(worker.node, WorkerRuns{name, worker.environment});
      continue;
    }
    bool by_fence = !node.agent_is_up() && node.shims_must_kill(now());
    if (node.agent_is_up()) {
      const auto known = node.agent().workers().find(name);
      by_fence = known != node.agent().workers().end() && known->second.fenced;
    }
    const std::optional<AgentWorker> was = node.ended(name, fact, exit_code, by_fence, diagnosis);
    if (was && tap_ != nullptr) tap_->on_process_ended(now(), node.truth_of(*was));
    if (fact == WorkerFact::Exited)
      pending_.emplace_back(worker.node, WorkerExited{name, exit_code, diagnosis});
    else if (fact == WorkerFact::Lost)
      pending_.emplace_back(worker.node, WorkerVanished{name});
    else if (exit_code == kPortInUse)
      pending_.emplace_back(worker.node, SpawnFailed{name, 0, {}, worker.first_port});
    else
      pending_.emplace_back(worker.node, SpawnFailed{name, exit_code == kNotFound ? kNotFound : 0});
  }
}

void AgentWorld::on_progress(NodeId from, ProgressReported progress) {
  if (from.index() >= nodes_.size()) return;
  send_fact(from, std::move(progress), false);
}

void AgentWorld::on_sub_master(NodeId node, const ModelWorker& master, SubMasterSaid said) {
  pending_.emplace_back(
      node, SubMasterSpoke{name_of(said.job, master), said.role, said.incident, said.word});
}

void AgentWorld::on_node_down(NodeId id) {
  NodeHost& node = nodes_[id.index()];
  if (tap_ != nullptr) {
    for (const auto& [name, worker] : node.processes())
      tap_->on_process_ended(now(), node.truth_of(worker));
    tap_->on_node(now(), id, false);
  }
  lose_agent(node);
  node.die();
  following_[id.index()].unsent.clear();
  cluster_.forget(id);
}

void AgentWorld::on_node_up(NodeId id) {
  NodeHost& node = nodes_[id.index()];
  if (tap_ != nullptr) tap_->on_node(now(), id, true);
  if (node.is_up()) on_node_down(id);  // Replaced by a new machine.
  following_[id.index()].leaves_at = Instant::never();
  node.boot();
  wake_node_at(node);
  seek_leader(id, Duration::zero());
}

// The agent says so itself; if it cannot now, then when it registers.
void AgentWorld::on_devices_lost(DevicesLost lost) { send_fact(lost.node, lost, true); }

void AgentWorld::on_devices_back(NodeId node) { send_fact(node, DevicesLost{node, 0}, true); }

void AgentWorld::on_node_leaving(NodeLeaving leaving) {
  following_[leaving.node.index()].leaves_at = leaving.until;
  send_fact(leaving.node, leaving, true);
}

void AgentWorld::on_fault(const Fault& fault) {
  if (Network::is_of_network(fault.kind)) {
    const std::size_t begun = network_.begin(fault);
    if (!fault.lasting.is_forever())
      futures_.push(now() + fault.lasting, WorldFutureKind::FaultOver, begun);
    return;
  }
  if (fault.kind == FaultKind::AgentCrash) {
    for (const NodeId id : fault.nodes) {
      NodeHost& node = nodes_[id.index()];
      if (!node.agent_is_up()) continue;
      lose_agent(node);
      node.agent_dies();
      if (tap_ != nullptr) tap_->on_agent(now(), id, false);
      wake_node_at(node);
      if (!fault.lasting.is_forever())
        futures_.push(now() + fault.lasting, WorldFutureKind::AgentUp, id.value);
    }
    return;
  }
  if (fault.kind == FaultKind::ClockStep) {
    if (fault.nodes.empty()) wall_ahead_ += fault.step;
    return;
  }
  control_faults_.push_back(fault);
}

// --- agents ---

void AgentWorld::lose_agent(NodeHost& node) {
  Following& following = following_[node.id().index()];
  if (LeaderPort* port = find(following.leader)) port->leader().disconnected(node.id());
  following.leader = LeaderNumber{};
  ++following.attempt;
}

// Facts for agents, until none of them causes another.
void AgentWorld::drain() {
  if (draining_) return;
  draining_ = true;
  while (!pending_.empty()) {
    const auto [id, event] = std::move(pending_.front());
    pending_.pop_front();
    NodeHost& node = nodes_[id.index()];
    if (node.agent_is_up()) step(node, event);
  }
  draining_ = false;
}

void AgentWorld::step(NodeHost& node, const AgentEvent& event) {
  node.step(event, now());
  carry_out(node);
}

// First what the agent orders, then what it reports, then its complete list.
void AgentWorld::carry_out(NodeHost& node) {
  AgentOutput& out = node.out();
  for (std::size_t i = 0; i < out.actions.size(); ++i) act(node, out.actions[i]);
  if (tap_ != nullptr) {
    for (const AgentNotice& notice : out.notices)
      if (notice.note == AgentNote::Fenced) tap_->on_fenced(now(), node.id(), false);
    if (node.agent().holds_lease())
      tap_->on_lease(now(), node.id(), node.lease_epoch(), node.lease_until());
  }
  if (!out.reports.empty()) {
    pack_reports(out.reports);
    if (Message* message = compose_to_leader(node.id(), MessageKind::Reports)) {
      message->reports = out.reports;
      send(true);
    }
  }
  for (const SubMasterSaid& said : out.said) send_fact(node.id(), said, true);
  if (out.heartbeat) {
    const bool registers = out.heartbeat->registers;
    if (Message* message = compose_to_leader(node.id(), MessageKind::Beat)) {
      message->beat = *out.heartbeat;
      message->measured.clear();
      if (any_watched_) measure(node, message->measured);
      message->lost_devices = registers ? cluster_.lost_devices(node.id()) : 0;
      message->leaves_at = registers ? following_[node.id().index()].leaves_at : Instant::never();
      send(registers);
    }
  }
  out.clear();
  wake_node_at(node);
}

// A worker that hangs measures nothing.
void AgentWorld::measure(const NodeHost& node, std::vector<ProfilingChanged>& measured) const {
  for (const auto& [name, process] : node.processes()) {
    const LiveJob* job = cluster_.job(name.job);
    if (job == nullptr || process.state != AgentWorkerState::Ready) continue;
    for (const ModelWorker& worker : job->workers) {
      if (worker.incarnation != name.incarnation || worker.birth_rank != name.birth_rank) continue;
      if (worker.hung || worker.stopping || !worker.alive) continue;
      const double step_time = cluster_.slowness(worker);
      measured.push_back(
          {name.job, process.generation, process.rank, {{"step_time_s", step_time}}});
    }
  }
}

void AgentWorld::act(NodeHost& node, const AgentAction& action) {
  if (const auto* spawn = std::get_if<SpawnWorker>(&action)) {
    node.spawned(*spawn);
    if (tap_ != nullptr)
      tap_->on_process_started(now(), node.truth_of(node.processes().at(spawn->worker)));
    return cluster_.act(node.id(), *spawn);
  }
  if (const auto* signal = std::get_if<SignalWorker>(&action)) return pass_signal(node, *signal);
  if (const auto* tell = std::get_if<TellMembership>(&action)) {
    node.told(*tell);
    const auto process = node.processes().find(tell->worker);
    if (tap_ != nullptr && process != node.processes().end())
      tap_->on_process_moved(now(), node.truth_of(process->second));
    return cluster_.act(node.id(), *tell);
  }
  cluster_.act(node.id(), std::get<PassToSubMaster>(action));
}

// What is killed and does not end is held by the kernel.
void AgentWorld::pass_signal(NodeHost& node, const SignalWorker& signal) {
  const auto known = node.processes().find(signal.worker);
  if (tap_ != nullptr && known != node.processes().end())
    tap_->on_signal(now(), node.truth_of(known->second), signal.signal == WorkerSignal::Kill);
  cluster_.act(node.id(), signal);
  if (signal.signal != WorkerSignal::Kill) return;
  const auto held = node.processes().find(signal.worker);
  if (held == node.processes().end()) return;
  node.doomed(signal.worker);
  if (tap_ != nullptr) tap_->on_process_ended(now(), node.truth_of(held->second));
}

void AgentWorld::wake_node_at(NodeHost& node) {
  Following& following = following_[node.id().index()];
  const Instant deadline = node.next_wake();
  if (deadline >= following.due) return;
  following.due = std::max(deadline, now());
  const Instant wake = late(following.due);
  if (wake >= following.wake) return;
  following.wake = wake;
  futures_.push(following.wake, WorldFutureKind::WakeNode, node.id().value);
}

void AgentWorld::wake_node(NodeHost& node) {
  Following& following = following_[node.id().index()];
  if (following.wake > now()) return;  // An earlier wake has taken its place.
  following.wake = following.due = Instant::never();
  if (node.agent_is_up() && node.next_wake() <= now()) {
    step(node, TimePassed{});
    drain();
  } else if (node.shims_must_kill(now())) {
    kill_by_shims(node);
  }
  wake_node_at(node);
}

void AgentWorld::kill_by_shims(NodeHost& node) {
  if (tap_ != nullptr) tap_->on_fenced(now(), node.id(), true);
  std::vector<WorkerName> names;
  for (const auto& [name, worker] : node.processes()) names.push_back(name);
  for (const WorkerName& name : names) pass_signal(node, {name, WorkerSignal::Kill});
  drain();
}

}  // namespace orrery::sim
