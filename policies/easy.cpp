#include "policies/easy.hpp"

#include <algorithm>

#include "policies/changes.hpp"

namespace orrery::policies {
namespace {

// What lies between two states of a node, as one replica's demand; nothing where `upper` has less.
Demand difference(const NodeFree& upper, const NodeFree& lower) {
  Demand d;
  d.cpu.count = std::max<std::int64_t>(0, upper.cpu.count - lower.cpu.count);
  d.memory.count = std::max<std::int64_t>(0, upper.memory.count - lower.memory.count);
  d.devices = std::max(0, upper.devices - lower.devices);
  return d;
}

void reduce_to(CapacityTrial& trial, NodeId node, const NodeFree& most) {
  const Demand excess = difference(trial.index().at(node), most);
  if (excess.devices > 0 || excess.cpu.count > 0 || excess.memory.count > 0)
    trial.take(node, excess, 1);
}

// Never for a job without devices, and for one that is giving them back: they count as free now.
Instant expected_end(const JobRow& row) {
  const bool stays =
      row.holds && row.phase != JobPhase::Pending && row.phase != JobPhase::Rescheduling;
  if (!stays || row.estimate_source == EstimateSource::None) return Instant::never();
  return row.allocated_at + row.estimate;
}

}  // namespace

void Easy::refresh(const ClusterView& view, JobId id) {
  lower_.refresh(view, id);
  if (end_of_.size() <= id.index()) end_of_.resize(id.index() + 1, Instant::never());
  Instant& known = end_of_[id.index()];
  const Instant end = view.is_live(id) ? expected_end(view.row(id)) : Instant::never();
  if (end == known) return;  // A change of size is a new allocation, so it has another end.
  if (!known.is_never()) ends_.erase({known, id, 0});
  if (!end.is_never()) ends_.insert({end, id, view.row(id).devices_held});
  known = end;
}

void Easy::absorb(const ClusterView& view) {
  const auto reset = [&] {
    lower_.clear();
    ends_.clear();
    end_of_.clear();
  };
  absorb_changes(view, reset, [&](JobId id) { refresh(view, id); });
}

bool Easy::start_or_push(const ClusterView& view, JobId id, Plan& plan) {
  if (gang_.start(id, plan)) return true;
  return lower_.push_out(view.row(id), gang_, plan) == Gang::Room::Started;
}

Plan Easy::allocate(const JobView& job, const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  const JobRow& row = job.row;
  // Only the new job can start: whatever else could was started when it became possible.
  if (row.gang_devices() > gang_.free_devices() && !lower_.any_below(row.priority)) return plan;
  const auto within = static_cast<std::size_t>(options_.backfill_depth) + 1;
  if (options_.backfill_depth > 0 && !view.waiting().among_first(within, row.priority, row.id))
    return plan;
  JobId head;
  view.waiting().for_each([&](const WaitEntry& entry) {
    if (entry.job == row.id || gang_.quota_allows(entry.job, entry.devices)) head = entry.job;
    return head.is_none();
  });
  if (head == row.id || lower_.any_below(row.priority)) {
    start_or_push(view, row.id, plan);
    gang_.finish(plan);
    return plan;
  }
  Reservation reserved = reserve(view, view.job(head));
  const bool stated = row.estimate_source != EstimateSource::None;
  const Duration estimate = stated ? row.estimate : Duration::zero();
  start_beside(view, {row.id, row.gang_devices(), estimate}, reserved, plan);
  gang_.finish(plan);
  return plan;
}

Plan Easy::optimize(const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  JobId head;
  view.waiting().for_each([&](const WaitEntry& entry) {
    if (start_or_push(view, entry.job, plan)) return true;
    if (gang_.quota_allows(entry.job, entry.devices)) head = entry.job;
    return head.is_none();
  });
  if (!head.is_none()) backfill(view, head, plan);
  gang_.finish(plan);
  return plan;
}

void Easy::backfill(const ClusterView& view, JobId head, Plan& plan) {
  bool behind = false;
  bool has_reservation = false;
  Reservation reserved;
  std::int64_t looked_at = 0;
  std::int64_t free = gang_.free_devices();
  if (free == 0) return;
  view.waiting().for_each([&](const WaitEntry& entry) {
    if (!behind) {
      behind = entry.job == head;
      return true;
    }
    if (entry.devices <= free) {
      // The reservation costs more than the scan, so it waits for somebody who asks.
      if (!has_reservation) reserved = reserve(view, view.job(head));
      has_reservation = true;
      if (reserved.shadow.is_never()) return false;
      if (start_beside(view, entry, reserved, plan)) {
        free = gang_.free_devices();
        return free > 0;
      }
    }
    return ++looked_at != options_.backfill_depth;
  });
}

// Merges the ends known from the view with those of the jobs that this call has started, and
// calls visit(at, job, devices) in order of time until it returns false. Overdue ends are now.
template <class Visit>
void Easy::for_each_end(const ClusterView& view, Visit&& visit) const {
  std::vector<End> fresh;
  for (const Gang::Started& s : gang_.started()) {
    const JobRow& row = view.row(s.job);
    if (row.estimate_source == EstimateSource::None) continue;
    fresh.push_back({view.now() + row.estimate, s.job, row.gang_devices()});
  }
  std::sort(fresh.begin(), fresh.end());
  auto next = fresh.begin();
  for (const End& end : ends_) {
    if (gang_.is_removed(end.job)) continue;
    for (; next != fresh.end() && *next < end; ++next)
      if (!visit(*next)) return;
    if (!visit({std::max(end.at, view.now()), end.job, end.devices})) return;
  }
  for (; next != fresh.end(); ++next)
    if (!visit(*next)) return;
}

Easy::Reservation Easy::reserve(const ClusterView& view, const JobView& head) {
  // Where any device will do, counting is exact; else nodes have to come free as a whole.
  const bool counts = head.spec.roles.size() == 1 && head.row.demand.devices == 1 &&
                      head.row.demand.model.is_none() &&
                      gang_.free_devices() < head.row.gang_devices();
  return counts ? reserve_by_count(view, head) : reserve_by_node(view, head);
}

Easy::Reservation Easy::reserve_by_count(const ClusterView& view, const JobView& head) {
  Reservation reserved;
  const std::int64_t need = head.row.gang_devices();
  std::int64_t free = gang_.free_devices();
  for_each_end(view, [&](const End& end) {
    if (end.at > reserved.shadow) return false;
    free += end.devices;
    if (free >= need && reserved.shadow.is_never()) reserved.shadow = end.at;
    return true;
  });
  reserved.extra = free - need;
  return reserved;
}

Easy::Reservation Easy::reserve_by_node(const ClusterView& view, const JobView& head) {
  Reservation reserved;
  reserved.by_node = true;
  beside_.sync(gang_.trial().index());
  const auto give_nodes = [&](const End& end) {
    for (const Gang::Started& s : gang_.started()) {
      if (s.job != end.job) continue;
      for (const NodeCount& n : gang_.nodes_of(s))
        beside_.give(n.node, view.row(s.job).demand, n.replicas);
      return;
    }
    give_back(view, view.job(end.job), beside_);
  };
  bool placed = false;
  std::vector<NodeCount> nodes;
  for_each_end(view, [&](const End& end) {
    if (placed && end.at > reserved.shadow) return false;
    give_nodes(end);
    if (placed || !try_start(view, head, head.row.min_replicas, beside_, &nodes)) return true;
    placed = true;
    reserved.shadow = end.at;
    return true;
  });
  // Until the shadow time a long job may use what is free now and not the head's by then.
  std::vector<std::pair<NodeId, NodeFree>> then;
  for (const NodeId node : beside_.touched()) then.emplace_back(node, beside_.index().at(node));
  beside_.rollback();
  if (!placed) return reserved;
  for (const auto& [node, free] : then) reduce_to(beside_, node, free);
  return reserved;
}

bool Easy::start_beside(const ClusterView& view,
                        const WaitEntry& entry,
                        Reservation& reserved,
                        Plan& plan) {
  if (reserved.shadow.is_never()) return false;
  const bool is_short =
      entry.estimate > Duration::zero() && view.now() + entry.estimate <= reserved.shadow;
  if (is_short) {
    const std::size_t mark = gang_.trial().touched().size();
    if (!gang_.start(entry.job, plan)) return false;
    if (reserved.by_node)
      for (const NodeId node : gang_.trial().touched().subspan(mark))
        reduce_to(beside_, node, gang_.trial().index().at(node));
    return true;
  }
  if (!reserved.by_node) {
    if (entry.devices > reserved.extra || !gang_.start(entry.job, plan)) return false;
    reserved.extra -= entry.devices;
    return true;
  }
  if (entry.devices > beside_.index().free_devices() ||
      !gang_.quota_allows(entry.job, entry.devices))
    return false;
  const JobView job = view.job(entry.job);
  std::vector<NodeCount> nodes;
  if (job.spec.roles.size() > 1 || !beside_.take_gang(job.row.demand, job.row.min_replicas, nodes))
    return false;
  gang_.start_on(entry.job, nodes, plan);
  return true;
}

}  // namespace orrery::policies
