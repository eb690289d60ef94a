#include "policies/orrery_policy.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/base/math.hpp"
#include "policies/changes.hpp"
#include "policies/device_parts.hpp"
#include "policies/gang_trial.hpp"
#include "policies/rigid_size.hpp"
#include "policies/shortest_remaining.hpp"

namespace orrery::policies {
namespace {

/// What a job of which nothing is known is taken to have left beyond what it has had, in
/// device-seconds.
constexpr double kUnknownLeft = 600;
/// Sizes of so many whole nodes are all offered; beyond, each is half as large again at least.
constexpr std::int32_t kNodesOneByOne = 16;
/// A sharing has to be worth so much more than what is there: more than rounding.
constexpr double kBetter = 1 + 1e-9;

std::int32_t devices_in_all(const JobRow& row, std::int32_t replicas) {
  return replicas * row.demand.devices + row.rest_devices;
}

/// `replicas` on one node as if they were one.
Demand part_of(Demand demand, std::int32_t replicas) {
  demand.devices *= replicas;
  demand.cpu.count *= replicas;
  demand.memory.count *= replicas;
  return demand;
}

}  // namespace

OrreryPolicy::OrreryPolicy(const OrreryParameters& parameters,
                           std::unique_ptr<GoodputEstimates> estimates,
                           std::shared_ptr<const PolluxProfiles> profiles)
    : parameters_(parameters), speeds_(std::move(estimates)), profiles_(std::move(profiles)) {}

Triggers OrreryPolicy::triggers() const {
  return {.submission = true, .completion = true, .capacity = true, .period = parameters_.period};
}

Plan OrreryPolicy::allocate(const JobView& /*job*/, const ClusterView& view) {
  jobs_.absorb(view);
  return {};
}

// --- who shares, and what each option is worth ---

/// Device-seconds that the job is expected to need yet.
double OrreryPolicy::left_of(const ClusterView& view, const JobView& job) const {
  const JobRow& row = job.row;
  const double had = static_cast<double>(row.attained_device_us(view.now())) * 1e-6;
  const ProgressView& progress = row.progress;
  if (progress.source != EstimateSource::None && !progress.remaining.is_forever())
    return std::max(progress.remaining.in_seconds(), 1.0) *
           std::max(row.holds ? row.devices_held : row.gang_devices(), 1);
  if (parameters_.epochs && profiles_ != nullptr && progress.epoch > 0) {
    const auto found = profiles_->find(*job.spec.profile);
    if (found != profiles_->end())
      return had / progress.epoch * std::max(found->second.epochs_max() - progress.epoch, 1);
  }
  const Duration stated = estimate_left(row);
  if (!stated.is_forever())
    return std::max(stated.in_seconds(), 1.0) * std::max(row.gang_devices(), 1);
  return had + kUnknownLeft;
}

/// Those whose size may be chosen. Of those that wait no more than there are devices, the highest
/// priority and the least left first.
void OrreryPolicy::find_sharers(const ClusterView& view) {
  sharers_.clear();
  std::int64_t waiting = 0;
  for (const JobId id : jobs_.sized()) {
    const JobView job = view.job(id);
    const JobRow& row = job.row;
    const bool may_start = waits(row) &&
                           view.quota_allows(id, devices_in_all(row, row.min_replicas)) &&
                           empty_kinds_.one_holds(job, row.min_replicas);
    if (!may_start && (!may_be_taken_from(row) || holds_several_models(view, job))) continue;
    waiting += may_start ? 1 : 0;
    sharers_.push_back({.id = id, .left = left_of(view, job)});
    if (!may_start) continue;
    // The longer it waits the less it counts as long.
    const double waited = (view.now() - row.submitted).in_seconds();
    sharers_.back().left /= 1 + waited / parameters_.patience.in_seconds();
  }
  if (waiting <= view.devices_usable()) return;
  const auto rank = [&](const Sharer& s) {
    const JobRow& row = view.row(s.id);
    return std::tuple(!row.holds, -row.priority, s.left, s.id);
  };
  std::sort(sharers_.begin(), sharers_.end(), [&](const Sharer& a, const Sharer& b) {
    return rank(a) < rank(b);
  });
  sharers_.resize(sharers_.size() - static_cast<std::size_t>(waiting - view.devices_usable()));
  std::sort(sharers_.begin(), sharers_.end(), [](const Sharer& a, const Sharer& b) {
    return a.id < b.id;
  });
}

/// By the number of sharers that have no less left; equal ones share theirs.
void OrreryPolicy::weigh_sharers() {
  order_.resize(sharers_.size());
  for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return sharers_[a].left != sharers_[b].left ? sharers_[a].left > sharers_[b].left : a > b;
  });
  for (std::size_t i = 0; i < order_.size();) {
    std::size_t end = i;
    while (end < order_.size() && sharers_[order_[end]].left == sharers_[order_[i]].left) ++end;
    const double weight =
        math::pow(0.5 * static_cast<double>(i + 1 + end), parameters_.short_first);
    for (; i < end; ++i) sharers_[order_[i]].weight = weight;
  }
}

