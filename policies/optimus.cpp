#include "policies/optimus.hpp"

#include <algorithm>
#include <queue>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::policies {

namespace {

/// What the next replica of a job is worth; equal ones in the order of the jobs.
struct Offer {
  Duration gain;
  std::size_t position;  ///< Among the jobs under the pen.

  bool operator<(const Offer& other) const {
    return gain != other.gain ? gain < other.gain : position > other.position;
  }
};

}  // namespace

Optimus::Optimus(const OptimusParameters& parameters, std::unique_ptr<SpeedEstimates> estimates)
    : parameters_(parameters), estimates_(std::move(estimates)) {
  invariant(estimates_ != nullptr, "optimus has estimates to ask");
}

Triggers Optimus::triggers() const {
  return {
      .submission = false, .completion = false, .capacity = false, .period = parameters_.period};
}

Plan Optimus::allocate(const JobView& /*job*/, const ClusterView& view) {
  misfits_.follow(view);
  return {};
}

/// Thousandths of devices that the job takes from others at this size. With the size that it has it
/// keeps its nodes, and of closed ones it takes nothing from anybody.
std::int64_t Optimus::room_at(const JobRow& row, std::int32_t replicas) const {
  const std::int64_t room = row.thousandths_at(replicas);
  if (closed_.none() || !row.holds) return room;
  return room - (replicas == row.replicas ? closed_.held(row.id) : closed_.held_by_rest(row.id));
}

/// The minimum, or what the job has where that takes no more.
std::int32_t Optimus::least_size(const JobRow& row) const {
  const bool within = row.replicas >= row.min_replicas && row.replicas <= row.max_replicas;
  if (closed_.none() || !row.holds || !within) return row.min_replicas;
  return room_at(row, row.replicas) <= room_at(row, row.min_replicas) ? row.replicas
                                                                      : row.min_replicas;
}

/// One replica more, or what the job has where that takes no more.
std::int32_t Optimus::next_size(const JobRow& row, std::int32_t replicas) const {
  const std::int32_t more = replicas + 1;
  if (closed_.none() || !row.holds || more >= row.replicas) return more;
  return room_at(row, row.replicas) <= room_at(row, more) ? row.replicas : more;
}

/// Devices that the job has at `replicas` beyond those that it holds; nothing where it is not
/// sized.
std::int32_t Optimus::beyond(const JobRow& row, std::int32_t replicas) {
  return replicas == 0 ? 0 : std::max(0, devices_at(row, replicas) - row.devices_held);
}

/// Beside what the plan gives others of its quotas.
bool Optimus::quota_allows(const ClusterView& view,
                           const Sized& sized,
                           std::int32_t replicas) const {
  const JobRow& row = view.row(sized.id);
  const std::int32_t others = given_.of_others(row, beyond(row, sized.replicas));
  return view.quota_allows(sized.id, devices_at(row, replicas) + others);
}

void Optimus::note_given(const JobRow& row, std::int32_t before, std::int32_t replicas) {
  given_.add(row, beyond(row, replicas) - beyond(row, before));
}

/// Gives the job its minimum if as much is left, in thousandths; whether it got it.
bool Optimus::size_one(const ClusterView& view,
                       const JobRow& row,
                       std::int64_t& left,
                       std::vector<Sized>& sized) {
  // Of a fixed job the number that its user asked for last.
  const std::int32_t least = least_size(row);
  const std::int64_t room = room_at(row, least);
  if (room > left || !quota_allows(view, {row.id, 0, 0}, least)) return false;
  if (!row.holds) misfits_.note_chosen(view, row.id);
  left -= room;
  note_given(row, 0, least);
  sized.push_back({row.id, least, least});
  return true;
}

