#include "policies/priority_placement.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/invariant.hpp"
#include "policies/changes.hpp"
#include "policies/closed_nodes.hpp"

namespace orrery::policies {
namespace {

/// The highest priority of these jobs.
std::int32_t highest(const ClusterView& view, const std::set<JobId>& jobs) {
  std::int32_t priority = INT32_MIN;
  for (const JobId id : jobs) priority = std::max(priority, view.row(id).priority);
  return priority;
}

/// Whether the job can only stay as it is. One of several roles can be preempted, for a job of a
/// higher priority than its own.
bool is_bound(const ClusterView& view, const JobView& job, std::int32_t highest_waiting) {
  return !may_be_taken_from(job.row) || view.is_seated(job.row.id) || is_share(job.row.demand) ||
         is_on_closed_node(view, job) ||
         (job.spec.roles.size() > 1 && job.row.priority >= highest_waiting);
}

}  // namespace

bool PriorityPlacement::may_help(const ClusterView& view,
                                 std::span<const SizedJob> jobs,
                                 const std::set<JobId>& unplaced) {
  if (unplaced.empty()) return false;
  const std::int32_t waiting = highest(view, unplaced);
  return std::any_of(jobs.begin(), jobs.end(), [&](const SizedJob& each) {
    return each.least < each.replicas ||
           (each.replicas > 0 && view.row(each.id).priority < waiting);
  });
}

void PriorityPlacement::place_least(const ClusterView& view, const SizedJob& chosen, Placed& job) {
  const JobView its = view.job(job.id);
  const bool several_roles = its.spec.roles.size() > 1;
  if (its.row.holds && several_roles) {
    job.keeps = trial_.put_back(view, its);
    job.replicas = job.keeps ? its.row.replicas : 0;
    return;
  }
  if (several_roles && std::exchange(roles_start_, true)) return;
  if ((its.row.holds && trial_.place_on_own(view, its, chosen.least, job.nodes)) ||
      trial_.place(view, its, chosen.least, job.nodes))
    job.replicas = chosen.least;
}

/// More of it, up to `replicas`, as far as nodes hold them.
void PriorityPlacement::enlarge(const ClusterView& view, std::int32_t replicas, Placed& job) {
  const JobView its = view.job(job.id);
  if (job.replicas == 0 || job.keeps || replicas <= job.replicas || its.spec.roles.size() > 1 ||
      is_share(its.row.demand))
    return;
  trial_.give_there(its.row.demand, job.nodes);
  std::vector<NodeCount> nodes;
  for (std::int32_t n = replicas; n > job.replicas; --n) {
    nodes.clear();
    if (!(its.row.holds && trial_.place_on_own(view, its, n, nodes)) &&
        !trial_.place(view, its, n, nodes))
      continue;
    job.replicas = n;
    job.nodes = std::move(nodes);
    return;
  }
  const bool again = trial_.take_there(its.row.demand, job.nodes);
  invariant(again, "what a job gave fits again");
}

bool PriorityPlacement::place(const ClusterView& view,
                              std::span<const SizedJob> jobs,
                              const std::set<JobId>& unplaced) {
  trial_.begin(view);
  placed_.clear();
  roles_start_ = false;
  const std::int32_t waiting = highest(view, unplaced);
  std::vector<std::size_t> order;
  for (const SizedJob& each : jobs) {
    const JobView job = view.job(each.id);
    const bool stays = each.replicas > 0 && job.row.holds && is_bound(view, job, waiting);
    if (job.row.holds && !stays) trial_.give_back(view, job);
    order.push_back(order.size());
    placed_.push_back({each.id, stays ? job.row.replicas : 0, {}, stays});
  }
  trial_.settle_parts(view);
  const auto rank = [&](std::size_t i) {
    const JobRow& row = view.row(jobs[i].id);
    return std::tuple(-row.priority, !row.holds, -row.thousandths_at(jobs[i].least), i);
  };
  std::sort(
      order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  for (const std::size_t i : order)
    if (!placed_[i].keeps && jobs[i].replicas > 0) place_least(view, jobs[i], placed_[i]);
  for (const bool beyond : {false, true})
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::int32_t held = view.row(jobs[i].id).replicas;
      enlarge(view, beyond ? jobs[i].replicas : std::min(held, jobs[i].replicas), placed_[i]);
    }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return view.row(jobs[a].id).priority > view.row(jobs[b].id).priority ||
           (view.row(jobs[a].id).priority == view.row(jobs[b].id).priority && a < b);
  });
  for (const std::size_t i : order) {
    if (jobs[i].replicas == 0) continue;
    const bool runs = placed_[i].replicas > 0;
    if (runs == unplaced.contains(jobs[i].id)) return runs;
  }
  return false;
}

Plan PriorityPlacement::plan(const ClusterView& view) const {
  Plan plan;
  for (const Placed& job : placed_)
    if (job.replicas == 0 && view.row(job.id).holds) plan.preempt(job.id);
  // The places of other roles are found anew when the plan is carried out: beside all others.
  for (const bool several_roles : {false, true})
    for (const Placed& job : placed_) {
      const JobView its = view.job(job.id);
      if ((its.spec.roles.size() > 1) != several_roles || job.nodes.empty() ||
          holds_exactly(its, job.nodes))
        continue;
      grant_on(job.id, job.replicas, job.nodes, plan);
    }
  return plan;
}

}  // namespace orrery::policies
