#include "sim/model/model_world.hpp"

#include <algorithm>
#include <iterator>

namespace orrery::sim {

ModelWorld::ModelWorld(const scenarios::Scenario& scenario, JobSource& source, Fabric* fabric)
    : scenario_(scenario),
      contacts_(static_cast<std::size_t>(scenario.node_count())),
      cluster_(scenario, source, *this, fabric) {}

bool ModelWorld::wait_events(Instant deadline, std::vector<Event>& events) {
  while (at_once_.empty()) {
    const Instant watched = watch_.next();
    const Instant next = std::min(cluster_.next(std::min(watched, deadline)), watched);
    // Without jobs to come or to end, what else may happen to the nodes is of no interest.
    // Looked at without a bound, never is never.
    const bool over = next.is_never() && (deadline.is_never() || !cluster_.is_busy());
    const bool idle = over || !cluster_.work_left();
    if (idle || next > deadline) {
      if (!deadline.is_never()) cluster_.wait_to(deadline);
      return !idle;
    }
    cluster_.pass_to(next);
    watch_until(cluster_.now());
  }
  std::move(at_once_.begin(), at_once_.end(), std::back_inserter(events));
  at_once_.clear();
  return true;
}

Instant ModelWorld::quiet_until() {
  if (!at_once_.empty()) return cluster_.now();
  const Instant watched = watch_.next();
  return std::min(cluster_.next(watched), watched);
}

void ModelWorld::issue(const Command& command) {
  std::visit([this](const auto& body) { cluster_.obey(body); }, command.body);
}

// Nobody else would say so. A node that is cut off does, by its list, when it is heard again.
void ModelWorld::never_started(const StartWorkers& left_out) {
  for (const WorkerStart& start : left_out.workers) {
    if (cluster_.is_mute(start.node) || cluster_.is_down(start.node)) continue;
    emit(Origin::Reaction,
         cluster_.now(),
         WorkersChanged{left_out.job,
                        left_out.generation,
                        start.incarnation,
                        WorkerFact::Lost,
                        start.rank,
                        1,
                        0});
  }
}

void ModelWorld::emit(Origin origin, Instant occurred_at, EventBody body) {
  at_once_.push_back({cluster_.now(), occurred_at, origin, std::move(body)});
}

void ModelWorld::on_outside(EventBody body) {
  emit(Origin::External, cluster_.now(), std::move(body));
}

// Reports runs of workers that were born together with ranks one after the other as one event.
void ModelWorld::on_workers(JobId job,
                            std::span<const ModelWorker> workers,
                            WorkerFact fact,
                            std::int32_t exit_code,
                            Instant occurred_at,
                            const Diagnosis& diagnosis) {
  const bool by_port = fact == WorkerFact::LaunchFailed && exit_code == kPortInUse;
  std::size_t begin = 0;
  while (begin < workers.size()) {
    const ModelWorker& first = workers[begin];
    std::size_t end = begin + 1;
    // Each has a port of its own.
    while (!by_port && end < workers.size() && workers[end].incarnation == first.incarnation &&
           workers[end].born == first.born &&
           workers[end].birth_rank.value == first.birth_rank.value + (end - begin) &&
           (fact != WorkerFact::Running || workers[end].environment == first.environment))
      ++end;
    WorkersChanged report{job,
                          first.born,
                          first.incarnation,
                          fact,
                          first.birth_rank,
                          static_cast<std::uint32_t>(end - begin),
                          by_port ? 0 : exit_code};
    if (fact == WorkerFact::Running) report.environment = first.environment;
    if (by_port) report.busy_port = first.first_port;
    if (diagnosis.blame != Blame::None) report.diagnosis = diagnosis;
    emit(Origin::Reaction, occurred_at, std::move(report));
    begin = end;
  }
}

void ModelWorld::on_progress(NodeId from, ProgressReported progress) {
  if (!from.is_none() && cluster_.is_mute(from)) return;
  emit(Origin::External, cluster_.now(), std::move(progress));
}

void ModelWorld::on_suspected(NodeId, WorkerSuspected suspicion) {
  emit(Origin::External, cluster_.now(), suspicion);
}

void ModelWorld::on_sub_master(NodeId, const ModelWorker&, SubMasterSaid said) {
  emit(Origin::Reaction, cluster_.now(), said);
}

void ModelWorld::on_devices_lost(DevicesLost lost) {
  if (!cluster_.is_mute(lost.node)) emit(Origin::External, cluster_.now(), lost);
}

void ModelWorld::on_devices_back(NodeId node) {
  if (cluster_.is_mute(node)) return;
  emit(Origin::External, cluster_.now(), DevicesLost{node, 0});
}

void ModelWorld::on_node_leaving(NodeLeaving leaving) {
  if (!cluster_.is_mute(leaving.node)) emit(Origin::External, cluster_.now(), leaving);
}

void ModelWorld::on_fault(const scenarios::Fault& fault) {
  if (fault.kind == scenarios::FaultKind::LinkCut ||
      fault.kind == scenarios::FaultKind::AgentCrash) {
    for (const NodeId node : fault.nodes) cut(node, fault.lasting);
    if (!fault.nodes.empty()) return;
    for (std::uint32_t n = 0; n < contacts_.size(); ++n) cut(NodeId{n}, fault.lasting);
    return;
  }
  cluster_.warn("fault at " + std::to_string(cluster_.now().in_seconds()) +
                " s: this world does not model kind " + std::string(to_string(fault.kind)) +
                "; nothing was done");
}

void ModelWorld::on_struck(std::uint32_t index) {
  if (struck_) struck_(index);
}

// --- contact with nodes: silence is noticed when the lease runs out ---

void ModelWorld::watch_until(Instant now) {
  while (watch_.next() <= now) {
    const Future due = watch_.pop();
    const NodeId node{due.subject};
    if (due.kind == FutureKind::NodeUp)
      heal(node);
    else if (due.kind == FutureKind::Departure)
      fence(node);
    else
      notice_silence(node);
  }
}

void ModelWorld::lose_contact(NodeId node) {
  Contact& contact = contacts_[node.index()];
  if (!contact.lost_at.is_never()) return;
  contact.lost_at = cluster_.now();
  watch_.push(cluster_.now() + scenario_.settings.node_lease, FutureKind::NodeDown, node.value);
}

void ModelWorld::notice_silence(NodeId node) {
  const Instant lost_at = contacts_[node.index()].lost_at;
  if (cluster_.now() < lost_at + scenario_.settings.node_lease) return;
  cluster_.forget(node);
  emit(Origin::External, lost_at, NodeSilent{node});
}

// Within its lease or after: either way it comes with the complete list of what still runs there,
// and all else is lost, but for what it has not heard of.
void ModelWorld::hear_again(NodeId node, Sequence seen) {
  contacts_[node.index()].lost_at = Instant::never();
  cluster_.forget(node);
  emit(Origin::External, cluster_.now(), NodeReturned{node, cluster_.complete_list(node), seen});
  // A node that returns counts as repaired, so what is not is told after that.
  if (cluster_.lost_devices(node) != 0) on_devices_lost({node, cluster_.lost_devices(node)});
}

void ModelWorld::on_node_down(NodeId node) { lose_contact(node); }

// Its agent knows of no order that an earlier life of it was given.
void ModelWorld::on_node_up(NodeId node) {
  if (!cluster_.is_mute(node)) hear_again(node, Sequence{0});
}

void ModelWorld::cut(NodeId node, Duration lasting) {
  // What an agent holds after a renewal, as AgentSettings has it.
  const Duration lease = scenario_.settings.node_lease - scenario_.settings.fence_margin;
  if (lasting <= lease) return;
  Contact& contact = contacts_[node.index()];
  const Instant now = cluster_.now();
  if (!cluster_.is_mute(node)) {
    contact.cut_until = now;
    contact.fence.renew(Epoch{1}, now + lease);
    watch_.push(contact.fence.lease_until(), FutureKind::Departure, node.value);
  }
  contact.cut_until = std::max(contact.cut_until, now + lasting);
  if (!contact.cut_until.is_never()) watch_.push(contact.cut_until, FutureKind::NodeUp, node.value);
  cluster_.mute(node, true);
  lose_contact(node);
}

void ModelWorld::fence(NodeId node) {
  if (contacts_[node.index()].fence.must_kill(cluster_.now())) cluster_.kill_all(node);
}

void ModelWorld::heal(NodeId node) {
  if (!cluster_.is_mute(node) || contacts_[node.index()].cut_until > cluster_.now()) return;
  cluster_.mute(node, false);
  if (!cluster_.is_down(node)) hear_again(node, Sequence{UINT64_MAX});
}

}  // namespace orrery::sim