/// Every job's minimum while devices are left; of those that get nothing, only those that hold
/// something. The queue may be thousands of jobs long where a few can be served, so it is read in
/// its own order, and of a job that needs more than is left nothing is read but its entry.
std::vector<Optimus::Sized> Optimus::minimum_sizes(const ClusterView& view,
                                                   const std::vector<JobId>& holders,
                                                   std::int64_t& left) {
  std::vector<Sized> sized;
  auto next = holders.begin();
  const auto size_holder = [&] {
    const JobRow& row = view.row(*next++);
    if (!row.is_fixed() && !size_one(view, row, left, sized)) sized.push_back({row.id, 0, 0});
  };
  view.waiting().for_each([&](const WaitEntry& entry) {
    // What is left never grows. The entry's devices are thousandths rounded up.
    if ((std::int64_t{entry.devices} - 1) * 1000 >= left) return true;
    if (!misfits_.may_choose(view, entry.job)) return true;
    const JobRow& row = view.row(entry.job);
    while (next != holders.end() && comes_before(view.row(*next), row)) size_holder();
    size_one(view, row, left, sized);
    return true;
  });
  while (next != holders.end()) size_holder();
  return sized;
}

/// How much earlier the job would complete with the next larger size; zero where it cannot have
/// one.
Duration Optimus::gain(const ClusterView& view, const Sized& sized) {
  const JobView job = view.job(sized.id);
  const std::int32_t more = next_size(job.row, sized.replicas);
  if (sized.replicas == 0 || job.row.is_fixed() || more > job.row.max_replicas) {
    return Duration::zero();
  }
  if (more > cut_.most(sized.id)) return Duration::zero();
  if (!quota_allows(view, sized, more)) return Duration::zero();
  const auto now = estimates_->iteration_time(job.spec, sized.replicas);
  const auto then = estimates_->iteration_time(job.spec, more);
  if (!now || !then || *then >= *now) return Duration::zero();
  return Duration::from_seconds((*now - *then).in_seconds() *
                                estimates_->iterations_left(job.spec, job.row));
}

void Optimus::grow(const ClusterView& view, std::int64_t left, std::vector<Sized>& sized) {
  std::priority_queue<Offer> offers;
  const auto offer = [&](std::size_t position) {
    const Duration worth = gain(view, sized[position]);
    if (worth > Duration::zero()) offers.push({worth, position});
  };
  if (left > 0) {
    for (std::size_t position = 0; position < sized.size(); ++position) offer(position);
  }
  while (left > 0 && !offers.empty()) {
    const std::size_t position = offers.top().position;
    offers.pop();
    Sized& job = sized[position];
    const JobRow& row = view.row(job.id);
    const std::int32_t more = next_size(row, job.replicas);
    const std::int64_t room = room_at(row, more) - room_at(row, job.replicas);
    // What others were given since it was offered counts, too.
    if (room > left || !quota_allows(view, job, more)) continue;
    note_given(row, job.replicas, more);
    job.replicas = more;
    left -= room;
    offer(position);
  }
}

/// Grants the size, or less where the nodes do not hold it; false where not even the minimum fits.
bool Optimus::place_one(const ClusterView& view, const Sized& sized, Plan& plan) {
  const JobView job = view.job(sized.id);
  const std::int32_t least = job.row.is_fixed() ? sized.replicas : job.row.min_replicas;
  std::vector<NodeCount> nodes;
  for (std::int32_t replicas = sized.replicas; replicas >= least; --replicas) {
    const bool has_it = job.row.holds && replicas == job.row.replicas;
    if (has_it && closed_.held(sized.id) > 0 && placer_.keep_held(job)) return true;
    if (!placer_.place(view, job, replicas, nodes)) continue;
    if (!holds_exactly(job, nodes)) grant_on(sized.id, replicas, nodes, plan);
    return true;
  }
  return false;
}

