#include "policies/orrery_policy.hpp"

#include <algorithm>
#include <utility>

#include "policies/changes.hpp"
#include "policies/device_parts.hpp"
#include "policies/gang_trial.hpp"
#include "policies/parts_given.hpp"
#include "policies/rigid_size.hpp"

namespace orrery::policies {
namespace {

/// `replicas` on one node as if they were one.
Demand as_one_replica(Demand demand, std::int32_t replicas) {
  demand.devices *= replicas;
  demand.cpu.count *= replicas;
  demand.memory.count *= replicas;
  return demand;
}

}  // namespace

OrreryPolicy::OrreryPolicy(const OrreryParameters& parameters,
                           std::unique_ptr<GoodputEstimates> estimates,
                           std::shared_ptr<const PolluxProfiles> profiles)
    : parameters_(parameters),
      speeds_(std::move(estimates), parameters.alike),
      profiles_(std::move(profiles)) {}

Triggers OrreryPolicy::triggers() const {
  return {.submission = true, .completion = true, .capacity = true, .period = parameters_.period};
}

Plan OrreryPolicy::allocate(const JobView& /*job*/, const ClusterView& view) {
  jobs_.absorb(view);
  return {};
}

// --- the plan ---

/// As the view's, beside what the plan has given to jobs of the same quotas.
bool OrreryPolicy::quota_allows(const ClusterView& view,
                                const JobRow& row,
                                std::int32_t replicas) const {
  return view.quota_allows(row.id, devices_at(row, replicas) + given_.of_others(row));
}

/// The plan gives the job so many replicas. What it gives up counts when it is gone.
void OrreryPolicy::note_given(const JobRow& row, std::int32_t replicas) {
  const std::int32_t more = devices_at(row, replicas) - row.devices_held;
  if (more > 0) given_.add(row, more);
}

/// Places the chosen option, or the next smaller one that finds room; false where none does. On as
/// few nodes as can be, else on more where that is still better than the next smaller size.
bool OrreryPolicy::place_one(const ClusterView& view,
                             Sharer& sharer,
                             std::vector<NodeCount>& nodes) {
  const JobView job = view.job(sharer.id);
  const Demand& demand = job.row.demand;
  const std::uint32_t begin = problem_.first[static_cast<std::size_t>(&sharer - sharers_.data())];
  const auto place_parts = [&](const KindAndSize& where) {
    Demand part = demand;
    part.model = where.kind;
    if (where.replicas % where.nodes != 0)
      return place(view, sharer.id, part, where.replicas, trial_, nodes);
    const std::int32_t each = where.replicas / where.nodes;
    if (!place(view, sharer.id, as_one_replica(part, each), where.nodes, trial_, nodes))
      return false;
    for (NodeCount& n : nodes) n.replicas *= each;
    return true;
  };
  for (; sharer.chosen >= 0; --sharer.chosen) {
    const KindAndSize& where = where_[begin + static_cast<std::size_t>(sharer.chosen)];
    if (!quota_allows(view, job.row, where.replicas)) continue;
    if (place_parts(where)) return true;
    const bool has_smaller =
        sharer.chosen > 0 &&
        where_[begin + static_cast<std::size_t>(sharer.chosen) - 1].kind == where.kind;
    const KindAndSize spread{where.kind, std::max(where.nodes + 1, 2), where.replicas};
    if (has_smaller &&
        speeds_.goodput(view, job, spread) <=
            speeds_.goodput(view, job, where_[begin + static_cast<std::size_t>(sharer.chosen) - 1]))
      continue;
    Demand any = demand;
    any.model = where.kind;
    if (place(view, sharer.id, any, where.replicas, trial_, nodes)) return true;
  }
  return false;
}

std::int32_t OrreryPolicy::size_chosen(std::uint32_t sharer) const {
  const std::int32_t chosen = sharers_[sharer].chosen;
  if (chosen < 0) return 0;
  return problem_.options[problem_.first[sharer] + static_cast<std::size_t>(chosen)].size;
}

/// Starts the gangs on what is free once the sharers in `moving` have given up what they hold;
/// false where that is not enough for all of them.
bool OrreryPolicy::start_beside(const ClusterView& view,
                                const PolluxJobs::Gangs& gangs,
                                std::span<const std::uint32_t> moving,
                                Plan& plan) {
  trial_.sync(view.capacity());
  for (const JobId id : gangs.preempted) {
    give_back(view, view.job(id), trial_);
    plan.preempt(id);
  }
  std::vector<JobId> giving;
  for (const std::uint32_t i : moving) {
    const JobView job = view.job(sharers_[i].id);
    if (!job.row.holds) continue;
    give_back(view, job, trial_);
    giving.push_back(sharers_[i].id);
  }
  settle_parts_of(view, {gangs.preempted, giving}, trial_);
  for (const PolluxJobs::Start& gang : gangs.starting) {
    const JobView job = view.job(gang.job);
    std::vector<NodeCount> nodes;
    if (!try_start(view, job, rigid_size(job), trial_, &nodes)) return false;
    grant_on(gang.job, rigid_size(job), nodes, plan);
  }
  return true;
}

/// Places the largest first; whether all that chose something got it, or less of it. With
/// `stay_first` one that keeps its size stays where that is free.
bool OrreryPolicy::place_moving(const ClusterView& view,
                                std::vector<std::uint32_t> moving,
                                bool stay_first,
                                Plan& plan) {
  std::stable_sort(moving.begin(), moving.end(), [&](std::uint32_t a, std::uint32_t b) {
    return size_chosen(a) > size_chosen(b);
  });
  bool all = true;
  std::vector<NodeCount> nodes;
  for (const std::uint32_t i : moving) {
    Sharer& sharer = sharers_[i];
    const JobView job = view.job(sharer.id);
    const bool stays = sharer.chosen >= 0 && sharer.chosen == sharer.current;
    if (stay_first && stays && keep_held(job, trial_)) continue;
    const bool wants = sharer.chosen >= 0;
    nodes.clear();
    if (wants && place_one(view, sharer, nodes)) {
      std::int32_t replicas = 0;
      for (const NodeCount& n : nodes) replicas += n.replicas;
      note_given(job.row, replicas);
      if (!holds_exactly(job, nodes)) grant_on(sharer.id, replicas, nodes, plan);
      continue;
    }
    all = all && !wants;
    sharer.chosen = -1;
    if (job.row.holds) plan.preempt(sharer.id);
  }
  return all;
}

/// Grants the gangs, and what was chosen, as far as nodes and quotas allow. Who keeps its size
/// keeps its nodes. Where a gang or a job finds no place so, all are placed anew, if that is worth
/// more.
void OrreryPolicy::place_all(const ClusterView& view,
                             const PolluxJobs::Gangs& gangs,
                             std::span<const std::int32_t> chosen,
                             Plan& plan) {
  std::vector<std::uint32_t> moving;
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < sharers_.size(); ++i) {
    Sharer& sharer = sharers_[i];
    sharer.chosen = chosen[i];
    if (sharer.chosen != sharer.current) moving.push_back(i);
    if (sharer.chosen >= 0 || view.row(sharer.id).holds) all.push_back(i);
  }
  const auto given = given_;
  const bool beside = start_beside(view, gangs, moving, plan);
  if (beside && place_moving(view, std::move(moving), false, plan)) return;
  const std::vector<std::int32_t> got = chosen_now();
  const Worth had = worth(view, got);
  Plan anew;
  given_ = given;
  for (std::uint32_t i = 0; i < sharers_.size(); ++i) sharers_[i].chosen = chosen[i];
  if (!start_beside(view, gangs, all, anew)) {
    anew = {};
    jobs_.start(view, gangs, trial_, anew);
  }
  place_moving(view, std::move(all), true, anew);
  if (!beside || worth(view, chosen_now()).is_better_than(had)) {
    plan = std::move(anew);
    return;
  }
  for (std::uint32_t i = 0; i < sharers_.size(); ++i) sharers_[i].chosen = got[i];
}

