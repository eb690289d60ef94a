#include "policies/gavel.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "core/models/batch_adaptation.hpp"
#include "policies/changes.hpp"
#include "policies/device_parts.hpp"
#include "policies/gang_trial.hpp"
#include "policies/quotas.hpp"
#include "policies/rigid_size.hpp"
#include "policies/water_filling.hpp"

namespace orrery::policies {
namespace {

DeviceModelId model_of(const ClusterView& view, NodeId node) {
  return view.capacity().at(node).model;
}

bool tells_types_apart(SharingRule rule) {
  return rule != SharingRule::MaxMinTypeBlind && rule != SharingRule::Isolated;
}

bool puts_together(SharingRule rule) {
  return rule == SharingRule::MaxMinPacked || rule == SharingRule::Gandiva;
}

}  // namespace

Gavel::Gavel(Options options)
    : options_(std::move(options)),
      accounts_(options_.rounds),
      random_(Random::stream(options_.seed, "gavel")),
      known_at_(known_.end()) {
  if (options_.speeds == nullptr) return;
  for (const auto& [name, entries] : options_.speeds->sizes()) table_models_.push_back(name);
}

Triggers Gavel::triggers() const {
  const std::int64_t round = options_.rounds.round.ns;
  return {.submission = true, .period = Duration{std::gcd(round, options_.choose_ahead.ns)}};
}

Plan Gavel::allocate(const JobView& /*job*/, const ClusterView& view) {
  follow(view);  // The next view tells nothing of these jobs.
  return {};
}

// --- rounds ---

bool Gavel::epoch_has_ended(const ClusterView& view) const {
  return view.now() > round_start_ &&
         std::any_of(view.holding().begin(), view.holding().end(), [&](JobId id) {
           const ProgressView& progress = view.row(id).progress;
           return progress.epoch > 0 && progress.as_of == view.now();
         });
}

bool Gavel::is_idle(const ClusterView& view) const {
  return std::none_of(leases_.begin(), leases_.end(), [&](const Lease& each) {
    const auto runs = [&](JobId id) { return view.is_live(id) && view.row(id).holds; };
    return runs(each.key.job) || (each.key.is_pair() && runs(each.key.other));
  });
}

bool Gavel::round_is_over(const ClusterView& view) const {
  if (is_idle(view) || epoch_has_ended(view)) return true;
  const std::int64_t round = options_.rounds.round.ns;
  if (epochs_end_rounds_) return (view.now() - round_start_).ns >= round;
  return view.now().ns / round > round_start_.ns / round;
}

void Gavel::count_time(Instant now) {
  for (Lease& each : leases_) {
    const double ran_s = std::min((now - each.since).in_seconds(), each.seconds);
    accounts_.add_time(each.key, each.type, ran_s - each.counted_s);
    each.counted_s = ran_s;
  }
}

void Gavel::close_round(const ClusterView& view) {
  epochs_end_rounds_ = epochs_end_rounds_ || epoch_has_ended(view);
  count_time(view.now());
  leases_.clear();
}

// --- what is there ---

std::vector<Gavel::Type> Gavel::types_of(const ClusterView& view) const {
  std::vector<Type> types;
  const auto type_of = [&](DeviceModelId model) -> Type& {
    const auto found = std::find_if(
        types.begin(), types.end(), [&](const Type& type) { return type.model == model; });
    return found != types.end() ? *found : types.emplace_back(Type{model, {}, 0});
  };
  const FreeIndex& capacity = view.capacity();
  for (std::uint32_t n = 0; n < capacity.size(); ++n) {
    const NodeFree& node = capacity.at(NodeId{n});
    if (node.model.is_none() || !node.usable) continue;
    type_of(node.model).thousandths += node.thousandths();
  }
  for (const JobId id : view.holding()) {
    const JobView job = view.job(id);
    if (!is_shared(job.row) || is_kept(id) || !counts_devices(view, job)) continue;
    const auto add = [&](NodeId at, std::int64_t thousandths) {
      const NodeFree& node = capacity.at(at);
      if (node.usable && !node.model.is_none()) type_of(node.model).thousandths += thousandths;
    };
    if (job.spec.roles.size() > 1) {
      for (const DevicePart& part : device_parts(view, job)) add(part.node, part.thousandths);
    } else if (const std::int64_t each = job.row.demand.thousandths(); each > 0) {
      for (const NodeCount& at : job.nodes) add(at.node, each * at.replicas);
    }
  }
  std::sort(
      types.begin(), types.end(), [](const Type& a, const Type& b) { return a.model < b.model; });
  for (const std::string& name : table_models_) {
    const DeviceModelId named = view.model_named(name);
    for (Type& type : types)
      if (named == type.model) type.name = name;
  }
  return types;
}

/// What two jobs hold together is counted with the older one, where both may be taken from.
bool Gavel::counts_devices(const ClusterView& view, const JobView& job) const {
  const JobId partner = view.partner(job.row.id);
  if (partner.is_none()) return true;
  const JobView other = view.job(partner);
  return job.row.id < partner && is_shared(other.row) && !is_kept(partner);
}

/// Jobs that hold devices and that rounds leave alone: those are of several types, or its seats say
/// which they are, or they are on closed nodes, where nobody else can have them.
void Gavel::find_kept(const ClusterView& view) {
  closed_.begin(view);
  kept_.clear();
  for (const JobId id : view.holding())
    if (view.is_seated(id) || closed_.hold_all_of(view.row(id)) ||
        holds_several_models(view, view.job(id)))
      kept_.push_back(id);
}

bool Gavel::is_kept(JobId id) const { return std::binary_search(kept_.begin(), kept_.end(), id); }

void Gavel::find_types(const ClusterView& view) {
  std::vector<Type> types = types_of(view);
  const auto is_same = [](const Type& a, const Type& b) {
    return a.model == b.model && a.name == b.name;
  };
  if (!std::equal(types.begin(), types.end(), types_.begin(), types_.end(), is_same))
    forget_speeds();
  types_ = std::move(types);
  devices_.clear();
  for (const Type& type : types_) devices_.push_back(static_cast<double>(type.thousandths) / 1000);
}

/// Whether a job that waits takes part in no round: it has seats, or needs more than any type has.
bool Gavel::stands_outside(const ClusterView& view, const JobView& job) {
  return view.is_seated(job.row.id) || !empty_kinds_.one_holds(job, size_of(job));
}

bool Gavel::takes_part(const ClusterView& view, const JobView& job) {
  if (!has_devices(job.row) || (job.row.holds && job.row.is_fixed())) return false;
  return job.row.holds ? !is_kept(job.row.id) : !stands_outside(view, job);
}

void Gavel::find_jobs(const ClusterView& view) {
  if (has_read_)
    read_changed_jobs(view);
  else
    read_all_jobs(view);
  stale_.clear();
  has_read_ = may_keep_jobs(view);
  if (puts_together(options_.rule)) find_pairs(view);
}

void Gavel::read_all_jobs(const ClusterView& view) {
  ids_.assign(view.holding().begin(), view.holding().end());
  view.waiting().for_each([&](const WaitEntry& entry) {
    ids_.push_back(entry.job);
    return true;
  });
  std::sort(ids_.begin(), ids_.end());
  outside_.clear();
  any_quota_ = false;
  fill_in_all(view);
  forget_who_is_gone(view);
}

/// `jobs_` of those of `ids_` that take part; the others go, and where they wait are `outside_`.
void Gavel::fill_in_all(const ClusterView& view) {
  jobs_.resize(ids_.size());
  std::size_t count = 0;
  for (const JobId id : ids_) {
    const JobView job = view.job(id);
    if (takes_part(view, job)) {
      fill_in(view, job, jobs_[count]);
      ids_[count++] = id;
    } else if (waits(job.row)) {
      outside_.push_back(id);
    }
  }
  ids_.resize(count);
  jobs_.resize(count);
}

void Gavel::fill_in(const ClusterView& view, const JobView& job, RoundJob& out) {
  const JobId id = job.row.id;
  out.id = id;
  out.other = JobId::none();
  out.devices = static_cast<double>(job.row.thousandths_at(size_of(job)) - closed_.held(id)) / 1000;
  out.priority = job.row.priority;
  // One that is on its way has its share all the same: nothing would tell that it may run again.
  out.may_run = is_shared(job.row);
  any_quota_ = any_quota_ || has_quota(job.row);
  const std::int32_t devices = devices_at(job.row, size_of(job));
  if (job.row.holds || view.quota_allows(id, devices))
    out.speed = speeds_where_held(view, job);
  else
    out.speed.assign(types_.size(), 0);
}

/// In `ids_`.
std::size_t Gavel::place_of(JobId id) const {
  return static_cast<std::size_t>(std::lower_bound(ids_.begin(), ids_.end(), id) - ids_.begin());
}

/// Null for a job by itself, and where there is no such pair.
const Gavel::Pair* Gavel::pair_of(const RoundKey& key) const {
  if (!key.is_pair()) return nullptr;
  const std::pair<std::size_t, std::size_t> wanted(place_of(key.job), place_of(key.other));
  const auto found = std::lower_bound(
      pairs_.begin(), pairs_.end(), wanted, [](const Pair& pair, const auto& other) {
        return std::pair(pair.first, pair.second) < other;
      });
  const bool is_it = found != pairs_.end() && std::pair(found->first, found->second) == wanted;
  return is_it ? &*found : nullptr;
}

/// Of the job, beside the other where there is one.
double Gavel::speed_of(const ClusterView& view, const RoundChoice& choice, std::size_t type) {
  const Pair* const pair = pair_of(choice.key());
  return pair == nullptr ? speed_on(view.job(choice.job), type) : pair->speeds.first[type];
}

bool Gavel::is_on(const ClusterView& view, JobId id, std::size_t type) const {
  const JobView job = view.job(id);
  return job.row.holds && std::all_of(job.nodes.begin(), job.nodes.end(), [&](const NodeCount& n) {
           return model_of(view, n.node) == types_[type].model;
         });
}

// --- shares ---

Shares Gavel::max_min(const Sharing& sharing) const {
  return options_.water_filling ? water_filled_shares(sharing) : max_min_shares(sharing, spare());
}

/// What a job's finished part would have taken in its isolated share; its speed there is told when
/// shares are computed.
double Gavel::isolated_s(const JobView& job, double left) {
  Isolated& alone = isolated_[job.row.id];
  left /= known(job).steps_of_epoch;
  if (alone.speed > 0) alone.seconds += std::max(alone.left - left, 0.0) / alone.speed;
  alone.left = left;
  return alone.seconds;
}

Shares Gavel::compute_shares(const ClusterView& view) {
  const bool wants_times = options_.rule != SharingRule::Fifo;
  const bool wants_ratios = options_.rule == SharingRule::FinishTimeFair;
  Sharing sharing;
  sharing.devices = devices_;
  sharing.jobs.reserve(ids_.size());
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const RoundJob& each = jobs_[i];
    SharingJob& shared = sharing.jobs.emplace_back();
    shared.devices = each.devices;
    shared.priority = each.priority;
    shared.speed = each.speed;
    if (!wants_times) continue;
    const JobView job = view.job(each.id);
    shared.left = steps_left(job, view.now());
    shared.age_s = (view.now() - job.row.submitted).in_seconds();
    if (wants_ratios) shared.isolated_s = isolated_s(job, shared.left);
  }
  for (const Pair& pair : pairs_)
    sharing.pairs.push_back({pair.first, pair.second, pair.speeds.first, pair.speeds.second});
  if (wants_ratios) {
    const Shares isolated = isolated_shares(sharing);
    for (std::size_t i = 0; i < ids_.size(); ++i)
      isolated_[jobs_[i].id].speed =
          sharing.jobs[i].speed_under(isolated[i]) / known(view.job(jobs_[i].id)).steps_of_epoch;
  }
  switch (options_.rule) {
    case SharingRule::Fifo:
      return fifo_shares(sharing);
    case SharingRule::MaxMin:
      return max_min(sharing);
    case SharingRule::MaxMinTypeBlind:
      return max_min(without_types(std::move(sharing)));
    case SharingRule::MaxMinPacked:
      return packed_shares(sharing);
    case SharingRule::Gandiva:
      return paired_shares(sharing);
    case SharingRule::MaxSum:
      return max_sum_shares(sharing, spare());
    case SharingRule::Makespan:
      return makespan_shares(sharing, spare());
    case SharingRule::FinishTimeFair:
      return finish_time_fair_shares(sharing, spare());
    case SharingRule::Isolated:
      return isolated_shares(sharing);
    case SharingRule::AlloX: {
      Shares before;
      for (const JobId id : ids_) before.push_back(accounts_.shares(id));
      return allox_shares(sharing, before, options_.allox);
    }
  }
  return isolated_shares(sharing);
}

