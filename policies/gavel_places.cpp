// Where the jobs of a round have their devices.
#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "policies/gang_shape.hpp"
#include "policies/gang_trial.hpp"
#include "policies/gavel.hpp"
#include "policies/parts_given.hpp"
#include "policies/rigid_size.hpp"

namespace orrery::policies {

/// Grants the job its size on nodes of the type; false where they do not hold it. One of several
/// roles starts on any; of one that runs the elastic role moves, and the others stay on their
/// nodes.
bool Gavel::place_one(const ClusterView& view, JobId id, const Type& type, Plan& plan) {
  const JobView job = view.job(id);
  std::vector<NodeCount> nodes;
  if (job.spec.roles.size() > 1 && !job.row.holds) {
    if (!try_start(view, job, size_of(job), trial_, &nodes)) return false;
  } else {
    Demand demand = job.row.demand;
    demand.model = type.model;
    if (!orrery::place(view, id, demand, size_of(job), trial_, nodes)) return false;
  }
  grant_on(id, size_of(job), nodes, plan);
  return true;
}

/// Grants the job its size on the devices of the host, which has them already, or by this plan.
bool Gavel::place_beside(const ClusterView& view, JobId id, JobId host, Plan& plan) {
  const auto granted = std::find_if(plan.grants.begin(),
                                    plan.grants.end(),
                                    [&](const Grant& grant) { return grant.job == host; });
  std::vector<NodeCount> nodes;
  if (granted == plan.grants.end()) {
    const JobView job = view.job(host);
    nodes.assign(job.nodes.begin(), job.nodes.end());
  } else {
    const auto first = plan.nodes.begin() + granted->first_node;
    nodes.assign(first, first + granted->node_count);
  }
  Demand demand = view.row(id).demand;
  demand.devices = 0;  // The host's.
  if (!take_there(demand, nodes, trial_)) return false;
  plan.grant_beside(id, size_of(view.job(id)), host);
  return true;
}

/// By count a type may hold a job that its nodes, cores or memory do not.
bool Gavel::place_somewhere(const ClusterView& view, RoundChoice& choice, Plan& plan) {
  if (place_one(view, choice.job, types_[choice.type], plan)) return true;
  for (std::size_t type = 0; type < types_.size(); ++type) {
    if (type == choice.type || speed_of(view, choice, type) <= 0) continue;
    if (!place_one(view, choice.job, types_[type], plan)) continue;
    choice.type = type;
    return true;
  }
  return false;
}

bool Gavel::is_staying(JobId id) const {
  return std::binary_search(staying_.begin(), staying_.end(), id);
}

void Gavel::let_stay(JobId id) {
  staying_.insert(std::upper_bound(staying_.begin(), staying_.end(), id), id);
}

/// Whether the job, or one of the two, has its devices already, and no one stays there that it was
/// not chosen with. The one that stays comes first in `choice` then.
bool Gavel::settle_in_place(const ClusterView& view, RoundChoice& choice) {
  const auto stays = [&](JobId id) {
    if (!is_on(view, id, choice.type)) return false;
    const JobId partner = view.partner(id);
    return partner.is_none() || partner == choice.other || partner == choice.job ||
           !is_staying(partner);
  };
  if (stays(choice.job)) {
    let_stay(choice.job);
    if (!choice.other.is_none() && view.partner(choice.job) == choice.other) let_stay(choice.other);
    return true;
  }
  if (choice.other.is_none() || !stays(choice.other)) return false;
  let_stay(choice.other);
  std::swap(choice.job, choice.other);
  return true;
}

bool Gavel::is_to_run(JobId id) const {
  return std::binary_search(to_run_.begin(), to_run_.end(), id);
}

/// Jobs that do not stay give back what they hold; what two of them hold together once. Of a job of
/// several roles that moves only the elastic one does.
void Gavel::free_what_goes(const ClusterView& view) {
  const auto goes = [&](const JobView& job) {
    return !is_staying(job.row.id) && is_shared(job.row) && has_devices(job.row) &&
           !is_kept(job.row.id);
  };
  std::vector<JobId> given;
  for (const JobId id : view.holding()) {
    const JobView job = view.job(id);
    if (!goes(job)) continue;
    given.push_back(id);
    if (job.spec.roles.size() > 1 && is_to_run(id)) {
      give_back_elastic(view, job, trial_);
      continue;
    }
    orrery::give_back(view, job, trial_);
    const JobId partner = view.partner(id);
    if (!partner.is_none() && id < partner && goes(view.job(partner)))
      give_back_shared(view, job, trial_);
  }
  settle_parts(view, given, trial_);
}

/// Jobs that hold devices and are not chosen go.
void Gavel::preempt_others(const ClusterView& view, Plan& plan) const {
  for (const JobId id : view.holding()) {
    const JobRow& row = view.row(id);
    if (!is_to_run(id) && is_shared(row) && has_devices(row) && !is_kept(id)) plan.preempt(id);
  }
}

/// Takes down who is to run, all that have a part in some choice.
void Gavel::note_who_is_to_run(const std::vector<RoundChoice>& chosen) {
  to_run_.clear();
  for (const RoundChoice& each : chosen) {
    to_run_.push_back(each.job);
    if (!each.other.is_none()) to_run_.push_back(each.other);
  }
  std::sort(to_run_.begin(), to_run_.end());
}

/// What was chosen and found no place gives up all that it holds.
void Gavel::give_up(const ClusterView& view, const RoundChoice& choice, Plan& plan) {
  for (const JobId id : {choice.job, choice.other}) {
    if (id.is_none() || !view.row(id).holds) continue;
    plan.preempt(id);
    const JobView job = view.job(id);
    if (job.spec.roles.size() > 1) give_back_others(view, job, trial_);
  }
}

/// The second one of each pair beside the first, where cores and memory suffice.
void Gavel::place_pairs(const ClusterView& view, Placement& out) {
  for (RoundChoice& each : out.placed) {
    if (each.other.is_none() || is_staying(each.other)) continue;
    if (place_beside(view, each.other, each.job, out.plan)) continue;
    if (view.row(each.other).holds) out.plan.preempt(each.other);
    each.other = JobId::none();  // The first one has the devices to itself.
  }
}

/// Whether all of the choice may have other devices than it has.
bool Gavel::may_be_lifted(const ClusterView& view, const RoundChoice& choice) const {
  const auto may = [&](JobId id) {
    if (id.is_none() || !view.row(id).holds) return true;
    // A plan names nodes and no devices: a part of one could not move on its node.
    return is_shared(view.row(id)) && !is_kept(id) && closed_.held(id) == 0 &&
           !is_share(view.row(id).demand) && view.job(id).spec.roles.size() == 1;
  };
  return may(choice.job) && may(choice.other);
}

/// As `settle_in_place`, where everything was given back: takes what the job has on the type, and
/// its partner there, unless some of it is taken.
bool Gavel::take_own(const ClusterView& view, RoundChoice& choice) {
  RoundChoice own = choice;
  if (!settle_in_place(view, own)) return false;
  const std::size_t mark = trial_.mark();
  bool is_free = keep_held(view.job(own.job), trial_);
  if (is_free && !own.other.is_none() && is_staying(own.other)) {
    Demand demand = view.row(own.other).demand;
    demand.devices = 0;  // Those of the first one.
    is_free = take_there(demand, view.job(own.other).nodes, trial_);
  }
  if (is_free) {
    choice = own;
    return true;
  }
  trial_.undo(mark);
  for (const JobId id : {own.job, own.other}) std::erase(staying_, id);
  return false;
}

/// A pair has the lower priority of the two.
std::int32_t Gavel::priority_of(const ClusterView& view, const RoundChoice& choice) {
  const std::int32_t own = view.row(choice.job).priority;
  return choice.other.is_none() ? own : std::min(own, view.row(choice.other).priority);
}

void Gavel::put_in_order(const ClusterView& view, Start start, std::vector<RoundChoice>& moving) {
  std::stable_sort(moving.begin(), moving.end(), [&](const RoundChoice& a, const RoundChoice& b) {
    const bool anew = start == Start::Anew;
    const std::int32_t first = anew ? priority_of(view, a) : 0;
    const std::int32_t second = anew ? priority_of(view, b) : 0;
    if (first != second) return first > second;
    if (a.devices != b.devices) return a.devices > b.devices;
    return anew && is_on(view, a.job, a.type) && !is_on(view, b.job, b.type);
  });
}

void Gavel::count_served(const ClusterView& view, JobId id, Served& served) {
  served[view.row(id).priority] += view.row(id).thousandths_at(size_of(view.job(id)));
}

Gavel::Placement Gavel::try_places(const ClusterView& view,
                                   std::vector<RoundChoice> chosen,
                                   IfNoPlace if_no_place,
                                   Start start) {
  Placement out;
  trial_.sync(view.capacity());
  staying_.clear();
  for (const JobId id : view.holding()) {
    if (!is_shared(view.row(id)) || is_kept(id)) staying_.push_back(id);
  }
  std::vector<RoundChoice> moving;
  for (RoundChoice& each : chosen) {
    const bool is_lifted = start == Start::Anew && may_be_lifted(view, each);
    const bool stays = !is_lifted && settle_in_place(view, each);
    (stays ? out.placed : moving).push_back(each);
  }
  note_who_is_to_run(chosen);
  free_what_goes(view);
  preempt_others(view, out.plan);
  put_in_order(view, start, moving);
  for (RoundChoice& each : moving) {
    const bool is_placed = (start == Start::Anew && take_own(view, each)) ||
                           (if_no_place == IfNoPlace::AnotherType
                                ? place_somewhere(view, each, out.plan)
                                : place_one(view, each.job, types_[each.type], out.plan));
    (is_placed ? out.placed : out.misfits).push_back(each);
    if (!is_placed) give_up(view, each, out.plan);
  }
  place_pairs(view, out);
  out.chosen = std::move(chosen);
  for (const RoundChoice& each : out.placed)
    for (const JobId id : {each.job, each.other})
      if (!id.is_none()) count_served(view, id, out.served);
  return out;
}

/// Jobs that keep their type keep their devices. Where one of the others finds no place beside
/// them, all are placed anew; whichever way serves more devices of the highest priority counts,
/// then of the next. Not under FIFO, where a younger job would take the place of an older one.
Gavel::Placement Gavel::place(const ClusterView& view,
                              const std::vector<RoundChoice>& chosen,
                              IfNoPlace if_no_place) {
  Placement beside = try_places(view, chosen, if_no_place, Start::Beside);
  if (beside.misfits.empty() || options_.rule == SharingRule::Fifo) return beside;
  Placement anew = try_places(view, chosen, if_no_place, Start::Anew);
  if (beside.served < anew.served) return anew;
  if (if_no_place == IfNoPlace::ChooseAgain) return beside;
  // Once more, since `trial_` shall be of what counts.
  return try_places(view, chosen, if_no_place, Start::Beside);
}

/// Of the first so many misfits, and of jobs like them that found no place either, none is chosen
/// on that type in this round, so that others can have what they were to have.
void Gavel::leave_out(const ClusterView& view,
                      const Placement& tried,
                      std::size_t misfits,
                      std::vector<RoundJob>& jobs) const {
  const auto shape = [&](JobId id) {
    const JobView job = view.job(id);
    return shape_of(view, job, size_of(job));
  };
  std::set<std::pair<RoundKey, std::size_t>> own;
  std::set<std::pair<GangShape, std::size_t>> alike;
  for (const RoundChoice& each : std::span(tried.misfits).first(misfits)) {
    own.insert({each.key(), each.type});
    alike.insert({shape(each.job), each.type});
  }
  std::set<std::pair<JobId, std::size_t>> have_place;
  for (const RoundChoice& each : tried.placed) {
    have_place.insert({each.job, each.type});
    have_place.insert({each.other, each.type});
  }
  const auto has_place = [&](JobId id, std::size_t type) {
    return !id.is_none() && (is_on(view, id, type) || have_place.contains({id, type}));
  };
  for (RoundJob& each : jobs) {
    const GangShape its = shape(each.id);
    for (std::size_t type = 0; type < types_.size(); ++type) {
      const bool is_alike =
          alike.contains({its, type}) && !has_place(each.id, type) && !has_place(each.other, type);
      if (is_alike || own.contains({each.key(), type})) each.speed[type] = 0;
    }
  }
}

/// Whether the job, which was left out, has a place beside those that were placed since.
bool Gavel::place_after_all(const ClusterView& view, RoundChoice& choice, Placement& out) {
  Plan plan = out.plan;
  std::erase_if(plan.grants, [&](const Grant& each) { return each.job == choice.job; });
  if (!take_own(view, choice) && !place_one(view, choice.job, types_[choice.type], plan))
    return false;
  out.plan = std::move(plan);
  out.placed.push_back(choice);
  count_served(view, choice.job, out.served);
  return true;
}

/// What was in the way of a job that was left out may have been left out later: of those by
/// themselves that `left` has lost of `jobs` all have another try, in the order of the round.
void Gavel::fill_up(const ClusterView& view,
                    const std::vector<std::size_t>& order,
                    const std::vector<RoundJob>& jobs,
                    std::vector<RoundJob> left,
                    Placement& out) {
  std::vector<double> devices = devices_;
  for (const RoundChoice& each : out.placed) devices[each.type] -= each.devices;
  note_who_is_to_run(out.chosen);
  for (std::size_t i = 0; i < left.size(); ++i) {
    RoundJob& each = left[i];
    const JobView job = view.job(each.id);
    const bool goes_in_part = job.row.holds && job.spec.roles.size() > 1;
    each.may_run = each.may_run && !each.key().is_pair() && !is_to_run(each.id) && !goes_in_part;
    for (std::size_t type = 0; type < types_.size(); ++type)
      each.speed[type] = each.speed[type] > 0 ? 0 : jobs[i].speed[type];
  }
  for (;;) {
    std::vector<RoundChoice> chosen = accounts_.choose(left, devices, order);
    if (chosen.empty()) return;
    Placement more;
    for (RoundChoice& each : chosen) {
      const bool is_placed = place_after_all(view, each, out);
      (is_placed ? more.placed : more.misfits).push_back(each);
      if (!is_placed) continue;
      devices[each.type] -= each.devices;
      left[place_of(each.job)].may_run = false;
    }
    leave_out(view, more, more.misfits.size(), left);
  }
}

/// Where nodes do not hold what was chosen by count, it is chosen again without the first job that
/// found no place. The next ones may have found none only for what was placed before them, which
/// may go now, so that each has a turn of its own; where they are many, they go together. Appends
/// to `unmoved` those that run and found no place where they were to go.
Gavel::Placement Gavel::choose_until_all_fit(const ClusterView& view,
                                             const std::vector<std::size_t>& order,
                                             const std::vector<RoundJob>& jobs,
                                             std::vector<JobId>& unmoved) {
  constexpr int kOneByOne = 16;
  Placement out = place(view, accounts_.choose(jobs, devices_, order), IfNoPlace::ChooseAgain);
  if (out.misfits.empty()) return out;
  std::vector<RoundJob> left = jobs;
  for (int choices = 1; !out.misfits.empty(); ++choices) {
    for (const RoundChoice& each : out.misfits)
      if (!each.key().is_pair() && view.row(each.job).holds) unmoved.push_back(each.job);
    leave_out(view, out, choices <= kOneByOne ? 1 : out.misfits.size(), left);
    out = place(view, accounts_.choose(left, devices_, order), IfNoPlace::ChooseAgain);
  }
  fill_up(view, order, jobs, std::move(left), out);
  return out;
}

/// A job that runs and finds no place where it is to go makes room for who is to have its devices,
/// and what it was to have stays idle. It stays where it is, before others of its priority, if more
/// is served so.
Gavel::Placement Gavel::choose_and_place(const ClusterView& view) {
  const std::vector<std::size_t> order = type_order();
  if (options_.rule == SharingRule::Fifo)
    return place(view, accounts_.choose(jobs_, devices_, order), IfNoPlace::AnotherType);
  std::vector<JobId> unmoved;
  Placement out = choose_until_all_fit(view, order, jobs_, unmoved);
  note_who_is_to_run(out.placed);
  std::erase_if(unmoved, [&](JobId id) { return is_to_run(id); });
  if (unmoved.empty()) return out;
  std::vector<RoundJob> jobs = jobs_;
  for (const JobId id : unmoved) {
    RoundJob& job = jobs[place_of(id)];
    job.goes_first = true;
    for (std::size_t type = 0; type < types_.size(); ++type)
      if (!is_on(view, id, type)) job.speed[type] = 0;
  }
  std::vector<JobId> still_unmoved;
  Placement other = choose_until_all_fit(view, order, jobs, still_unmoved);
  if (out.served < other.served) return other;
  return choose_until_all_fit(view, order, jobs_, unmoved);  // As before: `trial_` shall be of it.
}

/// The plan; its round begins.
Plan Gavel::begin_leases(const ClusterView& view, Placement placement) {
  for (RoundChoice& each : placement.placed) {
    if (each.other < each.job) std::swap(each.job, each.other);
    leases_.push_back({each.key(), each.type, lease_s(view, each), view.now()});
  }
  return std::move(placement.plan);
}

}  // namespace orrery::policies
