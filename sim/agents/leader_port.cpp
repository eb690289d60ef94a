#include "sim/agents/leader_port.hpp"

#include <algorithm>
#include <iterator>

namespace orrery::sim {
namespace {

void add_once(std::vector<NodeId>& nodes, NodeId node) {
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
}

}  // namespace

LeaderPort::LeaderPort(PortOwner& owner,
                       LeaderNumber number,
                       Epoch epoch,
                       const State& state,
                       const Settings& settings,
                       std::uint32_t nodes,
                       Duration ahead)
    : owner_(owner),
      number_(number),
      epoch_(epoch),
      state_(state),
      ahead_(ahead),
      liveness_(epoch, settings, nodes, owner.world_now()),
      links_(nodes) {
  state.for_each_job([&](const JobState& job) { issued_[job.row.id] = job.incarnation; });
}

// A list accuses nobody whose start was decided after it was heard. So what comes before it is
// decided first, and whoever is on his way by then is added.
bool LeaderPort::wait_events(Instant, std::vector<Event>& events) {
  const auto is_list = [](const Event& event) {
    return std::holds_alternative<NodeReturned>(event.body);
  };
  if (inbox_.empty()) return true;
  if (is_list(inbox_.front())) add_who_is_on_the_way(std::get<NodeReturned>(inbox_.front().body));
  const auto end = std::find_if(inbox_.begin() + 1, inbox_.end(), is_list);
  std::move(inbox_.begin(), end, std::back_inserter(events));
  inbox_.erase(inbox_.begin(), end);
  return true;
}

void LeaderPort::add_who_is_on_the_way(NodeReturned& returned) const {
  std::vector<RunningWorker>& list = returned.workers;
  const auto add = [&](const RunningWorker& worker) {
    if (std::find(list.begin(), list.end(), worker) == list.end()) list.push_back(worker);
  };
  for (const RunningWorker& worker : liveness_.on_their_way(returned.node)) add(worker);
  // Orders that wait for the store have not even gone out.
  state_.for_each_job([&](const JobState& job) {
    const auto issued = issued_.find(job.row.id);
    for (const Worker& worker : job.workers)
      if (worker.node == returned.node && worker.state == WorkerState::Starting &&
          (issued == issued_.end() || worker.incarnation > issued->second))
        add({job.row.id, worker.born, worker.incarnation, worker.birth_rank});
  });
  std::sort(list.begin(), list.end(), comes_before);
}

void LeaderPort::establish() {
  established_ = true;
  state_.for_each_job([&](const JobState& job) {
    if (is_final(job.row.phase) || job.workers.empty()) return;
    suspicions_.watch(job.row.id, job.spec->failover);
    UpdateMembership present{job.row.id, job.row.generation, 0, {}};
    for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
      const Worker& worker = job.workers[rank];
      if (!worker.is_alive()) continue;
      WorkerStart start{worker.birth_rank, worker.role, worker.local_rank, worker.node};
      start.incarnation = worker.incarnation;
      suspicions_.ordered(StartWorkers{job.row.id, worker.born, 0, {start}});
      if (worker.state == WorkerState::Ready)
        suspicions_.reported({job.row.id,
                              worker.born,
                              worker.incarnation,
                              WorkerFact::Ready,
                              worker.birth_rank,
                              1,
                              0},
                             owner_.world_now());
      start.birth_rank = worker.birth_rank;
      start.rank = Rank{rank};
      present.members.push_back(start);
    }
    suspicions_.ordered(present);
  });
}

void LeaderPort::note(Origin origin, Instant occurred, EventBody body) {
  inbox_.push_back({now(), occurred + ahead_, origin, std::move(body)});
}

void LeaderPort::take_edges(Instant occurred) {
  for (EventBody& edge : edges_) {
    const bool reaction = std::holds_alternative<WorkersChanged>(edge);
    note(reaction ? Origin::Reaction : Origin::External, occurred, std::move(edge));
  }
  edges_.clear();
}