std::vector<std::int32_t> OrreryPolicy::chosen_now() const {
  std::vector<std::int32_t> chosen;
  for (const Sharer& sharer : sharers_) chosen.push_back(sharer.chosen);
  return chosen;
}

/// Starts the gangs, and shares out what is left.
void OrreryPolicy::share_out(const ClusterView& view, const PolluxJobs::Gangs& gangs, Plan& plan) {
  find_sharers(view);
  find_kinds(view, gangs);
  problem_.options.clear();
  problem_.first.assign(1, 0);
  where_.clear();
  for (Sharer& sharer : sharers_) {
    add_options(view, sharer);
    problem_.first.push_back(static_cast<std::uint32_t>(problem_.options.size()));
  }
  weigh_options();
  put_minimum_first(view);
  std::vector<std::int32_t> current;
  for (const Sharer& sharer : sharers_) current.push_back(sharer.current);
  const bool may_stay = fits(problem_, current);
  std::vector<std::int32_t> chosen = shares_.choose(problem_);
  const Worth had = worth(view, current);
  if (may_stay && !worth(view, chosen).is_better_than(had)) chosen = current;
  place_all(view, gangs, chosen, plan);
  // What nodes allow of it may be worth less than what is there.
  if (may_stay && gangs.starting.empty() && !worth(view, chosen_now()).is_better_than(had))
    plan = {};
}

