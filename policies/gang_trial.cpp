#include "policies/gang_trial.hpp"

#include <algorithm>

#include "core/plan/put_back.hpp"
#include "policies/parts_given.hpp"

namespace orrery::policies {
namespace {

/// Ascending, each node once.
std::vector<NodeCount> joined(std::vector<NodeCount> nodes) {
  std::sort(nodes.begin(), nodes.end(), [](const NodeCount& a, const NodeCount& b) {
    return a.node < b.node;
  });
  std::vector<NodeCount> sum;
  for (const NodeCount& n : nodes) {
    if (!sum.empty() && sum.back().node == n.node)
      sum.back().replicas += n.replicas;
    else
      sum.push_back(n);
  }
  return sum;
}

}  // namespace

std::vector<NodeCount> first_replicas(std::span<const NodeCount> nodes, std::int32_t replicas) {
  std::vector<NodeCount> first;
  for (const NodeCount& n : nodes) {
    const std::int32_t here = std::min(replicas, n.replicas);
    if (here > 0) first.push_back({n.node, here});
    replicas -= here;
  }
  return first;
}

void GangTrial::begin(const ClusterView& view) {
  trial_.sync(view.capacity());
  given_.clear();
}

void GangTrial::settle_parts(const ClusterView& view) {
  std::sort(given_.begin(), given_.end());
  policies::settle_parts(view, given_, trial_);
}

void GangTrial::give_back(const ClusterView& view, const JobView& job) {
  given_.push_back(job.row.id);
  orrery::give_back(view, job, trial_);
}

void GangTrial::give_back_elastic(const ClusterView& view, const JobView& job) {
  given_.push_back(job.row.id);
  if (view.is_seated(job.row.id))
    orrery::give_back(view, job, trial_);
  else
    orrery::give_back_elastic(view, job, trial_);
}

void GangTrial::give_back_others(const ClusterView& view, const JobView& job) {
  if (!view.is_seated(job.row.id)) orrery::give_back_others(view, job, trial_);
}

bool GangTrial::place(const ClusterView& view,
                      const JobView& job,
                      std::int32_t replicas,
                      std::vector<NodeCount>& nodes) {
  const Demand& demand = job.row.demand;
  if (job.row.holds && job.spec.roles.size() > 1 && !view.is_seated(job.row.id))
    return orrery::place(view, job.row.id, demand, replicas, trial_, nodes);
  if (job.spec.roles.size() > 1 || demand.devices == 0 || !demand.share.is_whole()) {
    return try_start(view, job, replicas, trial_, &nodes);
  }
  return view.placer().place(view.placement(job.row.id, demand, replicas), trial_, nodes);
}

bool GangTrial::take_there(const Demand& demand, std::span<const NodeCount> nodes) {
  return policies::take_there(demand, nodes, trial_);
}

bool GangTrial::keep_held(const JobView& job) { return policies::keep_held(job, trial_); }

void GangTrial::give_there(const Demand& demand, std::span<const NodeCount> nodes) {
  for (const NodeCount& n : nodes) trial_.give(n.node, demand, n.replicas);
}

bool GangTrial::put_back(const ClusterView& view, const JobView& job) {
  return orrery::put_back(view, job, trial_);
}

bool GangTrial::place_on_own(const ClusterView& view,
                             const JobView& job,
                             std::int32_t replicas,
                             std::vector<NodeCount>& nodes) {
  const std::size_t mark = trial_.mark();
  nodes = first_replicas(job.nodes, replicas);
  const std::int32_t missing = replicas - std::min(replicas, job.row.replicas);
  if (take_there(job.row.demand, nodes) && (missing == 0 || place(view, job, missing, nodes))) {
    nodes = joined(std::move(nodes));
    return true;
  }
  trial_.undo(mark);
  nodes.clear();
  return false;
}

bool take_there(const Demand& demand, std::span<const NodeCount> nodes, CapacityTrial& trial) {
  const std::size_t mark = trial.mark();
  for (const NodeCount& n : nodes) {
    if (replicas_that_fit(trial.index().at(n.node), demand) < n.replicas) {
      trial.undo(mark);
      return false;
    }
    trial.take(n.node, demand, n.replicas);
  }
  return true;
}

bool keep_held(const JobView& job, CapacityTrial& trial) {
  const std::size_t mark = trial.mark();
  for (const NodeCount& at : job.nodes) {
    NodeFree free = trial.index().at(at.node);
    free.usable = true;
    if (replicas_that_fit(free, job.row.demand) < at.replicas) {
      trial.undo(mark);
      return false;
    }
    trial.take(at.node, job.row.demand, at.replicas);
  }
  return true;
}

bool comes_before(const JobRow& a, const JobRow& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.id < b.id;
}

std::vector<JobId> holders_in_order(const ClusterView& view) {
  std::vector<JobId> jobs(view.holding().begin(), view.holding().end());
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) {
    return comes_before(view.row(a), view.row(b));
  });
  return jobs;
}

std::vector<JobId> jobs_in_order(const ClusterView& view) {
  const std::vector<JobId> holders = holders_in_order(view);
  auto next = holders.begin();
  std::vector<JobId> jobs;
  jobs.reserve(view.waiting().size() + holders.size());
  // Both are in order: merged, they need no sorting.
  view.waiting().for_each([&](const WaitEntry& entry) {
    const JobRow& row = view.row(entry.job);
    for (; next != holders.end() && comes_before(view.row(*next), row); ++next)
      jobs.push_back(*next);
    jobs.push_back(entry.job);
    return true;
  });
  jobs.insert(jobs.end(), next, holders.end());
  return jobs;
}

void grant_on(JobId job, std::int32_t replicas, const std::vector<NodeCount>& nodes, Plan& plan) {
  plan.grants.push_back({.job = job,
                         .role = RoleIndex::none(),
                         .replicas = replicas,
                         .first_node = static_cast<std::uint32_t>(plan.nodes.size()),
                         .node_count = static_cast<std::uint32_t>(nodes.size())});
  plan.nodes.insert(plan.nodes.end(), nodes.begin(), nodes.end());
}

bool holds_exactly(const JobView& job, std::vector<NodeCount> nodes) {
  std::sort(nodes.begin(), nodes.end(), [](const NodeCount& a, const NodeCount& b) {
    return a.node < b.node;
  });
  return std::equal(nodes.begin(), nodes.end(), job.nodes.begin(), job.nodes.end());
}

bool keeps_parts(const JobView& job, std::span<const NodeCount> nodes) {
  if (!is_share(job.row.demand)) return false;
  return std::any_of(nodes.begin(), nodes.end(), [&](const NodeCount& n) {
    return std::any_of(
        job.nodes.begin(), job.nodes.end(), [&](const NodeCount& o) { return o.node == n.node; });
  });
}

std::int64_t thousandths_to_share(const ClusterView& view, const ClosedNodes& closed) {
  std::int64_t left = view.devices_usable() * 1000;
  for (const JobId id : view.holding()) {
    const JobRow& row = view.row(id);
    if (row.is_fixed()) left -= closed.held_elsewhere(row);
  }
  return left;
}

}  // namespace orrery::policies
