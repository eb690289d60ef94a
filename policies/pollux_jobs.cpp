#include "policies/pollux_jobs.hpp"

#include <algorithm>
#include <utility>

#include "policies/changes.hpp"
#include "policies/gang_trial.hpp"
#include "policies/parts_given.hpp"
#include "policies/quotas.hpp"
#include "policies/rigid_size.hpp"
#include "policies/spare_victims.hpp"

namespace orrery::policies {

namespace {

bool is_sized(const ClusterView& view, const JobView& job) {
  const JobRow& row = job.row;
  const bool has_choice =
      row.min_replicas < row.max_replicas || (row.holds && row.replicas != row.min_replicas);
  return has_choice && row.preemptible && job.spec.roles.size() == 1 && row.demand.devices > 0 &&
         row.demand.share.is_whole() && !view.is_seated(row.id);
}

/// Appends its nodes to `nodes`; false, and nothing changed, where it does not fit.
bool start_gang(const ClusterView& view,
                const JobView& job,
                CapacityTrial& trial,
                std::vector<NodeCount>& nodes) {
  return try_start(view, job, rigid_size(job), trial, &nodes);
}

bool quota_allows(const ClusterView& view, const JobView& job, std::int32_t replicas) {
  const std::int32_t devices = devices_at(job.row, replicas);
  return view.quota_allows(job.row.id, devices);
}

/// Takes exactly what a job of one role holds; false, and nothing changed, where it does not fit.
bool put_back(const JobView& job, CapacityTrial& trial) {
  return job.spec.roles.size() == 1 && take_there(job.row.demand, job.nodes, trial);
}

}  // namespace

void PolluxJobs::absorb(const ClusterView& view) {
  const auto reset = [&] {
    sized_.clear();
    lower_.clear();
    overdue_.clear();
  };
  absorb_changes(view, reset, [&](JobId id) {
    lower_.refresh(view, id);
    const bool is_live = view.is_live(id);
    const bool has_size = is_live && is_sized(view, view.job(id));
    if (has_size)
      sized_.insert(id);
    else
      sized_.erase(id);
    overdue_.refresh(view, id, is_live && !has_size);
  });
  overdue_.refresh_others(view);
}

bool PolluxJobs::is_placed_in_parts(const ClusterView& view, JobId id) {
  return view.job(id).spec.roles.size() > 1 || view.is_seated(id);
}

/// Sized jobs that hold devices and may be changed, in queue order.
std::vector<JobId> PolluxJobs::sized_holders(const ClusterView& view) const {
  std::vector<JobId> holders;
  for (const JobId id : view.holding())
    if (sized_.contains(id) && may_be_taken_from(view.row(id))) holders.push_back(id);
  std::sort(holders.begin(), holders.end(), [&](JobId a, JobId b) {
    return comes_before(view.row(a), view.row(b));
  });
  return holders;
}

/// Tries the gang on what gangs of lower priority hold, the lowest and youngest first. Who turns
/// out not to stand in the way stays. Changes nothing where that is not enough.
bool PolluxJobs::push_out(const ClusterView& view,
                          const JobView& job,
                          std::span<const JobId> holders,
                          CapacityTrial& trial,
                          Gangs& gangs,
                          std::vector<NodeCount>& nodes) const {
  const auto gave_way = [&](JobId id) {
    return std::find(gangs.preempted.begin(), gangs.preempted.end(), id) != gangs.preempted.end();
  };
  const std::size_t mark = trial.mark();
  const auto fits_with = [&](const std::vector<JobId>& leaving) {
    trial.undo(mark);
    nodes.clear();
    for (const JobId id : leaving) give_back(view, view.job(id), trial);
    settle_parts_of(view, {leaving, gangs.preempted, holders}, trial);
    return start_gang(view, job, trial, nodes);
  };
  std::vector<JobId> taken;
  bool fits = false;
  lower_.for_each_below(job.row.priority, [&](JobId victim) {
    if (sized_.contains(victim) || gave_way(victim)) return true;
    give_back(view, view.job(victim), trial);
    taken.push_back(victim);
    fits =
        trial.index().device_room() >= job.row.gang_room() && start_gang(view, job, trial, nodes);
    if (fits && have_parts(view, taken) && !fits_with(taken)) {
      fits = false;
      nodes.clear();
      trial.undo(mark);
      for (const JobId id : taken) give_back(view, view.job(id), trial);
    }
    return !fits;
  });
  if (!fits) {
    trial.undo(mark);
    return false;
  }
  // By count a part may be put back where it does not lie, and a job that keeps the seats.
  if (view.is_seated(job.row.id) || have_parts(view, taken)) {
    spare_victims(taken, 0, taken.size() - 1, fits_with);
    fits_with(taken);
  } else {
    for (std::size_t i = taken.size() - 1; i-- > 0;)
      if (put_back(view.job(taken[i]), trial)) taken[i] = JobId::none();
    std::erase(taken, JobId::none());
  }
  gangs.preempted.insert(gangs.preempted.end(), taken.begin(), taken.end());
  return true;
}

/// On the nodes that it has, then on these models, then wherever the placer puts it.
bool PolluxJobs::place_minimum(const ClusterView& view,
                               const JobView& job,
                               const Minima& minima,
                               CapacityTrial& trial) {
  const std::int32_t least = job.row.min_replicas;
  if (minima.on_own && least <= job.row.replicas &&
      take_there(job.row.demand, first_replicas(job.nodes, least), trial))
    return true;
  std::vector<NodeCount> nodes;
  for (const DeviceModelId model : minima.models) {
    Demand demand = job.row.demand;
    if (!demand.model.is_none() && demand.model != model) continue;
    demand.model = model;
    nodes.clear();
    if (place(view, job.row.id, demand, least, trial, nodes)) return true;
  }
  return try_start(view, job, least, trial);
}

/// Where all devices are of one model there is no such choice.
PolluxJobs::Minima PolluxJobs::minima_off_named_models(const ClusterView& view) const {
  std::set<DeviceModelId> models;
  for (std::uint32_t n = 0; n < view.capacity().size(); ++n) {
    const NodeFree& node = view.capacity().at(NodeId{n});
    if (node.usable && !node.model.is_none()) models.insert(node.model);
  }
  if (models.size() < 2) return {};
  view.waiting().for_each([&](const WaitEntry& entry) {
    if (sized_.contains(entry.job)) return true;
    for (const RoleSpec& role : view.job(entry.job).spec.roles)
      if (!role.bundle.device_model.empty())
        models.erase(view.model_named(role.bundle.device_model));
    return !models.empty();
  });
  return {true, {models.begin(), models.end()}};
}

PolluxJobs::Gangs PolluxJobs::gangs_to_start(const ClusterView& view,
                                             CapacityTrial& trial,
                                             const IsOverdue& is_overdue,
                                             std::span<const JobId> in_vain) {
  bool any_waits = false;
  view.waiting().for_each([&](const WaitEntry& entry) {
    any_waits = any_waits || !sized_.contains(entry.job);
    return !any_waits;
  });
  if (!any_waits) return {};
  Gangs gangs = try_gangs(view, trial, is_overdue, in_vain, {});
  if (!gangs.named_left) return gangs;
  const Minima minima = minima_off_named_models(view);
  if (!minima.on_own) return gangs;
  Gangs other = try_gangs(view, trial, is_overdue, in_vain, minima);
  const auto starts = [&](const Start& gang) {
    return std::any_of(other.starting.begin(), other.starting.end(), [&](const Start& each) {
      return each.job == gang.job;
    });
  };
  const bool is_better = other.starting.size() > gangs.starting.size() &&
                         other.kept.size() >= gangs.kept.size() &&
                         std::all_of(gangs.starting.begin(), gangs.starting.end(), starts);
  return is_better ? other : gangs;
}

PolluxJobs::Gangs PolluxJobs::try_gangs(const ClusterView& view,
                                        CapacityTrial& trial,
                                        const IsOverdue& is_overdue,
                                        std::span<const JobId> in_vain,
                                        const Minima& minima) {
  Gangs gangs;
  overdue_.begin(view);
  trial.sync(view.capacity());
  const std::vector<JobId> holders = sized_holders(view);
  for (const JobId id : holders) give_back(view, view.job(id), trial);
  const auto keeps_minimum = [&](const JobView& job) {
    return quota_allows(view, job, job.row.min_replicas) && place_minimum(view, job, minima, trial);
  };
  auto next = holders.begin();
  std::size_t looked_at = 0;  // Gangs, or perhaps sized jobs for which there is no room.
  bool may_push = true;  // The queue descends by priority: where nobody gives way, nobody will.
  view.waiting().for_each([&](const WaitEntry& entry) {
    for (; next != holders.end() && comes_before(view.row(*next), view.row(entry.job)); ++next)
      keeps_minimum(view.job(*next));
    const bool has_room = entry.devices <= trial.index().device_room();
    const bool may_reserve = is_overdue != nullptr && !overdue_.is_known();
    if (!has_room && !may_push && !may_reserve) {
      ++looked_at;
      return true;
    }
    const JobView job = view.job(entry.job);
    if (sized_.contains(entry.job)) {
      const bool gets = has_room && !std::ranges::binary_search(in_vain, entry.job);
      if (gets && keeps_minimum(job)) gangs.kept.push_back(entry.job);
      return true;
    }
    ++looked_at;
    may_push = may_push && !overdue_.is_known() && lower_.any_below(job.row.priority);
    if (!quota_allows(view, job, rigid_size(job))) return true;
    const bool names_model =
        std::any_of(job.spec.roles.begin(), job.spec.roles.end(), [](const RoleSpec& role) {
          return !role.bundle.device_model.empty();
        });
    Start start{entry.job, {}, overdue_.is_known()};
    if (start.passes) {
      if (!has_room || !overdue_.start(view, entry, trial, start.nodes)) {
        gangs.named_left = gangs.named_left || names_model;
        return true;
      }
    } else if (!(has_room && start_gang(view, job, trial, start.nodes)) &&
               !(may_push && push_out(view, job, holders, trial, gangs, start.nodes))) {
      gangs.named_left = gangs.named_left || names_model;
      if (may_reserve && is_overdue(job)) {
        for (const Start& each : gangs.starting) overdue_.foresee_start(view, each.job, each.nodes);
        for (const JobId id : gangs.preempted) overdue_.foresee_end(view, id);
        overdue_.reserve(view, trial, entry.job);
      }
      return true;
    }
    gangs.starting.push_back(std::move(start));
    return true;
  });
  gangs.any_left = looked_at > gangs.starting.size();
  return gangs;
}

void PolluxJobs::start(const ClusterView& view,
                       const Gangs& gangs,
                       CapacityTrial& trial,
                       Plan& plan) const {
  trial.sync(view.capacity());
  for (const JobId id : gangs.preempted) {
    give_back(view, view.job(id), trial);
    plan.preempt(id);
  }
  settle_parts_of(view, {gangs.preempted}, trial);
  std::vector<Start> chosen;
  const std::size_t mark = trial.mark();
  for (const Start& gang : gangs.starting) {
    Start& start = chosen.emplace_back(gang);
    if (gang.passes && take_there(view.row(gang.job).demand, gang.nodes, trial)) continue;
    start.nodes.clear();
    if (!gang.passes && start_gang(view, view.job(gang.job), trial, start.nodes)) continue;
    trial.undo(mark);
    chosen.clear();
    break;
  }
  for (const JobId id : sized_holders(view)) give_back(view, view.job(id), trial);
  if (chosen.empty()) {
    chosen = gangs.starting;
    for (const Start& gang : chosen)
      for (const NodeCount& n : gang.nodes)
        trial.take(n.node, view.row(gang.job).demand, n.replicas);
  }
  for (const Start& gang : chosen)
    grant_on(gang.job, rigid_size(view.job(gang.job)), gang.nodes, plan);
}

// Tried in the order in which the plan is carried out: all that is taken back, then each grant.
void PolluxJobs::start_alone(const ClusterView& view,
                             const Gangs& gangs,
                             std::span<const JobId> victims,
                             CapacityTrial& trial,
                             Plan& plan) {
  const auto preempt = [&](JobId id) {
    give_back(view, view.job(id), trial);
    plan.preempt(id);
  };
  for (std::size_t taken = 0;; ++taken) {
    plan = {};
    trial.sync(view.capacity());
    for (const JobId id : gangs.preempted) preempt(id);
    for (std::size_t i = 0; i < taken; ++i) preempt(victims[victims.size() - 1 - i]);
    settle_parts_of(view, {gangs.preempted, victims.last(taken)}, trial);
    bool all = true;
    for (const Start& gang : gangs.starting) {
      // It would start on other nodes than those that the overdue one can spare.
      if (gang.passes && !is_placed_in_parts(view, gang.job)) continue;
      const JobView job = view.job(gang.job);
      std::vector<NodeCount> nodes;
      const bool started = start_gang(view, job, trial, nodes);
      if (started) plan.grant(gang.job, rigid_size(job));
      all = all && started;
    }
    if (all || taken == victims.size()) return;
  }
}

}  // namespace orrery::policies