/// Jobs whose size may be chosen, but which no kind holds by itself, start as gangs do and keep
/// what they get.
void OrreryPolicy::add_across_kinds(const ClusterView& view, PolluxJobs::Gangs& gangs) {
  std::vector<JobId> across;
  for (const JobId id : jobs_.sized())
    if (waits(view.row(id)) && !empty_kinds_.one_holds(view.job(id), view.row(id).min_replicas))
      across.push_back(id);
  if (across.empty()) return;
  trial_.sync(view.capacity());
  std::vector<JobId> giving;
  for (const JobId id : jobs_.sized())
    if (may_be_taken_from(view.row(id)) && !holds_several_models(view, view.job(id)))
      giving.push_back(id);
  giving.insert(giving.end(), gangs.preempted.begin(), gangs.preempted.end());
  for (const JobId id : giving) give_back(view, view.job(id), trial_);
  settle_parts_of(view, {giving}, trial_);
  for (const PolluxJobs::Start& gang : gangs.starting) {
    const JobView job = view.job(gang.job);
    std::vector<NodeCount> nodes;
    try_start(view, job, rigid_size(job), trial_, &nodes);
  }
  for (const JobId id : across) {
    const JobView job = view.job(id);
    PolluxJobs::Start start{id, {}};
    if (!quota_allows(view, job.row, rigid_size(job)) ||
        !try_start(view, job, rigid_size(job), trial_, &start.nodes))
      continue;
    note_given(job.row, rigid_size(job));
    gangs.starting.push_back(std::move(start));
  }
}

void OrreryPolicy::start_alone(const ClusterView& view,
                               const PolluxJobs::Gangs& gangs,
                               Plan& plan) {
  find_sharers(view);
  std::vector<JobId> victims;
  for (const Sharer& sharer : sharers_)
    if (view.row(sharer.id).holds) victims.push_back(sharer.id);
  std::sort(victims.begin(), victims.end(), [&](JobId a, JobId b) {
    return comes_before(view.row(a), view.row(b));
  });
  PolluxJobs::start_alone(view, gangs, victims, trial_, plan);
}

Plan OrreryPolicy::optimize(const ClusterView& view) {
  jobs_.absorb(view);
  speeds_.learn(view);
  empty_kinds_.begin(view);
  Plan plan;
  PolluxJobs::Gangs gangs = decide(view, {}, plan);
  // What was kept for who is given nothing after all holds up gangs that need less.
  const auto is_granted = [&](JobId id) {
    return std::ranges::find(plan.grants, id, &Grant::job) != plan.grants.end();
  };
  std::erase_if(gangs.kept, is_granted);
  std::ranges::sort(gangs.kept);
  if (gangs.kept.empty() || !gangs.any_left) return plan;
  Plan without;
  const PolluxJobs::Gangs more = decide(view, gangs.kept, without);
  return more.starting.size() > gangs.starting.size() ? without : plan;
}

/// One plan; the gangs that it starts.
PolluxJobs::Gangs OrreryPolicy::decide(const ClusterView& view,
                                       std::span<const JobId> in_vain,
                                       Plan& plan) {
  const auto is_overdue = [&](const JobView& job) {
    return view.now() - job.row.submitted > parameters_.patience &&
           empty_kinds_.one_holds(job, rigid_size(job));
  };
  PolluxJobs::Gangs gangs = jobs_.gangs_to_start(view, trial_, is_overdue, in_vain);
  given_.clear();
  std::erase_if(gangs.starting, [&](const PolluxJobs::Start& gang) {
    const JobView job = view.job(gang.job);
    if (!quota_allows(view, job.row, rigid_size(job))) return true;
    note_given(job.row, rigid_size(job));
    return false;
  });
  add_across_kinds(view, gangs);
  if (gangs.starting.empty() && jobs_.sized().empty()) return gangs;
  const bool in_parts =
      std::any_of(gangs.starting.begin(), gangs.starting.end(), [&](const auto& gang) {
        return PolluxJobs::is_placed_in_parts(view, gang.job);
      });
  if (in_parts)
    start_alone(view, gangs, plan);
  else
    share_out(view, gangs, plan);
  return gangs;
}

}  // namespace orrery::policies