void LeaderPort::connected(NodeId node) {
  liveness_.connected(node);
  // What still waits is not lost.
  for (const auto& order : link(node).waiting) liveness_.ordered(order->body);
}

void LeaderPort::ordered(const CommandBody& body) {
  liveness_.ordered(body);
  if (const auto* start = std::get_if<StartWorkers>(&body)) {
    if (const JobState* job = state_.find(start->job))
      suspicions_.watch(start->job, job->spec->failover);
    std::vector<NodeId>& asked = asked_[start->job];
    for (const WorkerStart& worker : start->workers) {
      add_once(asked, worker.node);
      issued_[start->job] = std::max(issued_[start->job], worker.incarnation);
    }
  }
  suspicions_.ordered(body);
}

HeartbeatVerdict LeaderPort::heard(const Message& message) {
  ++ear_calls_;
  const HeartbeatVerdict verdict = liveness_.heard(message.beat, owner_.world_now(), edges_);
  const bool returned = std::any_of(edges_.begin(), edges_.end(), [](const EventBody& edge) {
    return std::holds_alternative<NodeReturned>(edge);
  });
  take_edges(owner_.world_now());
  // What a node that returned still lacks is known before anything is placed on it.
  const std::size_t n = message.node.index();
  const bool known_as_lossy =
      n < state_.nodes.size() && state_.nodes[n].lost_device && !state_.nodes[n].silent;
  if (returned && known_as_lossy != (message.lost_devices != 0))
    note(Origin::External, message.sent_at, DevicesLost{message.node, message.lost_devices});
  if (returned && !message.leaves_at.is_never())
    note(Origin::External, message.sent_at, NodeLeaving{message.node, message.leaves_at + ahead_});
  for (const ProfilingChanged& measured : message.measured) {
    ++ear_calls_;
    suspicions_.profiled(measured, owner_.world_now(), edges_);
  }
  take_edges(owner_.world_now());
  return verdict;
}

void LeaderPort::reported(const Message& message) {
  for (const WorkersChanged& report : message.reports) {
    ++ear_calls_;
    liveness_.reported(message.node, report, edges_);
    suspicions_.reported(report, owner_.world_now());
  }
  take_edges(message.sent_at);
}

void LeaderPort::told(const Message& message) {
  if (const auto* progress = std::get_if<ProgressReported>(&message.fact))
    suspicions_.progressed(*progress, owner_.world_now());
  note(message.origin, message.sent_at, message.fact);
}

void LeaderPort::told(Origin origin, EventBody body) {
  note(origin, owner_.world_now(), std::move(body));
}

void LeaderPort::time_reached() {
  const Instant world = owner_.world_now();
  if (next_deadline() > world) return;
  ++ear_calls_;
  liveness_.time_reached(world, edges_);
  for (const EventBody& edge : edges_) {
    const auto* silent = std::get_if<NodeSilent>(&edge);
    if (silent == nullptr) continue;
    // The controller gives up what waits for the node.
    link(silent->node).waiting.clear();
    link(silent->node).registered = false;
  }
  suspicions_.time_reached(world, edges_);
  take_edges(world);
}

Instant LeaderPort::next_deadline() const {
  return std::min(liveness_.next_deadline(), suspicions_.next_deadline());
}

bool LeaderPort::is_wanted(JobId job, const WorkerStart& start) const {
  const JobState* known = state_.find(job);
  if (known == nullptr) return false;
  return std::any_of(known->workers.begin(), known->workers.end(), [&](const Worker& worker) {
    return worker.incarnation == start.incarnation && worker.birth_rank == start.rank &&
           worker.node == start.node && worker.is_alive();
  });
}

std::vector<NodeId> LeaderPort::nodes_of(JobId job) const {
  std::vector<NodeId> nodes;
  const auto asked = asked_.find(job);
  if (asked != asked_.end()) nodes = asked->second;
  if (const JobState* known = state_.find(job))
    for (const Worker& worker : known->workers) add_once(nodes, worker.node);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace orrery::sim
