#include "core/agent/liveness.hpp"

#include <algorithm>

#include "core/agent/worker_reports.hpp"
#include "core/base/coverage_mark.hpp"
#include "core/base/invariant.hpp"
#include "core/record/codec.hpp"

namespace orrery {
namespace {

WorkersChanged loss_of(const RunningWorker& worker) {
  return {worker.job, worker.generation, worker.incarnation, WorkerFact::Lost, worker.rank, 1, 0};
}

bool contains(const std::vector<RunningWorker>& some, const RunningWorker& worker) {
  return std::find(some.begin(), some.end(), worker) != some.end();
}

void mark_verdict(HeartbeatVerdict verdict) {
  if (verdict == HeartbeatVerdict::StaleSession) reached(Mark::LivenessStaleSession);
  if (verdict == HeartbeatVerdict::StaleNumber) reached(Mark::LivenessStaleNumber);
  if (verdict == HeartbeatVerdict::StaleEpoch) reached(Mark::LivenessStaleEpoch);
  if (verdict == HeartbeatVerdict::NotRegistered) reached(Mark::LivenessNotRegistered);
}

}  // namespace

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
  const bool new_life = beat.session > node.session;
  if (beat.registers && (node.standing != Standing::Heard || new_life || node.fresh)) {
    // What was ordered from an earlier life of the agent never arrived.
    if (new_life && node.session > 0 && !node.fresh) node.ordered.clear();
    take_back(node, beat, edges);
  } else if (!(beat.workers == node.known) || !node.ended.empty()) {
    compare(node, beat, edges);
  }
  node.standing = Standing::Heard;
  node.session = beat.session;
  node.number = beat.number;
  node.last_heard = now;
  set_deadline(beat.node, now + lease_);
  ++renewals_;
  return HeartbeatVerdict::Renewed;
}

void Liveness::connected(NodeId id) {
  if (id.index() >= nodes_.size()) return;
  Node& node = nodes_[id.index()];
  node.fresh = true;
  node.doubted.insert(node.doubted.end(), node.ordered.begin(), node.ordered.end());
  node.ordered.clear();
}

/// The node is there again, with its list and with what is on its way to it. What was ordered
/// before and is not listed is lost.
void Liveness::take_back(Node& node, const Heartbeat& beat, std::vector<EventBody>& edges) {
  node.known = beat.workers;
  node.ended.clear();
  if (!node.doubted.empty()) reached(Mark::LivenessDoubt);
  node.doubted.clear();
  node.fresh = false;
  std::erase_if(node.ordered, [&](const RunningWorker& w) { return node.known.contains(w); });
  std::vector<RunningWorker> all = node.known.get();
  all.insert(all.end(), node.ordered.begin(), node.ordered.end());
  std::sort(all.begin(), all.end(), comes_before);
  edges.push_back(NodeReturned{beat.node, std::move(all), beat.seen});
}

/// Reads a complete list against what is known of the node.
void Liveness::compare(Node& node, const Heartbeat& beat, std::vector<EventBody>& edges) {
  std::vector<WorkersChanged> losses;
  for (const RunningWorker& worker : node.known)
    if (!beat.workers.contains(worker) && !contains(node.ended, worker))
      losses.push_back(loss_of(worker));
  bool surprise = false;
  for (const RunningWorker& worker : beat.workers) {
    const bool asked = std::erase(node.ordered, worker) > 0 || std::erase(node.doubted, worker) > 0;
    const bool was_here = node.known.contains(worker) && !contains(node.ended, worker);
    surprise = (!asked && !was_here) || surprise;
  }
  pack_reports(losses);
  for (const WorkersChanged& loss : losses) edges.push_back(loss);
  node.known = beat.workers;
  node.ended.clear();
  if (!losses.empty()) reached(Mark::LivenessLoss);
  if (!surprise) return;
  reached(Mark::LivenessSurprise);
  take_back(node, beat, edges);
}

void Liveness::reported(NodeId node_id,
                        const WorkersChanged& report,
                        std::vector<EventBody>& edges) {
  edges.push_back(report);
  if (node_id.index() >= nodes_.size() || is_up(report.fact)) return;
  Node& node = nodes_[node_id.index()];
  for (std::uint32_t i = 0; i < report.count; ++i) {
    const RunningWorker ended{
        report.job, report.generation, report.incarnation, Rank{report.first.value + i}};
    if (node.known.contains(ended) && !contains(node.ended, ended)) node.ended.push_back(ended);
    std::erase(node.ordered, ended);
    std::erase(node.doubted, ended);
  }
}

