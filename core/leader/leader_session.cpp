#include "core/leader/leader_session.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/coverage_mark.hpp"
#include "core/record/codec.hpp"

namespace orrery {
namespace {

void add_ascending(std::vector<NodeId>& nodes, NodeId node) {
  const auto place = std::lower_bound(nodes.begin(), nodes.end(), node);
  if (place == nodes.end() || *place != node) nodes.insert(place, node);
}

bool is_list(const Event& event) { return std::holds_alternative<NodeReturned>(event.body); }

}  // namespace

EventBody lack_of(NodeId node, std::uint64_t devices, bool held) {
  if (held) return NodeHeld{node, devices};
  return DevicesLost{node, devices};
}

LeaderSession::LeaderSession(Epoch epoch,
                             const State& state,
                             const Settings& settings,
                             std::uint32_t nodes,
                             Instant now,
                             Duration journal_ahead)
    : state_(state), ahead_(journal_ahead), liveness_(epoch, settings, nodes, now) {
  state.for_each_job([&](const JobState& job) {
    if (!is_final(job.row.phase) && job.incarnation > Incarnation{})
      jobs_[job.row.id].issued = job.incarnation;
  });
}

void LeaderSession::take_news(std::vector<Event>& events) {
  if (inbox_.empty()) return;
  if (is_list(inbox_.front())) add_starting(std::get<NodeReturned>(inbox_.front().body));
  const auto end = std::find_if(inbox_.begin() + 1, inbox_.end(), is_list);
  std::move(inbox_.begin(), end, std::back_inserter(events));
  inbox_.erase(inbox_.begin(), end);
}

void LeaderSession::add_starting(NodeReturned& returned) const {
  std::vector<RunningWorker>& list = returned.workers;
  const auto add = [&](const RunningWorker& worker) {
    if (std::find(list.begin(), list.end(), worker) == list.end()) list.push_back(worker);
  };
  for (const RunningWorker& worker : liveness_.on_their_way(returned.node)) add(worker);
  // Orders that wait for the store have not even gone out. A worker that starts holds something of
  // the node, so only the jobs that do are looked at, and of those only what waits for the store
  // now.
  for (const JobId id : owners_on(state_.ledger, returned.node)) {
    const JobState& job = state_.job(id);
    const auto known = jobs_.find(id);
    const Incarnation issued = known == jobs_.end() ? Incarnation{} : known->second.issued;
    if (job.incarnation <= issued) continue;
    for (const Worker& worker : job.workers) {
      if (worker.node != returned.node || worker.state != WorkerState::Starting ||
          worker.incarnation <= issued)
        continue;
      reached(Mark::LeaderOnTheWay);
      add({id, worker.born, worker.incarnation, worker.birth_rank});
    }
  }
  std::sort(list.begin(), list.end(), comes_before);
}

void LeaderSession::establish(Instant now) {
  state_.for_each_job([&](const JobState& job) {
    if (is_final(job.row.phase) || job.workers.empty()) return;
    suspicions_.watch(job.row.id, *job.spec->failover);
    UpdateMembership present{job.row.id, job.row.generation, 0, {}};
    for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
      const Worker& worker = job.workers[rank];
      if (!worker.is_alive()) continue;
      add_ascending(jobs_[job.row.id].asked, worker.node);
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
                             now);
      start.birth_rank = worker.birth_rank;
      start.rank = Rank{rank};
      present.members.push_back(start);
    }
    suspicions_.ordered(present);
  });
}

void LeaderSession::note(Origin origin, Instant occurred, Instant now, EventBody body) {
  inbox_.push_back({now + ahead_, occurred + ahead_, origin, std::move(body)});
}

void LeaderSession::take_edges(Instant occurred, Instant now) {
  for (EventBody& edge : edges_) {
    const bool reaction = std::holds_alternative<WorkersChanged>(edge);
    note(reaction ? Origin::Reaction : Origin::External, occurred, now, std::move(edge));
  }
  edges_.clear();
}

void LeaderSession::connected(NodeId node, const std::vector<const CommandBody*>& waiting) {
  liveness_.connected(node);
  // What still waits is not lost.
  for (const CommandBody* order : waiting) liveness_.ordered(*order);
}

void LeaderSession::issued(JobId id, Incarnation incarnation) {
  Job& job = jobs_[id];
  job.issued = std::max(job.issued, incarnation);
}

void LeaderSession::ordered(const CommandBody& body) {
  liveness_.ordered(body);
  if (const auto* start = std::get_if<StartWorkers>(&body)) {
    if (const JobState* job = state_.find(start->job))
      suspicions_.watch(start->job, *job->spec->failover);
    Job& noted = jobs_[start->job];
    for (const WorkerStart& worker : start->workers) {
      add_ascending(noted.asked, worker.node);
      noted.issued = std::max(noted.issued, worker.incarnation);
    }
  }
  suspicions_.ordered(body);
  if (const auto* clean = std::get_if<CleanJob>(&body)) jobs_.erase(clean->job);
}

