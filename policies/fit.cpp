#include "policies/fit.hpp"

#include <algorithm>

#include "policies/changes.hpp"
#include "policies/quotas.hpp"

namespace orrery::policies {
namespace {

// Jobs whose number of replicas is the policy's to choose.
bool is_elastic(const JobRow& row) {
  return row.preemptible && row.max_replicas > row.min_replicas;
}

void add_replicas(std::vector<NodeCount>& nodes, NodeId node, std::int32_t replicas) {
  const auto same =
      std::find_if(nodes.begin(), nodes.end(), [&](const NodeCount& n) { return n.node == node; });
  if (same == nodes.end())
    nodes.push_back({node, replicas});
  else
    same->replicas += replicas;
}

// The first `replicas` of the nodes; the others go to `rest`.
std::vector<NodeCount> first_of(std::span<const NodeCount> nodes,
                                std::int32_t replicas,
                                std::vector<NodeCount>& rest) {
  std::vector<NodeCount> first;
  for (const NodeCount& n : nodes) {
    const std::int32_t here = std::min(replicas, n.replicas);
    if (here > 0) first.push_back({n.node, here});
    if (here < n.replicas) rest.push_back({n.node, n.replicas - here});
    replicas -= here;
  }
  return first;
}

}  // namespace

void Fit::learn(const ClusterView& view, JobId id) {
  const JobRow& row = view.row(id);
  if (!is_elastic(row) || row.phase != JobPhase::Running || row.replicas == 0) return;
  // A report from before the present allocation speaks of another number of replicas.
  if (row.progress.rate <= 0 || row.progress.as_of < row.allocated_at) return;
  measured_[id][row.replicas] = row.progress.rate;
}

void Fit::absorb(const ClusterView& view) {
  const auto reset = [&] {
    lower_.clear();
    elastic_.clear();
    std::erase_if(measured_, [&](const auto& entry) { return !view.is_live(entry.first); });
  };
  absorb_changes(view, reset, [&](JobId id) {
    lower_.refresh(view, id);
    const bool is_live = view.is_live(id);
    if (!is_live) measured_.erase(id);
    if (is_live && is_elastic(view.row(id)))
      elastic_.insert(id);
    else
      elastic_.erase(id);
  });
  // Reports do not count as touched.
  for (const JobId id : elastic_)
    if (view.row(id).holds) learn(view, id);
}

double Fit::speed(JobId id, std::int32_t replicas) const {
  const auto found = measured_.find(id);
  return found == measured_.end() ? replicas : speed_with(found->second, replicas);
}

// What one more replica adds, in millionths of the job's speed; 0 where it is not worth having.
std::int64_t Fit::gain(const JobRow& row, std::int32_t replicas) const {
  const double now = speed(row.id, replicas);
  const double more = speed(row.id, replicas + 1) - now;
  if (now <= 0 || more < options_.gain_min * now / replicas) return 0;
  return static_cast<std::int64_t>(more / now * 1e6 + 0.5);
}

void Fit::start_waiting(const ClusterView& view, Plan& plan) {
  bool may_push = true;
  view.waiting().for_each([&](const WaitEntry& entry) {
    if (entry.devices <= gang_.device_room() && gang_.start(entry.job, plan)) return true;
    // The queue descends by priority: where no running job gives way to one, none does to the next.
    if (may_push &&
        lower_.preempt_for(view.row(entry.job), gang_, plan) == GangStarter::Outcome::NoVictims)
      may_push = false;
    return true;
  });
}

Plan Fit::allocate(const JobView& job, const ClusterView& view) {
  settled_ = false;
  absorb(view);
  Plan plan;
  gang_.begin(view);
  const JobRow& row = job.row;
  if (!gang_.start(row.id, plan)) {
    lower_.preempt_for(row, gang_, plan);
    gang_.finish(plan);
    return plan;
  }
  if (!is_elastic(row)) return plan;
  std::int32_t& replicas = plan.grants.back().replicas;
  std::vector<NodeCount> nodes;
  while (replicas < row.max_replicas && gain(row, replicas) > 0 &&
         gang_.quota_allows(
             row.id, row.gang_devices() + (replicas + 1 - row.min_replicas) * row.demand.devices) &&
         place(view, row.id, row.demand, 1, gang_.trial(), nodes))
    ++replicas;
  gang_.finish(plan);
  return plan;
}

Plan Fit::optimize(const ClusterView& view) {
  absorb(view);
  gang_.begin(view);
  const std::int64_t cycle = view.now().ns / options_.period.ns;
  if (cycle > cycle_) {
    cycle_ = cycle;
    Plan plan = redistribute(view);
    settled_ = plan.empty();
    return plan;
  }
  settled_ = false;
  Plan plan;
  start_waiting(view, plan);
  gang_.finish(plan);
  return plan;
}

std::vector<Fit::Share> Fit::shrink_all(const ClusterView& view) {
  std::vector<Share> shares;
  for (const JobId id : elastic_) {
    const JobView job = view.job(id);
    if (!may_be_taken_from(job.row)) continue;
    // What it has on nodes that take nothing new is of use to nobody else: it keeps that first, and
    // stays as it is where all of it would start anew.
    const auto is_closed = [&](const NodeCount& n) { return !view.capacity().at(n.node).usable; };
    std::vector<NodeCount> nodes(job.nodes.begin(), job.nodes.end());
    const auto open = std::stable_partition(nodes.begin(), nodes.end(), is_closed);
    if (open != nodes.begin() && job.spec.rescale == RescaleMode::Restart) continue;
    Share share{id, job.row.min_replicas, {}, {}, false, false};
    share.nodes = first_of(nodes, job.row.min_replicas, share.own);
    gang_.shrink(id, share.nodes);
    shares.push_back(std::move(share));
  }
  return shares;
}

void Fit::add_started(const ClusterView& view, std::vector<Share>& shares) {
  std::erase_if(shares, [&](const Share& share) { return gang_.is_removed(share.job); });
  for (const GangStarter::Started& started : gang_.started()) {
    const JobRow& row = view.row(started.job);
    // A plan names the nodes of the elastic role alone, and the placer finds those of the others
    // again. It finds what was tried only where the elastic role is as it was then: grown first, it
    // may leave no room for them, in this cycle and in each that follows.
    if (!is_elastic(row) || gang_.needs_rest(started.job)) continue;
    const auto nodes = gang_.nodes_of(started);
    shares.push_back({row.id, row.min_replicas, {nodes.begin(), nodes.end()}, {}, true, false});
  }
}

// One replica more: where the job had one before, else anywhere. One whose old place was given
// away stays as it is until the next cycle: a plan that takes and gives at once has no safe order.
bool Fit::grow(const ClusterView& view, std::span<const Share> shares, Share& share) {
  const JobRow& row = view.row(share.job);
  const std::int32_t replicas = share.replicas + 1;
  std::int32_t devices = devices_at(row, replicas);
  // Others of the quota may have grown in this cycle already, which the view does not know.
  if (has_quota(row))
    for (const Share& other : shares) {
      const JobRow& its = view.row(other.job);
      if (other.job == share.job || !share_quota(row, its)) continue;
      const std::int32_t known = other.was_waiting ? its.min_replicas : its.replicas;
      devices += std::max(0, other.replicas - known) * its.demand.devices;
    }
  if (!gang_.quota_allows(share.job, devices)) return false;
  for (NodeCount& n : share.own) {
    if (n.replicas == 0) continue;
    // What it gave on a node that takes nothing new, nobody else has taken.
    NodeFree free = gang_.trial().index().at(n.node);
    free.usable = true;
    if (replicas_that_fit(free, row.demand) < 1) continue;
    gang_.trial().take(n.node, row.demand, 1);
    --n.replicas;
    add_replicas(share.nodes, n.node, 1);
    share.replicas = replicas;
    return true;
  }
  const bool lost = std::any_of(
      share.own.begin(), share.own.end(), [](const NodeCount& n) { return n.replicas > 0; });
  std::vector<NodeCount> more;
  if (lost || !place(view, share.job, row.demand, 1, gang_.trial(), more)) return false;
  add_replicas(share.nodes, more.front().node, 1);
  share.replicas = replicas;
  share.grows = true;
  return true;
}

void Fit::grow_all(const ClusterView& view, std::vector<Share>& shares) {
  struct Bid {
    std::int64_t gain;
    std::int32_t replicas;
    std::size_t share;
  };

  const auto loses = [&](const Bid& a, const Bid& b) {
    if (a.gain != b.gain) return a.gain < b.gain;
    if (a.replicas != b.replicas) return a.replicas > b.replicas;
    return shares[b.share].job < shares[a.share].job;
  };
  std::vector<Bid> heap;
  const auto bid = [&](std::size_t i) {
    const JobRow& row = view.row(shares[i].job);
    if (shares[i].replicas >= row.max_replicas) return;
    const std::int64_t g = gain(row, shares[i].replicas);
    if (g == 0) return;
    heap.push_back({g, shares[i].replicas, i});
    std::push_heap(heap.begin(), heap.end(), loses);
  };
  for (std::size_t i = 0; i < shares.size(); ++i) bid(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), loses);
    const std::size_t best = heap.back().share;
    heap.pop_back();
    if (grow(view, shares, shares[best])) bid(best);
  }
}