std::vector<std::size_t> Gavel::type_order() {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < types_.size(); ++i) order.push_back(i);
  if (!tells_types_apart(options_.rule))
    for (std::size_t i = types_.size(); i > 1; --i)
      std::swap(order[i - 1], order[random_.below(i)]);
  return order;
}

/// What needs no device waits for no round, and what no type holds has none to wait for.
void Gavel::start_outside_rounds(const ClusterView& view, Plan& plan) {
  std::sort(outside_.begin(), outside_.end(), [&](JobId a, JobId b) {
    return comes_before(view.row(a), view.row(b));
  });
  std::vector<NodeCount> nodes;
  for (const JobId id : outside_) {
    const JobView job = view.job(id);
    const std::int32_t devices = devices_at(job.row, size_of(job));
    if (!view.quota_allows(id, devices)) continue;
    nodes.clear();
    if (try_start(view, job, size_of(job), trial_, &nodes)) grant_on(id, size_of(job), nodes, plan);
  }
}

/// One of several roles that got nothing on any type starts across types on what is left, if it
/// can: it would wait for devices of one while it could have those of several. Under FIFO only
/// those at the head of the queue do.
void Gavel::start_across_types(const ClusterView& view, Plan& plan) {
  if (types_.size() < 2) return;
  const bool is_fifo = options_.rule == SharingRule::Fifo;
  const std::vector<JobId> granted = granted_jobs(plan);
  std::vector<NodeCount> nodes;
  view.waiting().for_each([&](const WaitEntry& entry) {
    if (std::binary_search(granted.begin(), granted.end(), entry.job)) return true;
    if (entry.devices > trial_.index().device_room()) return !is_fifo;
    const JobView job = view.job(entry.job);
    if (job.spec.roles.size() == 1 || !takes_part(view, job)) return !is_fifo;
    const std::int32_t devices = devices_at(job.row, size_of(job));
    nodes.clear();
    if (!view.quota_allows(entry.job, devices) ||
        !try_start(view, job, size_of(job), trial_, &nodes))
      return !is_fifo;
    grant_on(entry.job, size_of(job), nodes, plan);
    return true;
  });
}

