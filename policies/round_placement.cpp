#include "policies/round_placement.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include "policies/gang_trial.hpp"
#include "policies/parts_given.hpp"
#include "policies/quotas.hpp"

namespace orrery::policies {
namespace {

std::int64_t room_wanted(const ClusterView& view, const RoundPlacement::Wanted& wanted) {
  return view.row(wanted.job).thousandths_at(wanted.replicas);
}

/// What a part of `replicas` on one node takes as if it were one replica.
Demand part_of(Demand demand, std::int32_t replicas) {
  demand.devices *= replicas;
  demand.cpu.count *= replicas;
  demand.memory.count *= replicas;
  return demand;
}

/// Whether the job already has what is wanted.
bool has_already(const ClusterView& view, const RoundPlacement::Wanted& wanted) {
  const JobView job = view.job(wanted.job);
  if (!job.row.holds) return false;
  if (job.row.is_fixed()) return true;
  if (job.row.replicas != wanted.replicas) return false;
  if (view.is_seated(wanted.job)) return true;
  if (wanted.nodes > 0 && static_cast<std::int32_t>(job.nodes.size()) > wanted.nodes) return false;
  return wanted.model.is_none() ||
         std::all_of(job.nodes.begin(), job.nodes.end(), [&](const NodeCount& n) {
           return view.capacity().at(n.node).model == wanted.model;
         });
}

bool place_job(const ClusterView& view,
               const RoundPlacement::Wanted& wanted,
               CapacityTrial& trial,
               std::vector<NodeCount>& nodes) {
  const JobView job = view.job(wanted.job);
  Demand demand = job.row.demand;
  if (job.spec.roles.size() > 1 || demand.devices == 0 || !demand.share.is_whole() ||
      view.is_seated(wanted.job))
    return try_start(view, job, wanted.replicas, trial, &nodes);
  if (!wanted.model.is_none()) demand.model = wanted.model;
  if (wanted.nodes == 0 || wanted.replicas % wanted.nodes != 0)
    return place(view, wanted.job, demand, wanted.replicas, trial, nodes);
  const std::int32_t each = wanted.replicas / wanted.nodes;
  if (!place(view, wanted.job, part_of(demand, each), wanted.nodes, trial, nodes))
    return place(view, wanted.job, demand, wanted.replicas, trial, nodes);
  for (NodeCount& n : nodes) n.replicas *= each;
  return true;
}

}  // namespace

/// Jobs that hold devices, may give them back, and are not among those that run.
std::vector<JobId> RoundPlacement::losers(const ClusterView& view,
                                          const std::vector<Wanted>& running) {
  std::vector<JobId> runs;
  for (const Wanted& each : running) runs.push_back(each.job);
  std::sort(runs.begin(), runs.end());
  std::vector<JobId> out;
  for (const JobId job : view.holding()) {
    if (view.row(job).is_fixed()) continue;
    if (!std::binary_search(runs.begin(), runs.end(), job)) out.push_back(job);
  }
  return out;
}

/// Takes exactly what the job holds, where it is free. On a node that takes nothing new it always
/// is.
bool RoundPlacement::take_own(const ClusterView& view, JobId id) {
  const JobView job = view.job(id);
  return job.spec.roles.size() == 1 && keep_held(job, trial_);
}

/// Places what is wanted; else leaves the job with what it holds; else gives it the least that it
/// may have. Devices may suffice where cores, memory or their nodes do not.
bool RoundPlacement::place_as_far(const ClusterView& view, Placed& job) {
  Wanted& wanted = job.wanted;
  if (place_job(view, wanted, trial_, job.nodes)) return true;
  const JobRow& row = view.row(wanted.job);
  if (row.holds && take_own(view, wanted.job)) {
    job.cut_short = row.replicas < wanted.replicas;
    wanted.replicas = row.replicas;
    job.holds = true;
    return true;
  }
  if (wanted.least <= 0 || wanted.least >= wanted.replicas) return false;
  job.cut_short = true;
  wanted.replicas = wanted.least;
  wanted.nodes = 0;
  return place_job(view, wanted, trial_, job.nodes);
}

/// Begins the trial with all that these jobs hold free.
void RoundPlacement::take_back(const ClusterView& view, const std::vector<JobId>& jobs) {
  trial_.sync(view.capacity());
  for (const JobId id : jobs) give_back(view, view.job(id), trial_);
  std::vector<JobId> ascending = jobs;
  std::sort(ascending.begin(), ascending.end());
  settle_parts(view, ascending, trial_);
}

RoundPlacement::Attempt RoundPlacement::beside(const ClusterView& view,
                                               const std::vector<Wanted>& running) {
  Attempt out;
  out.stopped = losers(view, running);
  std::vector<JobId> given = out.stopped;
  for (const Wanted& each : running) {
    const bool stays = has_already(view, each);
    if (view.row(each.job).holds && !stays) given.push_back(each.job);
    out.jobs.push_back({each, stays, stays, {}});
  }
  take_back(view, given);
  std::stable_sort(out.jobs.begin(), out.jobs.end(), [&](const Placed& a, const Placed& b) {
    return room_wanted(view, a.wanted) > room_wanted(view, b.wanted);
  });
  for (Placed& job : out.jobs) {
    if (!job.runs) job.runs = place_as_far(view, job);
    if (job.runs) out.served += room_wanted(view, job.wanted);
  }
  return out;
}

/// Where parts of devices would change their device and not their node, which no plan can say,
/// these jobs stay, and the others are placed again beside them.
RoundPlacement::Attempt RoundPlacement::anew(const ClusterView& view,
                                             const std::vector<Wanted>& running,
                                             Order order) {
  std::set<JobId> staying;
  while (true) {
    Attempt out = anew(view, running, order, staying);
    const std::size_t known = staying.size();
    for (const Placed& job : out.jobs) {
      const JobView its = view.job(job.wanted.job);
      if (job.runs && its.row.preemptible && has_already(view, job.wanted) &&
          keeps_parts(its, job.holds ? its.nodes : std::span<const NodeCount>(job.nodes)))
        staying.insert(its.row.id);
    }
    if (staying.size() == known) return out;
  }
}

RoundPlacement::Attempt RoundPlacement::anew(const ClusterView& view,
                                             const std::vector<Wanted>& running,
                                             Order order,
                                             const std::set<JobId>& staying) {
  Attempt out;
  out.stopped = losers(view, running);
  std::vector<JobId> given = out.stopped;
  for (const Wanted& each : running) {
    const JobRow& row = view.row(each.job);
    const bool same = has_already(view, each);
    const bool cannot_move =
        view.is_seated(each.job) || closed_.held(each.job) > 0 || staying.contains(each.job);
    const bool fixed = row.holds && (row.is_fixed() || (same && cannot_move));
    if (row.holds && !fixed) given.push_back(each.job);
    out.jobs.push_back({each, same, fixed, {}});
  }
  take_back(view, given);
  std::stable_sort(out.jobs.begin(), out.jobs.end(), [&](const Placed& a, const Placed& b) {
    const std::int32_t priority_a = view.row(a.wanted.job).priority;
    const std::int32_t priority_b = view.row(b.wanted.job).priority;
    if (order == Order::ByPriority && priority_a != priority_b) return priority_a > priority_b;
    const std::int64_t room_a = room_wanted(view, a.wanted);
    const std::int64_t room_b = room_wanted(view, b.wanted);
    return room_a != room_b ? room_a > room_b : a.holds && !b.holds;
  });
  for (Placed& job : out.jobs) {
    if (!job.runs && job.holds) job.runs = take_own(view, job.wanted.job);
    if (!job.runs) {
      job.holds = false;
      job.runs = place_as_far(view, job);
    }
    if (job.runs) out.served += room_wanted(view, job.wanted);
  }
  return out;
}

/// What nobody took stays with those who had it. `trial_` is as the attempt left it. It does not
/// know on which device a part was: of jobs with parts it is tried out whether all goes without
/// their own.
void RoundPlacement::spare(const ClusterView& view, Attempt& attempt) {
  std::vector<JobId> with_parts;
  std::erase_if(attempt.stopped, [&](JobId job) {
    if (is_share(view.row(job).demand)) with_parts.push_back(job);
    return !is_share(view.row(job).demand) && take_own(view, job);
  });
  for (const JobId job : with_parts) {
    if (view.job(job).spec.roles.size() > 1) continue;
    std::vector<JobId> stopped = attempt.stopped;
    std::erase(stopped, job);
    if (goes_together(view, attempt, stopped)) attempt.stopped = std::move(stopped);
  }
}

/// Whether the attempt's jobs find their places where only these are stopped for them.
bool RoundPlacement::goes_together(const ClusterView& view,
                                   const Attempt& attempt,
                                   const std::vector<JobId>& stopped) {
  std::vector<JobId> given = stopped;
  for (const Placed& job : attempt.jobs)
    if (view.row(job.wanted.job).holds && !job.holds) given.push_back(job.wanted.job);
  take_back(view, given);
  return std::all_of(attempt.jobs.begin(), attempt.jobs.end(), [&](const Placed& job) {
    if (!job.runs || job.nodes.empty()) return true;
    return take_there(view.row(job.wanted.job).demand, job.nodes, trial_);
  });
}

/// Whether one job waits that was to run, while one of a lower priority runs that may be changed.
bool RoundPlacement::lower_ones_are_in_the_way(const ClusterView& view, const Attempt& attempt) {
  std::int32_t waiting = INT32_MIN;
  std::int32_t running = INT32_MAX;
  for (const Placed& job : attempt.jobs) {
    const JobRow& row = view.row(job.wanted.job);
    if (!job.runs && !row.holds) waiting = std::max(waiting, row.priority);
    if (job.runs && !(row.holds && row.is_fixed())) running = std::min(running, row.priority);
  }
  return running < waiting;
}

/// Whether `b` serves more devices of the highest priority of which the two do not serve as many.
bool RoundPlacement::serves_first(const ClusterView& view, const Attempt& a, const Attempt& b) {
  std::map<std::int32_t, std::int64_t, std::greater<>> more;
  for (const Placed& job : a.jobs)
    if (job.runs) more[view.row(job.wanted.job).priority] -= room_wanted(view, job.wanted);
  for (const Placed& job : b.jobs)
    if (job.runs) more[view.row(job.wanted.job).priority] += room_wanted(view, job.wanted);
  for (const auto& [priority, thousandths] : more)
    if (thousandths != 0) return thousandths > 0;
  return false;
}

Plan RoundPlacement::plan(const ClusterView& view, const std::vector<Wanted>& running) {
  closed_.begin(view);
  Attempt attempt = beside(view, running);
  const bool all = std::all_of(
      attempt.jobs.begin(), attempt.jobs.end(), [](const Placed& job) { return job.runs; });
  if (!all) {
    spare(view, attempt);
    Attempt other = anew(view, running, Order::BySize);
    spare(view, other);
    if (other.served > attempt.served) attempt = std::move(other);
    if (lower_ones_are_in_the_way(view, attempt)) {
      other = anew(view, running, Order::ByPriority);
      spare(view, other);
      if (serves_first(view, attempt, other)) attempt = std::move(other);
    }
  } else {
    spare(view, attempt);
  }
  Plan plan;
  found_.clear();
  cut_short_.clear();
  for (const JobId job : attempt.stopped) plan.preempt(job);
  for (const Placed& job : attempt.jobs) {
    const JobRow& row = view.row(job.wanted.job);
    if (job.runs && !job.holds && !holds_exactly(view.job(row.id), job.nodes))
      grant_on(row.id, job.wanted.replicas, job.nodes, plan);
    if (!job.runs && row.holds && !view.is_seated(row.id)) plan.preempt(row.id);
    if (!row.holds) found_.push_back({row.id, job.wanted.model, job.runs});
    if (job.runs && job.cut_short) cut_short_.push_back(job.wanted);
  }
  return plan;
}

/// Does to the trial what the plan will do to the cluster; false where that cannot be foretold.
bool RoundPlacement::try_plan(const ClusterView& view, const Plan& plan) {
  trial_.sync(view.capacity());
  std::vector<JobId> given;
  for (const Grant& grant : plan.grants) {
    const JobView job = view.job(grant.job);
    if (grant.is_remark() || !job.row.holds) continue;
    given.push_back(grant.job);
    if (grant.replicas == 0 || view.is_seated(grant.job))
      give_back(view, job, trial_);
    else
      give_back_elastic(view, job, trial_);
  }
  std::sort(given.begin(), given.end());
  settle_parts(view, given, trial_);
  std::vector<NodeCount> nodes;
  for (const Grant& grant : plan.grants) {
    if (grant.is_remark() || grant.replicas == 0) continue;
    const JobView job = view.job(grant.job);
    const bool starts_roles = !job.row.holds && job.spec.roles.size() > 1;
    const auto named = std::span<const NodeCount>(plan.nodes);
    nodes.clear();
    const bool fits =
        starts_roles || view.is_seated(grant.job)
            ? try_start(view, job, grant.replicas, trial_, &nodes)
            : take_there(job.row.demand, named.subspan(grant.first_node, grant.node_count), trial_);
    if (!fits) return false;
  }
  return true;
}

void RoundPlacement::add_to(const ClusterView& view, const std::vector<JobId>& jobs, Plan& plan) {
  if (jobs.empty() || !try_plan(view, plan)) return;
  QuotaGains gains;
  for (const Grant& grant : plan.grants) {
    if (grant.is_remark() || grant.replicas == 0) continue;
    const JobRow& row = view.row(grant.job);
    gains.add(row, std::max(0, devices_at(row, grant.replicas) - row.devices_held));
  }
  std::vector<NodeCount> nodes;
  for (const JobId id : jobs) {
    const JobView job = view.job(id);
    const std::int32_t wanted = devices_at(job.row, job.row.min_replicas);
    if (job.row.gang_room() > trial_.index().device_room() ||
        !view.quota_allows(id, wanted + gains.of_others(job.row)))
      continue;
    nodes.clear();
    if (!try_start(view, job, job.row.min_replicas, trial_, &nodes)) continue;
    gains.add(job.row, wanted);
    grant_on(id, job.row.min_replicas, nodes, plan);
  }
}

}  // namespace orrery::policies
