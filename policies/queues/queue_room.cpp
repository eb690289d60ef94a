#include "policies/queues/queue_room.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/plan/put_back.hpp"
#include "policies/changes.hpp"

namespace orrery::policies {

void QueueRoom::undo(const Mark& mark) {
  trial_.undo(mark.trial);
  books_.release(mark.held);
  victims_ = mark.victims;
}

bool QueueRoom::limits_keep(JobId id) const {
  const JobView job = view_.job(id);
  return books_.loads()
      .block(books_.scale(), books_.job(id), gang_use(job.row, job.spec))
      .has_value();
}

bool QueueRoom::fits(const JobView& job, std::vector<NodeCount>& nodes) {
  if (trial_.index().device_room() < job.row.gang_room() || limits_keep(job.row.id)) return false;
  ++tries_;
  nodes.clear();
  return try_start(view_, job, job.row.min_replicas, trial_, &nodes);
}

std::int64_t QueueRoom::free_for_growth(const JobView& job, std::int64_t enough) const {
  const std::int64_t unit = books_.scale().dominant(replica_use(job));
  std::int64_t replicas = std::int64_t{job.row.max_replicas} - job.row.replicas;
  std::int64_t sum = 0;
  const FreeIndex& free = trial_.index();
  for (std::uint32_t node = 0; node < free.size() && replicas > 0 && sum < enough; ++node) {
    const std::int64_t fit =
        std::min<std::int64_t>(replicas, replicas_that_fit(free.at(NodeId{node}), job.row.demand));
    replicas -= fit;
    sum += fit * unit;
  }
  return sum;
}

bool QueueRoom::would_fit(const JobView& job) {
  const std::size_t mark = trial_.mark();
  std::vector<NodeCount> nodes;
  if (!fits(job, nodes)) return false;
  trial_.undo(mark);
  return true;
}

bool QueueRoom::shrink_one(Victim& victim) {
  const JobView job = view_.job(victim.job);
  if (victim.replicas <= job.row.min_replicas || victim.is_moved || view_.is_seated(victim.job))
    return false;
  NodeCount& last = victim.nodes.back();
  trial_.give(last.node, job.row.demand, 1);
  if (--last.replicas == 0) victim.nodes.pop_back();
  --victim.replicas;
  QueueUse less = use_at(job.row, job.spec, victim.replicas);
  less -= use_at(job.row, job.spec, victim.replicas + 1);
  books_.hold(victim.job, less);
  return true;
}

bool QueueRoom::may_give(const Victim& victim,
                         const QueueClaim& claim,
                         std::int64_t at_once) const {
  return !victim.is_gone && !victim.is_moved &&
         books_.owes(books_.job(victim.job).queue, claim, at_once);
}

bool QueueRoom::may_go(const Victim& victim, const QueueClaim& claim) const {
  if (victim.is_kept && claim.guaranteed == 0) return false;
  const JobView job = view_.job(victim.job);
  const QueueUse all = use_at(job.row, job.spec, victim.replicas);
  return may_give(victim, claim, books_.scale().dominant(all));
}

void QueueRoom::take_whole(Victim& victim) {
  const JobView job = view_.job(victim.job);
  give_back(view_, {job.row, job.spec, victim.nodes}, trial_);
  QueueUse less;
  less -= use_at(job.row, job.spec, victim.replicas);
  books_.hold(victim.job, less);
  victim.is_gone = true;
}

// Takes in the trial exactly what the job held, unless it or a limit leaves the claimant no room.
void QueueRoom::spare(Victim& victim, JobId claimant) {
  const JobView job = view_.job(victim.job);
  const std::size_t mark = trial_.mark();
  const std::size_t held = books_.held();
  if (!put_back(view_, {job.row, job.spec, victim.nodes}, trial_)) return;
  books_.hold(victim.job, use_at(job.row, job.spec, victim.replicas));
  victim.is_gone = limits_keep(claimant);
  if (!victim.is_gone) return;
  trial_.undo(mark);
  books_.release(held);
}

// Where enough is free but in pieces: clears nodes, those first on which most is free, of small
// jobs that find room elsewhere. All or nothing.
bool QueueRoom::make_place(const JobView& job, std::vector<NodeCount>& nodes) {
  constexpr int kNodesMax = 16;

  if (job.row.demand.devices < 2 || !job.row.demand.share.is_whole() ||
      trial_.index().device_room() < job.row.gang_room() || limits_keep(job.row.id))
    return false;
  const Mark before = mark();
  std::vector<std::size_t> moved;
  bool fit = false;
  for (int cleared = 0; cleared < kNodesMax && !fit; ++cleared) {
    if (!clear_node(job, moved)) break;
    fit = fits(job, nodes);
  }
  // The largest is the hardest to place.
  std::sort(moved.begin(), moved.end(), [&](std::size_t a, std::size_t b) {
    const std::int32_t one = view_.row(victims_[a].job).devices_held;
    const std::int32_t other = view_.row(victims_[b].job).devices_held;
    return one != other ? one > other : a < b;
  });
  for (std::size_t i = 0; i < moved.size() && fit; ++i) fit = place_again(victims_[moved[i]]);
  if (!fit) undo(before);
  return fit;
}

// Takes away the jobs of the node on which a replica needs the fewest more devices, until it fits
// there; only jobs that are on that node alone.
bool QueueRoom::clear_node(const JobView& job, std::vector<std::size_t>& moved) {
  const Demand& demand = job.row.demand;
  std::map<NodeId, std::vector<std::size_t>> movable;
  for (std::size_t i = 0; i < victims_.size(); ++i) {
    const Victim& victim = victims_[i];
    const JobView other = view_.job(victim.job);
    const bool small = !victim.is_gone && !victim.is_moved && victim.replicas == victim.before &&
                       victim.nodes.size() == 1 && other.spec.roles.size() == 1 &&
                       other.row.devices_held < demand.devices && !other.row.has_parts() &&
                       !view_.is_seated(victim.job);
    if (small) movable[victim.nodes.front().node].push_back(i);
  }
  NodeId best = NodeId::none();
  std::int32_t best_free = -1;
  for (const auto& [node, victims] : movable) {
    const NodeFree& free = trial_.index().at(node);
    if (!free.usable || (!demand.model.is_none() && free.model != demand.model) ||
        replicas_that_fit(free, demand) > 0)
      continue;
    std::int32_t after = free.devices;
    for (const std::size_t i : victims) after += view_.row(victims_[i].job).devices_held;
    if (after >= demand.devices && free.devices > best_free) {
      best = node;
      best_free = free.devices;
    }
  }
  if (best.is_none()) return false;
  std::vector<std::size_t>& here = movable[best];
  std::sort(here.begin(), here.end(), [&](std::size_t a, std::size_t b) {
    const std::int32_t one = view_.row(victims_[a].job).devices_held;
    const std::int32_t other = view_.row(victims_[b].job).devices_held;
    return one != other ? one < other : a < b;
  });
  for (const std::size_t i : here) {
    if (replicas_that_fit(trial_.index().at(best), demand) > 0) break;
    Victim& victim = victims_[i];
    const JobView other = view_.job(victim.job);
    for (const NodeCount& at : victim.nodes) trial_.give(at.node, other.row.demand, at.replicas);
    victim.is_moved = true;
    victim.nodes.clear();
    moved.push_back(i);
  }
  return replicas_that_fit(trial_.index().at(best), demand) > 0;
}

bool QueueRoom::place_again(Victim& victim) {
  const JobView job = view_.job(victim.job);
  return place(view_, victim.job, job.row.demand, victim.replicas, trial_, victim.nodes);
}

// The first job that makes room by itself: not the next to go, but the only one.
bool QueueRoom::take_one(JobId id, const QueueClaim& claim, std::vector<NodeCount>& nodes) {
  const JobView job = view_.job(id);
  for (Victim& victim : victims_) {
    if (is_exhausted()) return false;
    if (!may_go(victim, claim)) continue;
    const std::size_t mark = trial_.mark();
    const std::size_t held = books_.held();
    take_whole(victim);
    if (fits(job, nodes)) return true;
    trial_.undo(mark);
    books_.release(held);
    victim.is_gone = false;
  }
  return false;
}

bool QueueRoom::make_room(JobId id, const QueueClaim& claim, std::vector<NodeCount>& nodes) {
  const JobView job = view_.job(id);
  if (make_place(job, nodes)) return true;
  for (Victim& victim : victims_)
    while (may_give(victim, claim) && shrink_one(victim))
      if (fits(job, nodes)) return true;
  if (take_one(id, claim, nodes)) return true;
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < victims_.size() && !is_exhausted(); ++i) {
    if (!may_go(victims_[i], claim)) continue;
    take_whole(victims_[i]);
    taken.push_back(i);
    if (!fits(job, nodes) && !make_place(job, nodes)) continue;
    // The last one made the difference; of the others, the last to go is the first to be spared.
    taken.pop_back();
    for (; !taken.empty(); taken.pop_back()) spare(victims_[taken.back()], id);
    return true;
  }
  return false;
}