// Capacity is taken only after it was given: what shrinks, then what starts, then what grows.
Plan Fit::redistribute(const ClusterView& view) {
  Plan plan;
  std::vector<Share> shares = shrink_all(view);
  start_waiting(view, plan);
  add_started(view, shares);
  grow_all(view, shares);
  std::vector<Grant> starting;
  starting.swap(plan.grants);
  for (const Share& share : shares) {
    const std::int32_t before = view.row(share.job).replicas;
    if (share.was_waiting || share.replicas >= before) continue;
    grant_on(share.job, share.replicas, share.nodes, plan);
  }
  // Starts name their nodes, as the growth of others was tried beside them.
  for (const Grant& grant : starting) {
    if (grant.replicas == 0) {
      plan.grants.push_back(grant);
      continue;
    }
    const auto share = std::find_if(
        shares.begin(), shares.end(), [&](const Share& s) { return s.job == grant.job; });
    const auto started = std::find_if(
        gang_.started().begin(), gang_.started().end(), [&](const GangStarter::Started& s) {
          return s.job == grant.job;
        });
    if (share != shares.end())
      grant_on(share->job, share->replicas, share->nodes, plan);
    else
      grant_on(grant.job, grant.replicas, gang_.nodes_of(*started), plan);
  }
  for (const Share& share : shares)
    if (!share.was_waiting && share.grows) grant_on(share.job, share.replicas, share.nodes, plan);
  gang_.finish(plan);
  return plan;
}

void Fit::save(ByteWriter& out) const {
  out.signed_varint(cycle_);
  out.varint(measured_.size());
  for (const auto& [job, speeds] : measured_) {
    out.u32(job.value);
    out.varint(speeds.size());
    for (const auto& [replicas, rate] : speeds) {
      out.signed_varint(replicas);
      out.f64(rate);
    }
  }
}

void Fit::load(ByteReader& in) {
  settled_ = false;
  cycle_ = in.signed_varint();
  measured_.clear();
  for (std::uint64_t jobs = in.varint(); in.ok() && jobs > 0; --jobs) {
    MeasuredSpeeds& speeds = measured_[JobId{in.u32()}];
    for (std::uint64_t n = in.varint(); in.ok() && n > 0; --n) {
      const auto replicas = static_cast<std::int32_t>(in.signed_varint());
      speeds[replicas] = in.f64();
    }
  }
}

}  // namespace orrery::policies