void Liveness::ordered(const CommandBody& order) {
  if (const auto* start = std::get_if<StartWorkers>(&order)) {
    for (const WorkerStart& worker : start->workers) {
      if (worker.node.index() >= nodes_.size()) continue;
      const RunningWorker wanted{start->job, start->generation, worker.incarnation, worker.rank};
      Node& node = nodes_[worker.node.index()];
      if (node.known.contains(wanted) || contains(node.ordered, wanted)) continue;
      node.ordered.push_back(wanted);
    }
  }
  if (const auto* clean = std::get_if<CleanJob>(&order)) forget(clean->job);
}

void Liveness::withdrawn(NodeId id, const RunningWorker& worker) {
  if (id.index() >= nodes_.size()) return;
  std::erase(nodes_[id.index()].ordered, worker);
  std::erase(nodes_[id.index()].doubted, worker);
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
}

std::size_t Liveness::noted() const {
  std::size_t noted = profiles_.size();
  for (const Node& node : nodes_) noted += node.ordered.size() + node.doubted.size();
  return noted;
}

// Its deadline stays: where no agent registers in time, the node is reported silent as any other.
void Liveness::replaced(NodeId id) {
  if (id.index() >= nodes_.size() || !is_heard(id)) return;
  Node& node = nodes_[id.index()];
  node.standing = Standing::Awaited;
  node.known = {};
  node.ended.clear();
  node.ordered.clear();
  node.doubted.clear();
}

void Liveness::time_reached(Instant now, std::vector<EventBody>& edges) {
  while (next_deadline() <= now) {
    const NodeId id = deadlines_.front();
    Node& node = nodes_[id.index()];
    node.standing = Standing::Silent;
    set_deadline(id, Instant::never());
    node.known = {};
    node.ended.clear();
    node.ordered.clear();
    node.doubted.clear();
    reached(Mark::LivenessSilence);
    edges.push_back(NodeSilent{id});
  }
}

// The heap of deadlines is left out: it answers by deadline and id, however it lies.
void Liveness::save(ByteWriter& out) const {
  Encoder encoder(out);
  encoder.put(epoch_);
  for (const Node& node : nodes_) {
    encoder.put(node.standing);
    encoder.put(node.fresh);
    encoder.put(node.session);
    encoder.put(node.number);
    encoder.put(node.last_heard);
    encoder.put(node.deadline);
    encoder.put(node.known.get());
    encoder.put(node.ended);
    encoder.put(node.ordered);
    encoder.put(node.doubted);
  }
  out.varint(profiles_.size());
  for (const auto& [member, profile] : profiles_) {
    encoder.put(member.first);
    encoder.put(member.second);
    encoder.put(profile.generation);
    out.varint(profile.values.size());
    for (const auto& [key, value] : profile.values) {
      encoder.put(key);
      encoder.put(value);
    }
  }
}

Instant Liveness::next_deadline() const {
  return deadlines_.empty() ? Instant::never() : nodes_[deadlines_.front().index()].deadline;
}

// --- a binary heap whose entries know their places, so that moving one needs no search ---

bool Liveness::is_earlier(NodeId a, NodeId b) const {
  const Instant of_a = nodes_[a.index()].deadline;
  const Instant of_b = nodes_[b.index()].deadline;
  return of_a != of_b ? of_a < of_b : a < b;
}

void Liveness::put(std::size_t place, NodeId id) {
  deadlines_[place] = id;
  nodes_[id.index()].place = static_cast<std::uint32_t>(place);
}

std::size_t Liveness::rise(std::size_t place) {
  const NodeId id = deadlines_[place];
  for (; place > 0 && is_earlier(id, deadlines_[(place - 1) / 2]); place = (place - 1) / 2)
    put(place, deadlines_[(place - 1) / 2]);
  put(place, id);
  return place;
}

void Liveness::sink(std::size_t place) {
  const NodeId id = deadlines_[place];
  while (true) {
    std::size_t child = place * 2 + 1;
    if (child >= deadlines_.size()) break;
    if (child + 1 < deadlines_.size() && is_earlier(deadlines_[child + 1], deadlines_[child]))
      ++child;
    if (!is_earlier(deadlines_[child], id)) break;
    put(place, deadlines_[child]);
    place = child;
  }
  put(place, id);
}

void Liveness::set_deadline(NodeId id, Instant deadline) {
  Node& node = nodes_[id.index()];
  node.deadline = deadline;
  if (deadline.is_never()) {
    const std::uint32_t place = std::exchange(node.place, kNoPlace);
    if (place == kNoPlace) return;
    const NodeId last = deadlines_.back();
    deadlines_.pop_back();
    if (last == id) return;
    put(place, last);
    sink(rise(place));
    return;
  }
  if (node.place == kNoPlace) {
    deadlines_.push_back(id);
    node.place = static_cast<std::uint32_t>(deadlines_.size() - 1);
  }
  sink(rise(node.place));
}

}  // namespace orrery
