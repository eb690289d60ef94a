#include "sim/model/model_world.hpp"

#include <algorithm>
#include <iterator>

namespace orrery::sim {

ModelWorld::ModelWorld(const scenarios::Scenario& scenario, JobSource& source)
    : scenario_(scenario),
      lost_at_(static_cast<std::size_t>(scenario.node_count()), Instant::never()),
      room_(scenario, source, *this) {}

bool ModelWorld::wait_events(Instant deadline, std::vector<Event>& events) {
  while (at_once_.empty()) {
    const Instant next =
        std::min(room_.next(), watch_.empty() ? Instant::never() : watch_.top().at);
    // Without jobs to come or to end, what else may happen to the nodes is of no interest.
    const bool idle = next.is_never() || !room_.work_left();
    if (idle || next > deadline) {
      if (!deadline.is_never()) room_.wait_to(deadline);
      return !idle;
    }
    room_.pass_to(next);
    watch_until(room_.now());
  }
  std::move(at_once_.begin(), at_once_.end(), std::back_inserter(events));
  at_once_.clear();
  return true;
}

void ModelWorld::issue(const Command& command) {
  std::visit([this](const auto& body) { room_.obey(body); }, command.body);
}

void ModelWorld::emit(Origin origin, Instant occurred_at, EventBody body) {
  at_once_.push_back({room_.now(), occurred_at, origin, std::move(body)});
}

void ModelWorld::on_outside(EventBody body) {
  emit(Origin::External, room_.now(), std::move(body));
}

// Reports runs of workers that were born together with ranks one after the other as one event.
void ModelWorld::on_workers(JobId job,
                            std::span<const ModelWorker> workers,
                            WorkerFact fact,
                            std::int32_t exit_code,
                            Instant occurred_at) {
  std::size_t begin = 0;
  while (begin < workers.size()) {
    const ModelWorker& first = workers[begin];
    std::size_t end = begin + 1;
    while (end < workers.size() && workers[end].incarnation == first.incarnation &&
           workers[end].born == first.born &&
           workers[end].birth_rank.value == first.birth_rank.value + (end - begin))
      ++end;
    emit(Origin::Reaction,
         occurred_at,
         WorkersChanged{job,
                        first.born,
                        first.incarnation,
                        fact,
                        first.birth_rank,
                        static_cast<std::uint32_t>(end - begin),
                        exit_code});
    begin = end;
  }
}

void ModelWorld::on_progress(NodeId, ProgressReported progress) {
  emit(Origin::External, room_.now(), std::move(progress));
}

void ModelWorld::on_suspected(NodeId, WorkerSuspected suspicion) {
  emit(Origin::External, room_.now(), suspicion);
}

void ModelWorld::on_sub_master(NodeId, const ModelWorker&, SubMasterSaid said) {
  emit(Origin::Reaction, room_.now(), said);
}

void ModelWorld::on_devices_lost(DevicesLost lost) { emit(Origin::External, room_.now(), lost); }

void ModelWorld::on_devices_back(NodeId node) {
  emit(Origin::External, room_.now(), NodeReturned{node, room_.complete_list(node)});
}

void ModelWorld::on_node_leaving(NodeLeaving leaving) {
  emit(Origin::External, room_.now(), leaving);
}

void ModelWorld::on_fault(const scenarios::Fault& fault) {
  room_.troubles().push_back("fault at " + std::to_string(room_.now().in_seconds()) +
                             " s: this world does not model kind " +
                             std::string(to_string(fault.kind)) + "; nothing was done");
}

void ModelWorld::on_struck(std::uint32_t index) {
  if (struck_) struck_(index);
}

// --- nodes: silence is noticed when the lease runs out ---

void ModelWorld::on_node_down(NodeId node) {
  lost_at_[node.index()] = room_.now();
  watch_.push(room_.now() + scenario_.settings.node_lease, FutureKind::NodeDown, node.value);
}

void ModelWorld::watch_until(Instant now) {
  while (!watch_.empty() && watch_.top().at <= now) notice_silence(NodeId{watch_.pop().subject});
}

void ModelWorld::notice_silence(NodeId node) {
  const Instant lost_at = lost_at_[node.index()];
  if (room_.now() < lost_at + scenario_.settings.node_lease) return;
  room_.bury(node);
  emit(Origin::External, lost_at, NodeSilent{node});
}

// Within its lease or after: either way it comes with an empty list, and what ran there is lost.
void ModelWorld::on_node_up(NodeId node) {
  lost_at_[node.index()] = Instant::never();
  room_.bury(node);
  emit(Origin::External, room_.now(), NodeReturned{node, room_.complete_list(node)});
}

}  // namespace orrery::sim