/// What is free or held by those who share, by kind, less what the starting gangs take.
void OrreryPolicy::find_kinds(const ClusterView& view, const PolluxJobs::Gangs& gangs) {
  const FreeIndex& free = view.capacity();
  devices_.resize(free.size());
  for (std::uint32_t n = 0; n < free.size(); ++n) {
    const NodeFree& node = free.at(NodeId{n});
    devices_[n] = node.usable ? node.devices : 0;
  }
  const auto add = [&](std::span<const NodeCount> nodes, std::int32_t devices_each) {
    for (const NodeCount& at : nodes) devices_[at.node.index()] += at.replicas * devices_each;
  };
  for (const Sharer& sharer : sharers_) {
    const JobView job = view.job(sharer.id);
    add(job.nodes, job.row.demand.devices);
  }
  for (const JobId id : gangs.preempted) add(view.job(id).nodes, view.row(id).demand.devices);
  kinds_.clear();
  problem_.capacity.clear();
  std::size_t last = 0;
  for (std::uint32_t n = 0; n < free.size(); ++n) {
    if (devices_[n] == 0) continue;
    const DeviceModelId model = free.at(NodeId{n}).model;
    if (last >= kinds_.size() || kinds_[last].model != model) last = kind_of(model);
    Kind& kind = kinds_[last];
    ++kind.nodes;
    kind.node_size = std::max(kind.node_size, devices_[n]);
    problem_.capacity[last] += devices_[n];
  }
  for (const PolluxJobs::Start& gang : gangs.starting) {
    const Demand& demand = view.row(gang.job).demand;
    for (const NodeCount& at : gang.nodes) {
      std::int64_t& left = problem_.capacity[kind_of(free.at(at.node).model)];
      left = std::max<std::int64_t>(0, left - (at.replicas * demand.thousandths() + 999) / 1000);
    }
  }
}

/// The kind's place among all, where a new one is added.
std::size_t OrreryPolicy::kind_of(DeviceModelId model) {
  std::size_t kind = 0;
  while (kind < kinds_.size() && kinds_[kind].model != model) ++kind;
  if (kind == kinds_.size()) {
    kinds_.push_back({.model = model});
    problem_.capacity.push_back(0);
  }
  return kind;
}

