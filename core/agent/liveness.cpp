#include "core/agent/liveness.hpp"

#include <tuple>

#include "core/agent/worker_reports.hpp"
#include "core/base/coverage_mark.hpp"
#include "core/base/invariant.hpp"

namespace orrery {
namespace {

WorkersChanged loss_of(const RunningWorker& worker) {
  return {worker.job, worker.generation, worker.incarnation, WorkerFact::Lost, worker.rank, 1, 0};
}

void mark_verdict(HeartbeatVerdict verdict) {
  if (verdict == HeartbeatVerdict::StaleSession) reached(Mark::EarStaleSession);
  if (verdict == HeartbeatVerdict::StaleNumber) reached(Mark::EarStaleNumber);
  if (verdict == HeartbeatVerdict::StaleEpoch) reached(Mark::EarStaleEpoch);
  if (verdict == HeartbeatVerdict::NotRegistered) reached(Mark::EarNotRegistered);
}

}  // namespace

bool Liveness::Before::operator()(const RunningWorker& a, const RunningWorker& b) const {
  return std::tie(a.job, a.generation, a.rank, a.incarnation) <
         std::tie(b.job, b.generation, b.rank, b.incarnation);
}

Liveness::Liveness(Epoch epoch, const Settings& settings, std::uint32_t node_count, Instant now)
    : epoch_(epoch), lease_(settings.node_lease), grace_(settings.takeover_grace) {
  declare_nodes(node_count, now);
}

void Liveness::declare_nodes(std::uint32_t node_count, Instant now) {
  for (std::uint32_t i = 0; i < node_count; ++i) {
    nodes_.emplace_back();
    set_deadline(NodeId{static_cast<std::uint32_t>(nodes_.size() - 1)}, now + lease_ + grace_);
  }
}

HeartbeatVerdict Liveness::judge(const Heartbeat& beat) const {
  if (beat.node.index() >= nodes_.size()) return HeartbeatVerdict::UnknownNode;
  const Node& node = nodes_[beat.node.index()];
  if (beat.session < node.session) return HeartbeatVerdict::StaleSession;
  if (beat.session == node.session && beat.number <= node.number)
    return HeartbeatVerdict::StaleNumber;
  if (beat.epoch != epoch_) return HeartbeatVerdict::StaleEpoch;
  const bool new_to_us = beat.session > node.session || node.standing != Standing::Heard;
  if (new_to_us && !beat.registers) return HeartbeatVerdict::NotRegistered;
  return HeartbeatVerdict::Renewed;
}

HeartbeatVerdict Liveness::heard(const Heartbeat& beat,
                                 Instant now,
                                 std::vector<EventBody>& edges) {
  const HeartbeatVerdict verdict = judge(beat);
  mark_verdict(verdict);
  if (verdict != HeartbeatVerdict::Renewed) return verdict;
  Node& node = nodes_[beat.node.index()];
  if (beat.registers && (node.standing != Standing::Heard || beat.session > node.session)) {
    node.known = WorkerSet(beat.workers.begin(), beat.workers.end());
    // What was ordered from an earlier life of the agent never arrived.
    node.ordered.clear();
    edges.push_back(NodeReturned{beat.node, beat.workers});
  } else {
    compare(beat.node, beat, edges);
  }
  node.standing = Standing::Heard;
  node.session = beat.session;
  node.number = beat.number;
  node.last_heard = now;
  set_deadline(beat.node, now + lease_);
  ++renewals_;
  return HeartbeatVerdict::Renewed;
}

/// Reads a complete list against what is known of the node.
void Liveness::compare(NodeId id, const Heartbeat& beat, std::vector<EventBody>& edges) {
  Node& node = nodes_[id.index()];
  const WorkerSet listed(beat.workers.begin(), beat.workers.end());
  std::vector<WorkersChanged> losses;
  for (const RunningWorker& worker : node.known)
    if (!listed.contains(worker)) losses.push_back(loss_of(worker));
  bool surprise = false;
  for (const RunningWorker& worker : listed)
    surprise = (node.ordered.erase(worker) == 0 && !node.known.contains(worker)) || surprise;
  pack_reports(losses);
  for (const WorkersChanged& loss : losses) edges.push_back(loss);
  node.known = listed;
  if (!losses.empty()) reached(Mark::EarLoss);
  if (surprise) reached(Mark::EarSurprise);
  if (surprise) edges.push_back(NodeReturned{id, beat.workers});
}

void Liveness::reported(NodeId node_id,
                        const WorkersChanged& report,
                        std::vector<EventBody>& edges) {
  edges.push_back(report);
  if (node_id.index() >= nodes_.size() || report.fact == WorkerFact::Ready) return;
  Node& node = nodes_[node_id.index()];
  for (std::uint32_t i = 0; i < report.count; ++i) {
    const RunningWorker ended{
        report.job, report.generation, report.incarnation, Rank{report.first.value + i}};
    node.known.erase(ended);
    node.ordered.erase(ended);
  }
}

void Liveness::ordered(const CommandBody& order) {
  if (const auto* start = std::get_if<StartWorkers>(&order)) {
    for (const WorkerStart& worker : start->workers) {
      if (worker.node.index() >= nodes_.size()) continue;
      const RunningWorker wanted{start->job, start->generation, worker.incarnation, worker.rank};
      Node& node = nodes_[worker.node.index()];
      if (node.known.contains(wanted)) continue;
      node.ordered.insert(wanted);
      nodes_asked_[start->job].insert(worker.node);
    }
  }
  if (const auto* clean = std::get_if<CleanJob>(&order)) forget(clean->job);
}

void Liveness::profiled(const ProfilingChanged& measured, std::vector<EventBody>& edges) {
  Profile& last = profiles_[{measured.job, measured.rank}];
  if (measured.generation < last.generation) return;
  if (measured.generation > last.generation) last = {measured.generation, {}};
  ProfilingChanged changed{measured.job, measured.generation, measured.rank, {}};
  for (const ProfilingValue& value : measured.values) {
    const auto known = last.values.find(value.key);
    if (known == last.values.end() && last.values.size() >= kProfilingKeysMax) continue;
    if (known != last.values.end() && known->second == value.value) continue;
    last.values[value.key] = value.value;
    changed.values.push_back(value);
  }
  if (!changed.values.empty()) edges.push_back(std::move(changed));
}

void Liveness::forget(JobId job) {
  profiles_.erase(profiles_.lower_bound({job, Rank{0}}),
                  profiles_.upper_bound({job, Rank::none()}));
  const auto asked = nodes_asked_.find(job);
  if (asked == nodes_asked_.end()) return;
  for (const NodeId id : asked->second)
    std::erase_if(nodes_[id.index()].ordered,
                  [&](const RunningWorker& worker) { return worker.job == job; });
  nodes_asked_.erase(asked);
}

void Liveness::time_reached(Instant now, std::vector<EventBody>& edges) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const NodeId id = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    Node& node = nodes_[id.index()];
    node.standing = Standing::Silent;
    node.deadline = Instant::never();
    node.known.clear();
    node.ordered.clear();
    reached(Mark::EarSilence);
    edges.push_back(NodeSilent{id});
  }
}

Instant Liveness::next_deadline() const {
  return deadlines_.empty() ? Instant::never() : deadlines_.begin()->first;
}

void Liveness::set_deadline(NodeId id, Instant deadline) {
  Node& node = nodes_[id.index()];
  deadlines_.erase({node.deadline, id});
  node.deadline = deadline;
  deadlines_.insert({deadline, id});
}

}  // namespace orrery