void LeaderSession::overtaken(JobId job, Generation generation, const WorkerStart& start) {
  reached(Mark::LeaderOvertakenStart);
  liveness_.withdrawn(start.node, {job, generation, start.incarnation, start.rank});
}

HeartbeatVerdict LeaderSession::heard(const HeardBeat& heard, Instant now) {
  ++calls_;
  const HeartbeatVerdict verdict = liveness_.heard(heard.beat, now, edges_);
  const bool returned = std::any_of(edges_.begin(), edges_.end(), [](const EventBody& edge) {
    return std::holds_alternative<NodeReturned>(edge);
  });
  take_edges(now, now);
  // What a node that returned still lacks is known before anything is placed on it.
  const NodeId node = heard.beat.node;
  const std::size_t n = node.index();
  const bool known_as_lossy =
      n < state_.nodes.size() && state_.nodes[n].lost_device && !state_.nodes[n].silent;
  if (returned && known_as_lossy != (heard.lost_devices != 0 || heard.held))
    note(Origin::External, heard.sent_at, now, lack_of(node, heard.lost_devices, heard.held));
  if (returned && !heard.leaves_at.is_never())
    note(Origin::External, heard.sent_at, now, NodeLeaving{node, heard.leaves_at + ahead_});
  for (const ProfilingChanged& measured : heard.measured) {
    ++calls_;
    suspicions_.profiled(measured, now, edges_);
  }
  take_edges(now, now);
  return verdict;
}

void LeaderSession::reported(NodeId node,
                             const std::vector<WorkersChanged>& changes,
                             Instant sent_at,
                             Instant now) {
  for (const WorkersChanged& change : changes) {
    ++calls_;
    liveness_.reported(node, change, edges_);
    suspicions_.reported(change, now);
  }
  take_edges(sent_at, now);
}

void LeaderSession::told(Origin origin, EventBody body, Instant occurred_at, Instant now) {
  if (const auto* progress = std::get_if<ProgressReported>(&body))
    suspicions_.progressed(*progress, now);
  // The controller takes a replaced node for silent until it registers. So does its session: else a
  // node that has registered before the answer came, or runs on as it was, would be heard and never
  // be used again.
  if (const auto* answer = std::get_if<NodesRelaunched>(&body))
    for (const NodeId node : answer->replaced) liveness_.replaced(node);
  note(origin, occurred_at, now, std::move(body));
}

void LeaderSession::will_leave(NodeId node, Instant leaves_at, Instant occurred_at, Instant now) {
  note(Origin::External, occurred_at, now, NodeLeaving{node, leaves_at + ahead_});
}

void LeaderSession::profiled(const ProfilingChanged& measured, Instant now) {
  liveness_.profiled(measured, edges_);
  take_edges(now, now);
}

void LeaderSession::measured(const ProfilingChanged& measured, Instant now) {
  ++calls_;
  suspicions_.profiled(measured, now, edges_);
  take_edges(now, now);
}

void LeaderSession::time_reached(Instant now, std::vector<NodeId>& silent) {
  if (next_deadline() > now) return;
  ++calls_;
  liveness_.time_reached(now, edges_);
  for (const EventBody& edge : edges_)
    if (const auto* gone = std::get_if<NodeSilent>(&edge)) silent.push_back(gone->node);
  suspicions_.time_reached(now, edges_);
  take_edges(now, now);
}

Instant LeaderSession::next_deadline() const {
  return std::min(liveness_.next_deadline(), suspicions_.next_deadline());
}

bool LeaderSession::is_wanted(JobId job, const WorkerStart& start) const {
  const JobState* known = state_.find(job);
  if (known == nullptr) return false;
  return std::any_of(known->workers.begin(), known->workers.end(), [&](const Worker& worker) {
    return worker.incarnation == start.incarnation && worker.birth_rank == start.rank &&
           worker.node == start.node && worker.is_alive();
  });
}

const std::vector<NodeId>& LeaderSession::asked(JobId job) const {
  static const std::vector<NodeId> kNowhere;
  const auto known = jobs_.find(job);
  return known == jobs_.end() ? kNowhere : known->second.asked;
}

std::vector<NodeId> LeaderSession::nodes_of(JobId job) const {
  std::vector<NodeId> nodes = asked(job);
  if (const JobState* known = state_.find(job))
    for (const Worker& worker : known->workers) nodes.push_back(worker.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

void LeaderSession::save(ByteWriter& out) const {
  Encoder encoder(out);
  encoder.put(ahead_);
  liveness_.save(out);
  suspicions_.save(out);
  out.varint(jobs_.size());
  for (const auto& [id, job] : jobs_) {
    encoder.put(id);
    encoder.put(job.asked);
    encoder.put(job.issued);
  }
  out.varint(inbox_.size());
  for (const Event& event : inbox_) encode(event, out);
}

}  // namespace orrery