/// Sizes on one kind: powers of two within a node, then whole nodes; the minimum and what it has.
void OrreryPolicy::add_sizes(const ClusterView& view, const JobView& job, std::size_t kind) {
  const JobRow& row = job.row;
  const Kind& of = kinds_[kind];
  const std::int32_t each = row.demand.devices;
  const std::int32_t known = speeds_.replicas_known(row.id);
  const double grown = known > 0 ? parameters_.growth * known : parameters_.first_replicas;
  const auto most = std::max(
      row.min_replicas,
      std::min({static_cast<std::int32_t>(std::min(grown, 1e9)),
                row.max_replicas,
                speeds_.replicas_of_batch(row.id),
                static_cast<std::int32_t>(
                    std::min<std::int64_t>(problem_.capacity[kind] / each, 1'000'000'000))}));
  const bool here = row.holds && kind_held(view, job) == of.model;
  std::int32_t last = 0;
  const auto offer = [&](std::int32_t replicas) {
    if (replicas <= last || replicas < row.min_replicas || replicas > most) return;
    if (!view.quota_allows(row.id, devices_in_all(row, replicas))) return;
    last = replicas;
    const std::int32_t per_node = std::max(of.node_size / each, 1);
    problem_.options.push_back({static_cast<std::int32_t>(kind), replicas * each, 0});
    where_.push_back({of.model, (replicas + per_node - 1) / per_node, replicas});
  };
  // Ascending, with the minimum and the present size where they fall.
  const auto offer_up_to = [&](std::int32_t replicas) {
    const std::int32_t before = last;
    if (row.min_replicas > before && row.min_replicas < replicas) offer(row.min_replicas);
    if (here && row.replicas > last && row.replicas < replicas) offer(row.replicas);
    offer(replicas);
  };
  for (std::int32_t replicas = 1; replicas * each < of.node_size && replicas <= most; replicas *= 2) {
    offer_up_to(replicas);
    if (replicas > 1 && replicas * 3 / 2 * each < of.node_size) offer_up_to(replicas * 3 / 2);
  }
  for (std::int32_t nodes = 1; nodes <= of.nodes && nodes * of.node_size / each <= most;
       nodes += nodes < kNodesOneByOne ? 1 : nodes / 2)
    if (nodes * of.node_size % each == 0) {
      const std::int32_t replicas = nodes * of.node_size / each;
      offer_up_to(replicas);
      if (nodes == 1 && of.nodes > 1 && replicas > 1) offer_up_to(replicas * 3 / 2);
    }
  offer_up_to(most + 1);
}

void OrreryPolicy::add_options(const ClusterView& view, Sharer& sharer) {
  const JobView job = view.job(sharer.id);
  const JobRow& row = job.row;
  const std::size_t begin = problem_.options.size();
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    if (row.demand.devices > kinds_[kind].node_size) continue;
    if (!row.demand.model.is_none() && row.demand.model != kinds_[kind].model) continue;
    if (problem_.capacity[kind] < row.min_replicas * row.demand.devices) continue;
    // What fits by count may not node by node, and would be chosen in each cycle again.
    if (!row.holds && !empty_kinds_.holds(job, row.min_replicas, kinds_[kind].model)) continue;
    add_sizes(view, job, kind);
  }
  sharer.current = -1;
  if (row.holds)
    for (std::size_t i = begin; i < where_.size(); ++i)
      if (where_[i].replicas == row.replicas && where_[i].kind == kind_held(view, job))
        sharer.current = static_cast<std::int32_t>(i - begin);
  value_options(view, job, sharer);
}

/// Without what a minimum counts beyond all else.
void OrreryPolicy::value_options(const ClusterView& view, const JobView& job, Sharer& sharer) {
  const std::size_t begin = problem_.first.back();
  const double kept = parameters_.horizon.in_seconds() /
                      (parameters_.horizon + parameters_.restart).in_seconds();
  double base = 0;
  for (std::size_t i = begin; i < where_.size(); ++i) {
    const double goodput = std::max(speeds_.goodput(view, job, where_[i]), 1e-12);
    problem_.options[i].value = goodput;
    const double least = goodput / where_[i].replicas * job.row.min_replicas;
    if (where_[i].replicas == job.row.min_replicas && (base == 0 || least < base)) base = least;
  }
  if (base == 0 && begin < where_.size()) base = problem_.options[begin].value;
  for (std::size_t i = begin; i < where_.size(); ++i) {
    const bool stays = static_cast<std::int32_t>(i - begin) == sharer.current;
    const double speedup = problem_.options[i].value / base * (stays || !job.row.holds ? 1 : kept);
    problem_.options[i].value =
        sharer.weight * (parameters_.evenness == 0.5 ? std::sqrt(speedup)
                                                     : math::pow(speedup, 1 - parameters_.evenness));
  }
}

double OrreryPolicy::worth(std::span<const std::int32_t> chosen) const {
  double sum = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i] >= 0)
      sum += problem_.options[problem_.first[i] + static_cast<std::size_t>(chosen[i])].value;
  return sum;
}

// --- the plan ---

/// Takes what the job holds, also where nodes take nothing new; false, and nothing changed, where
/// some of it is gone.
bool OrreryPolicy::keep(const JobView& job) {
  const std::size_t mark = trial_.mark();
  for (const NodeCount& at : job.nodes) {
    NodeFree free = trial_.index().at(at.node);
    free.usable = true;
    if (replicas_that_fit(free, job.row.demand) < at.replicas) {
      trial_.undo(mark);
      return false;
    }
    trial_.take(at.node, job.row.demand, at.replicas);
  }
  return true;
}

/// As the view's, beside what the plan has given to jobs of the same quotas.
bool OrreryPolicy::quota_allows(const ClusterView& view,
                                const JobRow& row,
                                std::int32_t replicas) const {
  std::int32_t devices = devices_in_all(row, replicas);
  std::int32_t others = 0;
  for (const auto& quota : {std::pair(false, row.quota_group), std::pair(true, row.quota_namespace)})
    if (const auto given = given_.find(quota); given != given_.end())
      others = std::max(others, given->second);
  return view.quota_allows(row.id, devices + others);
}

/// The plan gives the job so many replicas. What it gives up counts when it is gone.
void OrreryPolicy::note_given(const JobRow& row, std::int32_t replicas) {
  const std::int32_t more = devices_in_all(row, replicas) - row.devices_held;
  if (more <= 0) return;
  if (row.quota_group != UINT32_MAX) given_[{false, row.quota_group}] += more;
  if (row.quota_namespace != UINT32_MAX) given_[{true, row.quota_namespace}] += more;
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
    if (!place(view, sharer.id, part_of(part, each), where.nodes, trial_, nodes)) return false;
    for (NodeCount& n : nodes) n.replicas *= each;
    return true;
  };
  for (; sharer.chosen >= 0; --sharer.chosen) {
    const KindAndSize& where = where_[begin + static_cast<std::size_t>(sharer.chosen)];
    if (!quota_allows(view, job.row, where.replicas)) continue;
    if (place_parts(where)) return true;
    const bool has_smaller = sharer.chosen > 0 &&
                             where_[begin + static_cast<std::size_t>(sharer.chosen) - 1].kind == where.kind;
    const KindAndSize spread{where.kind, std::max(where.nodes + 1, 2), where.replicas};
    if (has_smaller && speeds_.goodput(view, job, spread) <=
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
  for (const std::uint32_t i : moving)
    if (const JobView job = view.job(sharers_[i].id); job.row.holds) give_back(view, job, trial_);
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
    if (stay_first && stays && keep(job)) continue;
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
  const double had = beside ? worth(got) : -1;
  Plan anew;
  given_ = given;
  for (std::uint32_t i = 0; i < sharers_.size(); ++i) sharers_[i].chosen = chosen[i];
  if (!start_beside(view, gangs, all, anew)) {
    anew = {};
    jobs_.start(view, gangs, trial_, anew);
  }
  place_moving(view, std::move(all), true, anew);
  if (worth(chosen_now()) > had * kBetter) {
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
  weigh_sharers();
  find_kinds(view, gangs);
  problem_.options.clear();
  problem_.first.assign(1, 0);
  where_.clear();
  for (Sharer& sharer : sharers_) {
    add_options(view, sharer);
    problem_.first.push_back(static_cast<std::uint32_t>(problem_.options.size()));
  }
  put_minimum_first(view);
  std::vector<std::int32_t> current;
  for (const Sharer& sharer : sharers_) current.push_back(sharer.current);
  const bool may_stay = fits(problem_, current);
  std::vector<std::int32_t> chosen = shares_.choose(problem_);
  if (may_stay && worth(chosen) <= worth(current) * kBetter) chosen = current;
  place_all(view, gangs, chosen, plan);
  // What nodes allow of it may be worth less than what is there.
  if (may_stay && gangs.starting.empty() && worth(chosen_now()) <= worth(current) * kBetter)
    plan = {};
}

/// A minimum counts more than anything else, that of a job that runs more than that of one that
/// waits, and that of a higher priority more than that of a lower one.
void OrreryPolicy::put_minimum_first(const ClusterView& view) {
  double most = 0;
  for (const ShareOption& option : problem_.options) most = std::max(most, option.value);
  std::vector<std::int32_t> priorities;
  for (const Sharer& sharer : sharers_) priorities.push_back(view.row(sharer.id).priority);
  std::sort(priorities.begin(), priorities.end());
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  for (std::size_t i = 0; i < sharers_.size(); ++i) {
    const JobRow& row = view.row(sharers_[i].id);
    const auto level = std::lower_bound(priorities.begin(), priorities.end(), row.priority) -
                       priorities.begin();
    const double first = 2 * most * static_cast<double>(2 * level + (row.holds ? 2 : 1)) *
                         row.min_replicas * row.demand.devices;
    for (std::uint32_t o = problem_.first[i]; o < problem_.first[i + 1]; ++o)
      problem_.options[o].value += first;
  }
}

/// Jobs whose size may be chosen, but which no kind holds by itself, start as gangs do and keep what
/// they get.
void OrreryPolicy::add_across_kinds(const ClusterView& view, PolluxJobs::Gangs& gangs) {
  std::vector<JobId> across;
  for (const JobId id : jobs_.sized())
    if (waits(view.row(id)) && !empty_kinds_.one_holds(view.job(id), view.row(id).min_replicas))
      across.push_back(id);
  if (across.empty()) return;
  trial_.sync(view.capacity());
  for (const JobId id : jobs_.sized())
    if (may_be_taken_from(view.row(id)) && !holds_several_models(view, view.job(id)))
      give_back(view, view.job(id), trial_);
  for (const JobId id : gangs.preempted) give_back(view, view.job(id), trial_);
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

void OrreryPolicy::start_alone(const ClusterView& view, const PolluxJobs::Gangs& gangs, Plan& plan) {
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
  Plan plan;
  empty_kinds_.begin(view);
  PolluxJobs::Gangs gangs = jobs_.gangs_to_start(view, trial_, [&](const JobView& job) {
    return view.now() - job.row.submitted > parameters_.patience &&
           empty_kinds_.one_holds(job, rigid_size(job));
  });
  given_.clear();
  std::erase_if(gangs.starting, [&](const PolluxJobs::Start& gang) {
    const JobView job = view.job(gang.job);
    if (!quota_allows(view, job.row, rigid_size(job))) return true;
    note_given(job.row, rigid_size(job));
    return false;
  });
  add_across_kinds(view, gangs);
  if (gangs.starting.empty() && jobs_.sized().empty()) return plan;
  const bool in_parts =
      std::any_of(gangs.starting.begin(), gangs.starting.end(), [&](const auto& gang) {
        return PolluxJobs::is_placed_in_parts(view, gang.job);
      });
  if (in_parts) {
    start_alone(view, gangs, plan);
    return plan;
  }
  share_out(view, gangs, plan);
  return plan;
}

}  // namespace orrery::policies
