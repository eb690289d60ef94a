// Who shares devices under orrery, which options each has, and what they are worth.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/math.hpp"
#include "policies/changes.hpp"
#include "policies/device_parts.hpp"
#include "policies/orrery_policy.hpp"
#include "policies/shortest_remaining.hpp"

namespace orrery::policies {
namespace {

/// The steps in which that grows which a job of which nothing is known is taken to have left beyond
/// what it has had. On one step who came first is taken to end first: else jobs of one age would
/// overtake each other for ever.
constexpr double kUnknownSteps = 4;
/// What else is known of it is rough too. Logarithm of the factor 1.3 between steps of that.
constexpr double kLogStep = 0.26236426446749106;
/// Sizes of so many whole nodes are all offered; beyond, each is half as large again at least.
constexpr std::int32_t kNodesOneByOne = 16;
}  // namespace

/// The greatest step that is not beyond what it has had. In device-seconds, as `had`.
double OrreryPolicy::guessed_left(double had) const {
  const double first = parameters_.guess.in_seconds();
  double left = first;
  while (left * kUnknownSteps <= had + first) left *= kUnknownSteps;
  return left;
}

/// By what the epochs that are over took each, as far as that is known. The present one lasts
/// longer than those where it has to.
double OrreryPolicy::left_by_epochs(const JobView& job, double had, int epochs_max) const {
  constexpr double kEndOfEpoch = 0.1;  // Of one, at least, is left.
  const std::int32_t over = job.row.progress.epoch;
  const double known = speeds_.had_in_epochs(job);
  const double then = known > 0 ? known : had;
  const double each = std::max(then, 1.0) / over;
  const double since = std::min(had - then, (1 - kEndOfEpoch) * each);
  return each * std::max(epochs_max - over, 1) - since;
}

/// Device-seconds that the job is expected to need yet.
double OrreryPolicy::left_of(const ClusterView& view, const JobView& job) const {
  const JobRow& row = job.row;
  const double had = static_cast<double>(row.attained_device_us(view.now())) * 1e-6;
  const ProgressView& progress = row.progress;
  if (progress.source != EstimateSource::None && !progress.remaining.is_forever())
    return std::max(progress.remaining.in_seconds(), 1.0) *
           std::max(row.holds ? row.devices_held : row.gang_devices(), 1);
  if (parameters_.epochs && profiles_ != nullptr) {
    const auto found = profiles_->find(*job.spec.profile);
    if (found != profiles_->end()) {
      if (progress.epoch > 0) return left_by_epochs(job, had, found->second.epochs_max());
      // Soon its epochs tell more of it than others do: it is not kept small for their sake. Where
      // epochs are long, others are all there is.
      return had <= parameters_.guess.in_seconds() ? guessed_left(had) : left_by_profile(job, had);
    }
  }
  const Duration stated = estimate_left(row);
  if (!stated.is_forever())
    return std::max(stated.in_seconds(), 1.0) * std::max(row.gang_devices(), 1);
  return left_by_profile(job, had);
}

/// By what jobs of its profile had that have ended.
double OrreryPolicy::left_by_profile(const JobView& job, double had) const {
  const std::optional<double> total = speeds_.total_of(job);
  return total && had < *total ? std::max(*total - had, *total / 10) : guessed_left(had);
}

/// Those whose size may be chosen. Of those that wait no more than there are devices, the highest
/// priority and the least left first.
void OrreryPolicy::find_sharers(const ClusterView& view) {
  sharers_.clear();
  std::int64_t waiting = 0;
  for (const JobId id : jobs_.sized()) {
    const JobView job = view.job(id);
    const JobRow& row = job.row;
    const bool may_start = waits(row) && view.quota_allows(id, devices_at(row, row.min_replicas)) &&
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

/// Those with most left first; of nearly equal ones, those that came last.
void OrreryPolicy::order_sharers() {
  order_.resize(sharers_.size());
  for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
  for (Sharer& sharer : sharers_)
    sharer.length = static_cast<std::int32_t>(std::floor(math::log(sharer.left) / kLogStep));
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return sharers_[a].length != sharers_[b].length ? sharers_[a].length > sharers_[b].length
                                                    : a > b;
  });
}

/// Speeds become what they are worth.
void OrreryPolicy::weigh_options() {
  order_sharers();
  const std::span<const double> values = work_values_.find(problem_, order_);
  for (std::size_t job = 0; job < problem_.jobs(); ++job)
    for (std::uint32_t o = problem_.first[job]; o < problem_.first[job + 1]; ++o)
      problem_.options[o].value *= values[job];
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
void OrreryPolicy::add_sizes(const ClusterView& view,
                             const JobView& job,
                             const OrrerySpeeds::OfJob& speed,
                             std::size_t kind) {
  const JobRow& row = job.row;
  const Kind& of = kinds_[kind];
  const std::int32_t each = row.demand.devices;
  const std::int32_t known = speed.replicas_known();
  const double grown = known > 0 ? parameters_.growth * known : parameters_.first_replicas;
  const auto most = std::max(row.min_replicas,
                             std::min({static_cast<std::int32_t>(std::min(grown, 1e9)),
                                       row.max_replicas,
                                       speed.replicas_of_batch(),
                                       static_cast<std::int32_t>(std::min<std::int64_t>(
                                           problem_.capacity[kind] / each, 1'000'000'000))}));
  const bool here = row.holds && kind_held(view, job) == of.model;
  const std::int32_t per_node = std::max(of.node_size / each, 1);
  std::int32_t last = 0;
  const bool any_allowed = view.quota_allows(row.id, devices_at(row, most));
  const auto offer = [&](std::int32_t replicas) {
    if (replicas <= last || replicas < row.min_replicas || replicas > most) return;
    if (!any_allowed && !view.quota_allows(row.id, devices_at(row, replicas))) return;
    last = replicas;
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
  for (std::int32_t devices = each; devices < of.node_size && devices / each <= most; devices *= 2)
    offer_up_to(devices / each);
  for (std::int32_t nodes = 1; nodes <= of.nodes && nodes * of.node_size / each <= most;
       nodes += nodes < kNodesOneByOne ? 1 : nodes / 2)
    if (nodes * of.node_size % each == 0) offer_up_to(nodes * of.node_size / each);
  offer_up_to(most + 1);
}

void OrreryPolicy::add_options(const ClusterView& view, Sharer& sharer) {
  const JobView job = view.job(sharer.id);
  const JobRow& row = job.row;
  OrrerySpeeds::OfJob speed = speeds_.of(view, job);
  const std::size_t begin = problem_.options.size();
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    if (row.demand.devices > kinds_[kind].node_size) continue;
    if (!row.demand.model.is_none() && row.demand.model != kinds_[kind].model) continue;
    if (problem_.capacity[kind] < row.min_replicas * row.demand.devices) continue;
    // What fits by count may not node by node, and would be chosen in each cycle again.
    if (!row.holds && !empty_kinds_.holds(job, row.min_replicas, kinds_[kind].model)) continue;
    add_sizes(view, job, speed, kind);
  }
  sharer.current = -1;
  if (row.holds)
    for (std::size_t i = begin; i < where_.size(); ++i)
      if (where_[i].replicas == row.replicas && where_[i].kind == kind_held(view, job))
        sharer.current = static_cast<std::int32_t>(i - begin);
  value_options(job, speed, sharer);
}

/// Speeds, in those of the minimum on the slowest kind; less where it takes a restart.
void OrreryPolicy::value_options(const JobView& job,
                                 OrrerySpeeds::OfJob& speed,
                                 const Sharer& sharer) {
  const std::size_t begin = problem_.first.back();
  const double restart = parameters_.restart.in_seconds();
  const double time_left = sharer.left / std::max(job.row.devices_held, 1);
  const double within = std::min(parameters_.horizon.in_seconds(),
                                 std::max(restart, parameters_.payback * time_left));
  const double kept = within / (within + restart);
  double base = 0;
  for (std::size_t i = begin; i < where_.size(); ++i) {
    const double goodput = std::max(speed.at(where_[i]), 1e-12);
    problem_.options[i].value = goodput;
    const double least = goodput / where_[i].replicas * job.row.min_replicas;
    if (where_[i].replicas == job.row.min_replicas && (base == 0 || least < base)) base = least;
  }
  if (base == 0 && begin < where_.size()) base = problem_.options[begin].value;
  for (std::size_t i = begin; i < where_.size(); ++i) {
    const bool stays = static_cast<std::int32_t>(i - begin) == sharer.current;
    problem_.options[i].value *= (stays || !job.row.holds ? 1 : kept) / base;
  }
}

OrreryPolicy::Worth OrreryPolicy::worth(const ClusterView& view,
                                        std::span<const std::int32_t> chosen) const {
  Worth out;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] < 0) continue;
    const JobRow& row = view.row(sharers_[i].id);
    out.minima.resize(std::max(out.minima.size(), sharers_[i].level + 1));
    out.minima[sharers_[i].level] += std::int64_t{row.min_replicas} * row.demand.devices;
    out.sum += problem_.options[problem_.first[i] + static_cast<std::size_t>(chosen[i])].value;
  }
  return out;
}

/// By the highest level at which minima differ; where none does, by more than rounding.
bool OrreryPolicy::Worth::is_better_than(const Worth& other) const {
  constexpr double kBetter = 1 + 1e-9;
  for (std::size_t level = std::max(minima.size(), other.minima.size()); level-- > 0;) {
    const std::int64_t mine = level < minima.size() ? minima[level] : 0;
    const std::int64_t others = level < other.minima.size() ? other.minima[level] : 0;
    if (mine != others) return mine > others;
  }
  return sum > other.sum * kBetter;
}

/// A minimum counts more than anything else, that of a job that runs more than that of one that
/// waits, and that of a higher priority more than that of a lower one. The values say so for each
/// device; of whole choices `Worth` does.
void OrreryPolicy::put_minimum_first(const ClusterView& view) {
  double most = 0;
  for (const ShareOption& option : problem_.options) most = std::max(most, option.value);
  std::vector<std::int32_t> priorities;
  for (const Sharer& sharer : sharers_) priorities.push_back(view.row(sharer.id).priority);
  std::sort(priorities.begin(), priorities.end());
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  for (std::size_t i = 0; i < sharers_.size(); ++i) {
    const JobRow& row = view.row(sharers_[i].id);
    const auto above = static_cast<std::size_t>(
        std::lower_bound(priorities.begin(), priorities.end(), row.priority) - priorities.begin());
    sharers_[i].level = 2 * above + (row.holds ? 1 : 0);
    const double first = 2 * most * static_cast<double>(sharers_[i].level + 1) * row.min_replicas *
                         row.demand.devices;
    for (std::uint32_t o = problem_.first[i]; o < problem_.first[i + 1]; ++o)
      problem_.options[o].value += first;
  }
}

}  // namespace orrery::policies