void Gavel::find_devices(const ClusterView& view) {
  empty_kinds_.begin(view);
  find_kept(view);
  find_types(view);
}

void Gavel::forget_who_is_gone(const ClusterView& view) {
  std::erase_if(isolated_, [&](const auto& each) { return !view.is_live(each.first); });
  std::erase_if(known_, [&](const auto& each) { return !view.is_live(each.first); });
  known_at_ = known_.end();
  std::erase_if(known_pairs_, [&](const auto& each) {
    return !view.is_live(each.first.first) || !view.is_live(each.first.second);
  });
}

/// Tells the accounts of the jobs of now, and computes shares where that is due.
void Gavel::update_accounts(const ClusterView& view, bool idle) {
  if (accounts_.update(view.now(), jobs_, devices_) || (idle && accounts_.changed())) {
    if (options_.rule == SharingRule::Gandiva) {
      draw_pairs(view);
      find_pairs(view);
      accounts_.update(view.now(), jobs_, devices_);
    }
    accounts_.set_shares(view.now(), jobs_, compute_shares(view));
    if (has_bad_pair(view)) accounts_.want_shares();
  }
}

Plan Gavel::optimize(const ClusterView& view) {
  Plan plan;
  follow(view);
  now_ = view.now();
  if (!round_is_over(view)) {
    if (may_choose_ahead(view.now())) choose_ahead(view);
    if (is_chosen_) start_early(view, plan);
    return plan;
  }
  const bool idle = is_idle(view);
  close_round(view);
  round_start_ = view.now();
  find_devices(view);
  const bool is_fifo = options_.rule == SharingRule::Fifo;
  const bool same_nodes = is_fifo && empty_kinds_.are_as_before();
  if (only_sharers_ && same_nodes && !idle && !accounts_.reset_is_due(view.now()) &&
      accounts_.devices() == devices_)
    return repeat_round(view);
  has_read_ = has_read_ && same_nodes;
  find_jobs(view);
  const std::vector<RoundChoice> chosen = chosen_ahead(view);
  if (chosen.empty()) {
    update_accounts(view, idle);
    plan = begin_leases(view, choose_and_place(view));
  } else {
    plan = begin_leases(view, place(view, chosen, IfNoPlace::AnotherType));
  }
  start_outside_rounds(view, plan);
  start_across_types(view, plan);
  if (is_fifo) find_sharers();
  return plan;
}

}  // namespace orrery::policies