void QueueRoom::start(JobId id, std::vector<NodeCount> nodes) {
  const JobView job = view_.job(id);
  books_.hold(id, use_at(job.row, job.spec, job.row.min_replicas));
  starts_.push_back({id, job.row.min_replicas, std::move(nodes)});
}

Plan QueueRoom::plan() const {
  Plan plan;
  const auto grant_on = [&](JobId id, std::int32_t replicas, const std::vector<NodeCount>& nodes) {
    plan.grants.push_back({id,
                           RoleIndex::none(),
                           replicas,
                           static_cast<std::uint32_t>(plan.nodes.size()),
                           static_cast<std::uint32_t>(nodes.size()),
                           JobId::none()});
    plan.nodes.insert(plan.nodes.end(), nodes.begin(), nodes.end());
  };
  for (const Victim& victim : victims_)
    if (victim.is_gone) plan.preempt(victim.job);
  for (const Victim& victim : victims_)
    if (!victim.is_gone && (victim.is_moved || victim.replicas < victim.before))
      grant_on(victim.job, victim.replicas, victim.nodes);
  std::vector<const Start*> starts;
  for (const Start& start : starts_) starts.push_back(&start);
  // The one that needs places for other roles comes last.
  std::stable_partition(starts.begin(), starts.end(), [&](const Start* start) {
    return view_.job(start->job).spec.roles.size() == 1;
  });
  for (const Start* start : starts) grant_on(start->job, start->replicas, start->nodes);
  return plan;
}

}  // namespace orrery::policies