/// Beside those that keep their size.
Plan Optimus::place_beside(const ClusterView& view,
                           std::vector<Sized> sized,
                           std::set<JobId>& unplaced) {
  std::stable_sort(sized.begin(), sized.end(), [](const Sized& a, const Sized& b) {
    return a.replicas < b.replicas;
  });
  std::erase_if(sized, [&](const Sized& s) {
    const JobRow& row = view.row(s.id);
    return row.holds ? row.replicas == s.replicas : s.replicas == 0;
  });
  placer_.begin(view);
  Plan plan;
  for (const Sized& s : sized) {
    if (!view.row(s.id).holds) continue;
    placer_.give_back_elastic(view, view.job(s.id));
    if (s.replicas > 0) continue;
    placer_.give_back_others(view, view.job(s.id));
    plan.preempt(s.id);
  }
  placer_.settle_parts(view);
  for (const Sized& s : sized) {
    if (s.replicas == 0 || place_one(view, s, plan)) continue;
    // A job that says its seats finds its own taken, by itself: it stays as it is.
    if (view.is_seated(s.id) && view.row(s.id).holds) continue;
    unplaced.insert(s.id);
    if (!view.row(s.id).holds) continue;
    placer_.give_back_others(view, view.job(s.id));
    plan.preempt(s.id);
  }
  return plan;
}

Plan Optimus::place(const ClusterView& view, const std::vector<Sized>& sized) {
  std::set<JobId> unplaced;
  Plan plan = place_beside(view, sized, unplaced);
  const bool others_give_way = PriorityPlacement::may_help(view, sized, unplaced) &&
                               by_priority_.place(view, sized, unplaced);
  if (others_give_way) {
    plan = by_priority_.plan(view);
    for (const PriorityPlacement::Placed& job : by_priority_.placed())
      if (job.replicas > 0)
        unplaced.erase(job.id);
      else
        unplaced.insert(job.id);
  }
  for (const Sized& s : sized)
    if (!view.row(s.id).holds && s.replicas > 0)
      misfits_.note_placed(view, s.id, !unplaced.contains(s.id));
  return plan;
}

/// Remembers of which jobs nodes hold less than was chosen; whether that was not known yet.
bool Optimus::note_cut_short(const ClusterView& view,
                             const std::vector<Sized>& sized,
                             const Plan& plan) {
  std::map<JobId, std::int32_t> granted;
  for (const Grant& grant : plan.grants) granted[grant.job] = grant.replicas;
  bool is_new = false;
  for (const Sized& s : sized) {
    const auto grant = granted.find(s.id);
    const std::int32_t gets = grant != granted.end() ? grant->second : view.row(s.id).replicas;
    if (gets == 0 || gets >= s.replicas) continue;
    is_new = cut_.note(s.id, gets) || is_new;
  }
  return is_new;
}

/// Whether the plan only gives jobs other sizes, with which they would not complete earlier in sum.
/// Sizes that were chosen by count and cut to what nodes hold could change in each cycle so.
bool Optimus::is_in_vain(const ClusterView& view, const Plan& plan) {
  double earlier_s = 0;
  for (const Grant& grant : plan.grants) {
    const JobView job = view.job(grant.job);
    const JobRow& row = job.row;
    const bool may_stay = row.holds && grant.replicas > 0 && row.replicas >= row.min_replicas &&
                          row.replicas <= row.max_replicas &&
                          view.quota_allows(grant.job, devices_at(row, row.replicas));
    if (!may_stay) return false;
    const auto now = estimates_->iteration_time(job.spec, row.replicas);
    const auto then = estimates_->iteration_time(job.spec, grant.replicas);
    if (now && then)
      earlier_s += (*now - *then).in_seconds() * estimates_->iterations_left(job.spec, row);
  }
  return earlier_s <= 0;
}

Plan Optimus::optimize(const ClusterView& view) {
  closed_.begin(view);
  misfits_.follow(view);
  misfits_.begin();
  cut_.begin();
  const std::vector<JobId> holders = holders_in_order(view);
  const std::int64_t to_share = thousandths_to_share(view, closed_);
  while (true) {
    std::int64_t left = to_share;
    given_.clear();
    std::vector<Sized> sized = minimum_sizes(view, holders, left);
    grow(view, left, sized);
    Plan plan = place(view, sized);
    const bool is_cut = note_cut_short(view, sized, plan);
    if (misfits_.choose_again() || is_cut) continue;
    if (cut_.empty() || !is_in_vain(view, plan)) return plan;
    return {};
  }
}

// Nothing is kept between plans but estimates, which follow from their inputs.
void Optimus::save(ByteWriter& /*out*/) const {}

void Optimus::load(ByteReader& /*in*/) {}

}  // namespace orrery::policies
