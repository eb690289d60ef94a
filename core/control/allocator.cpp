#include "core/control/allocator.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/job/phase.hpp"
#include "core/job/turns.hpp"
#include "core/membership/advancing.hpp"
#include "core/membership/beside.hpp"
#include "core/membership/forming.hpp"
#include "core/membership/places.hpp"
#include "core/membership/placing.hpp"
#include "core/membership/releasing.hpp"
#include "core/membership/seating.hpp"
#include "core/recovery/incident.hpp"
#include "core/state/phases.hpp"

namespace orrery {
namespace {

// Each trial of a plan costs what the plan does, and a step must not take long: so often it is
// tried grant by grant (rules 3), then what does not fit goes at once.
constexpr int kTrialsMax = 64;

/// A grant that passed the checks.
struct Accepted {
  JobId job;
  std::int32_t replicas = 0;
  std::span<const NodeCount> nodes;
  MembershipChange change;       ///< For a job that holds something.
  JobId beside = JobId::none();  ///< The job on whose devices it goes.
  bool leaves_partner = false;   ///< It shares devices, and shall have others.
};

void drop(Step& step, const JobState& job, Ignored why) {
  Notice notice = step.notice(NoticeKind::GrantDropped, job);
  notice.ignored = why;
  step.out.notices.push_back(notice);
}

bool same_nodes(const JobState& job, std::span<const NodeCount> nodes) {
  return merged(nodes) == job.elastic_nodes;
}

bool has_placements(const JobState& job) {
  return !job.spec->roles[job.row.elastic.index()].placements.empty();
}

std::int64_t devices_at(const State& state, const JobState& job, std::int32_t replicas) {
  // Devices that roles take turns on count once, so those of another size are no multiple.
  if (state.settings.rules >= 4 && is_seated(*job.spec)) return devices_at_size(job, replicas);
  return std::int64_t{replicas} * job.row.demand.devices + job.row.rest_devices;
}

// Devices that the grants accepted so far add under each quota: one plan may name many jobs of it.
using Promised = std::vector<std::int64_t>;

bool quota_allows(const State& state, const JobState& job, std::int64_t devices, Promised& more) {
  const std::int64_t added = std::max<std::int64_t>(0, devices - job.row.devices_held);
  for (const std::uint32_t quota : {job.row.quota_group, job.row.quota_namespace})
    if (quota != UINT32_MAX && added > 0 &&
        state.quotas[quota].held + more[quota] + added > state.quotas[quota].quota.devices)
      return false;
  for (const std::uint32_t quota : {job.row.quota_group, job.row.quota_namespace})
    if (quota != UINT32_MAX) more[quota] += added;
  return true;
}

// Whether the node list, if there is one, is of replicas that the grant names.
bool is_well_formed(const Grant& grant, const std::vector<NodeCount>& nodes) {
  if (grant.replicas < 0 || grant.first_node > nodes.size() ||
      grant.node_count > nodes.size() - grant.first_node)
    return false;
  if (!grant.beside.is_none() && (grant.node_count > 0 || grant.replicas == 0)) return false;
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < grant.node_count; ++i) {
    if (nodes[grant.first_node + i].replicas < 1) return false;
    sum += nodes[grant.first_node + i].replicas;
  }
  return grant.node_count == 0 || sum == grant.replicas;
}

// Why a job in this phase can be given no such number; empty where it can.
std::optional<Ignored> refuse_by_phase(const JobState& job, std::int32_t replicas) {
  const JobRow& row = job.row;
  if (is_final(row.phase)) return Ignored::JobFinished;
  if (!row.holds) {
    if (row.infeasible) return Ignored::NotInThisPhase;
    return replicas == 0 ? std::optional(Ignored::AlreadyKnown) : std::nullopt;
  }
  if (!row.preemptible) return Ignored::FixedJob;
  const bool up = row.phase == JobPhase::Starting || row.phase == JobPhase::Running;
  // What was only claimed can be taken back.
  const bool claimed = row.phase == JobPhase::Pending && replicas == 0;
  return up || claimed ? std::nullopt : std::optional(Ignored::NotInThisPhase);
}

// What no plan for this cluster says: nodes that it does not have, or more devices than it has. A
// job that runs would be drained before that is found (rules 3).
bool is_absurd(const State& state, const JobState& job, const Accepted& grant) {
  if (state.settings.rules < 3 || !job.row.holds) return false;
  const auto is_unknown = [&](const NodeCount& n) {
    return n.node.index() >= state.ledger.node_count();
  };
  return std::any_of(grant.nodes.begin(), grant.nodes.end(), is_unknown) ||
         grant.replicas * job.row.demand.thousandths() >
             (state.ledger.devices_usable() + job.row.devices_held) * 1000;
}

// Why the grant cannot be carried out; empty where it can. Clips the replicas to the bounds.
std::optional<Ignored> refuse(Step& step, const JobState& job, Accepted& grant, Promised& more) {
  const JobRow& row = job.row;
  if (const std::optional<Ignored> why = refuse_by_phase(job, grant.replicas)) return why;
  if (grant.replicas == 0) return std::nullopt;
  const std::int32_t named = size_at_most(*job.spec, row.elastic, grant.replicas);
  if (named != grant.replicas) {
    if (named < row.min_replicas) return Ignored::OutOfBounds;
    if (named == row.replicas) return Ignored::AlreadyKnown;
    grant.replicas = named;
    step.out.notices.push_back(step.notice(NoticeKind::GrantClipped, job));
  }
  if (grant.replicas < row.min_replicas) return Ignored::OutOfBounds;
  if (grant.replicas > row.max_replicas) {
    if (!grant.nodes.empty()) return Ignored::OutOfBounds;
    grant.replicas = row.max_replicas;
    step.out.notices.push_back(step.notice(NoticeKind::GrantClipped, job));
  }
  if (grant.replicas > row.replicas || !grant.nodes.empty())
    if (is_absurd(step.state, job, grant)) return Ignored::DoesNotFit;
  if (!quota_allows(step.state, job, devices_at(step.state, job, grant.replicas), more))
    return Ignored::OverQuota;
  return std::nullopt;
}

// Who stays when a job that runs on survives a change in place.
void keep_survivors(const JobState& job, Accepted& grant) {
  MembershipChange& change = grant.change;
  change.keep.assign(job.workers.size(), 1);
  if (has_placements(job)) {
    for (std::size_t i = 0; i < job.workers.size(); ++i)
      if (job.workers[i].role == job.row.elastic)
        change.keep[i] = sits_right(job, job.workers[i], grant.replicas) ? 1 : 0;
    return;
  }
  std::vector<NodeCount> wanted(grant.nodes.begin(), grant.nodes.end());
  std::int32_t excess = job.row.replicas - grant.replicas;
  std::vector<NodeCount> have = job.elastic_nodes;
  // Victims: highest local rank first, and only where the plan wants fewer.
  for (std::size_t i = job.workers.size(); i-- > 0;) {
    const Worker& worker = job.workers[i];
    if (worker.role != job.row.elastic) continue;
    if (grant.nodes.empty()) {
      if (excess-- > 0) change.keep[i] = 0;
      continue;
    }
    const auto here = std::find_if(
        have.begin(), have.end(), [&](const NodeCount& n) { return n.node == worker.node; });
    std::int32_t want = 0;
    for (const NodeCount& n : wanted)
      if (n.node == worker.node) want += n.replicas;
    if (here->replicas > want) {
      change.keep[i] = 0;
      --here->replicas;
    }
  }
}

// Who stays, and who of them starts anew in place.
void choose_survivors(const JobState& job, Accepted& grant) {
  grant.change.replace.assign(job.workers.size(), 0);
  if (job.spec->rescale == RescaleMode::Restart || !grant.beside.is_none() ||
      grant.leaves_partner) {
    grant.change.keep.assign(job.workers.size(), 0);
    return;
  }
  keep_survivors(job, grant);
  for (std::size_t i = 0; i < job.workers.size(); ++i)
    grant.change.replace[i] = grant.change.keep[i] != 0 && must_start_anew(job, job.workers[i]);
}

// First pass over a job that holds something: what it gives up.
void give_up(Step& step, JobState& job, Accepted& grant) {
  JobRow& row = job.row;
  if (grant.replicas == 0) {
    if (row.phase != JobPhase::Pending) {
      if (!charge_preemption(step, job)) return;
      ++row.preemptions;
      count(step, job, Counter::Preemptions);
    }
    give_all_back(step, job, Reason::Preempted);
    return;
  }
  choose_survivors(job, grant);
  ++row.reschedules;
  job.change_reason = grant.replicas == row.replicas ? Reason::Moved : Reason::Rescaled;
  set_phase(step, job, JobPhase::Rescheduling, job.change_reason);
  count(step, job, Counter::Reschedules);
  release_dropped(step, job, grant.change);
}

// What is wanted beyond what stays, in the order in which it is wanted.
std::vector<NodeCount> beyond(std::span<const NodeCount> wanted, std::vector<NodeCount> kept) {
  std::vector<NodeCount> more;
  for (NodeCount n : wanted) {
    const auto here = std::find_if(
        kept.begin(), kept.end(), [&](const NodeCount& k) { return k.node == n.node; });
    if (here != kept.end()) {
      const std::int32_t stays = std::min(here->replicas, n.replicas);
      here->replicas -= stays;
      n.replicas -= stays;
    }
    if (n.replicas > 0) more.push_back(n);
  }
  return more;
}

// Plans say where the elastic role goes and count on the others to stay: where all of a job starts
// anew (rules 3), those go back to the nodes that they leave. Elsewhere they might take what the
// plan gives to the next job. False where they were fewer or more, or that does not fit. The nodes
// are known ones: a job that runs is given no others.
bool place_others_again(Step& step, const JobState& job, Accepted& grant) {
  if (step.state.settings.rules < 3 || grant.nodes.empty() || job.role_count() == 1 ||
      is_seated(*job.spec))
    return false;
  std::vector<Placed> added;
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    std::vector<NodeCount> nodes(grant.nodes.begin(), grant.nodes.end());
    if (role != job.row.elastic) {
      nodes.clear();
      for (const Worker& worker : job.workers)
        if (worker.role == role) nodes.push_back({worker.node, 1});
      if (static_cast<std::int32_t>(nodes.size()) != job.target(role)) return false;
      nodes = merged(nodes);
    }
    for (const NodeCount& n : nodes) added.push_back({role, n});
  }
  if (!fits_together(step, job, added)) return false;
  grant.change.added = std::move(added);
  return true;
}

// Where the new workers of a changed job go; false where the plan's places are gone.
bool place_change(Step& step, const JobState& job, Accepted& grant) {
  MembershipChange& change = grant.change;
  if (!grant.beside.is_none())
    return find_places_beside(step, job, grant.replicas, grant.beside, change.added);
  if (job.spec->rescale == RescaleMode::Restart)
    return place_others_again(step, job, grant) ||
           find_places(step, job, grant.replicas, grant.nodes, change.added);
  if (has_placements(job)) {
    add_missing_seats(job, job.row.elastic, grant.replicas, change.keep, change.added);
    return fits_together(step, job, change.added);
  }
  std::vector<NodeCount> kept;
  for (std::size_t i = 0; i < job.workers.size(); ++i)
    if (change.keep[i] != 0 && job.workers[i].role == job.row.elastic)
      kept.push_back({job.workers[i].node, 1});
  const std::int32_t missing = grant.replicas - static_cast<std::int32_t>(kept.size());
  std::vector<NodeCount> added;
  if (!grant.nodes.empty()) {
    added = beyond(grant.nodes, merged(kept));
    if (!fits_there(step.state.ledger, job.row.demand, merged(added))) return false;
  } else if (missing > 0 && !find_nodes(step, job, job.row.demand, missing, added)) {
    return false;
  }
  for (const NodeCount& n : added) change.added.push_back({job.row.elastic, n});
  return ports_fit(step.state.ledger, *job.spec, change.added);
}

// Where a job that holds nothing goes: where the plan says, or at what the plan says; an elastic
// one may start smaller than that, at its minimum, but never below. False where it does not fit.
bool place_new(Step& step,
               const JobState& job,
               const Accepted& grant,
               std::vector<Placed>& places,
               bool& clipped) {
  if (!grant.beside.is_none())
    return find_places_beside(step, job, grant.replicas, grant.beside, places);
  if (find_places(step, job, grant.replicas, grant.nodes, places)) return true;
  if (!grant.nodes.empty()) return false;
  places.clear();
  const std::int32_t least = size_at_most(*job.spec, job.row.elastic, job.row.min_replicas);
  clipped = grant.replicas > job.row.min_replicas && find_places(step, job, least, {}, places);
  return clipped;
}

void take(Step& step, JobState& job, Accepted& grant) {
  if (job.row.holds) {
    if (place_change(step, job, grant)) {
      form_next(step, job, grant.change);
      ++step.state.totals.grants;
    } else {
      drop(step, job, Ignored::DoesNotFit);
      give_all_back(step, job, Reason::Preempted);
    }
    return;
  }
  std::vector<Placed> places;
  bool clipped = false;
  if (!place_new(step, job, grant, places, clipped)) return drop(step, job, Ignored::DoesNotFit);
  if (clipped) step.out.notices.push_back(step.notice(NoticeKind::GrantClipped, job));
  step.state.dequeue(job);
  job.change_reason = Reason::Granted;
  MembershipChange change;
  change.added = std::move(places);
  ++step.state.totals.grants;
  form_next(step, job, change);
}

// A plan speaks of a job once; what it says of it again is dropped.
void drop_repeated(Step& step, std::vector<Accepted>& accepted) {
  if (accepted.size() < 2) return;
  std::vector<JobId> ids;
  ids.reserve(accepted.size());
  for (const Accepted& grant : accepted) ids.push_back(grant.job);
  std::sort(ids.begin(), ids.end());
  if (std::adjacent_find(ids.begin(), ids.end()) == ids.end()) return;
  std::vector<JobId> seen;
  std::erase_if(accepted, [&](const Accepted& grant) {
    const bool again = std::find(seen.begin(), seen.end(), grant.job) != seen.end();
    if (again) drop(step, step.state.job(grant.job), Ignored::AlreadyKnown);
    seen.push_back(grant.job);
    return again;
  });
}

// The grant where it is to be carried out; otherwise the reason was told.
std::optional<Accepted> accept(Step& step,
                               const Plan& plan,
                               const Grant& grant,
                               std::span<const Accepted> before,
                               Promised& more) {
  const JobState* job = step.state.find(grant.job);
  if (job == nullptr || !is_well_formed(grant, plan.nodes)) {
    ignore(step,
           job,
           job == nullptr ? Ignored::UnknownJob : Ignored::BadSpecification,
           EventKinds(std::in_place_type<PlanProposed>).index());
    return std::nullopt;
  }
  if (!grant.role.is_none() && grant.role != job->row.elastic) {
    drop(step, *job, Ignored::OutOfBounds);
    return std::nullopt;
  }
  Accepted each{grant.job,
                grant.replicas,
                std::span(plan.nodes).subspan(grant.first_node, grant.node_count),
                {},
                grant.beside};
  // Seats are the job's own, whatever nodes a plan names.
  if (step.state.settings.rules >= 4 && !job->row.elastic.is_none() &&
      job->spec->roles[job->row.elastic.index()].is_seated())
    each.nodes = {};
  const bool says_where = !each.beside.is_none() || !each.nodes.empty();
  const JobId partner = job->row.holds && says_where ? partner_of(step.state, *job) : JobId::none();
  each.leaves_partner = !partner.is_none() && each.beside.is_none();
  const auto moves = [&](JobId id) {
    return std::any_of(
        before.begin(), before.end(), [&](const Accepted& other) { return other.job == id; });
  };
  const bool stays = each.beside.is_none() ? !each.leaves_partner && same_nodes(*job, each.nodes)
                                           : each.beside == partner && !moves(partner);
  const bool unchanged =
      job->row.holds && grant.replicas == job->row.replicas && (!says_where || stays);
  if (unchanged) return std::nullopt;
  if (const std::optional<Ignored> why = refuse(step, *job, each, more)) {
    drop(step, *job, *why);
    return std::nullopt;
  }
  return each;
}

// A job on seats is not disturbed for a size whose seats are taken, unless the plan takes from
// somebody else as well: then they may come free.
void drop_unseatable(Step& step, std::vector<Accepted>& accepted) {
  const State& state = step.state;
  const auto gives = [&](const Accepted& grant) {
    return grant.replicas < step.state.job(grant.job).row.replicas;
  };
  const auto givers = std::count_if(accepted.begin(), accepted.end(), gives);
  std::erase_if(accepted, [&](const Accepted& grant) {
    const JobState& job = step.state.job(grant.job);
    if (!job.row.holds || grant.replicas == 0 || !has_placements(job)) return false;
    if (givers > (gives(grant) ? 1 : 0)) return false;
    std::vector<Placed> seats;
    add_missing_seats(job,
                      job.row.elastic,
                      grant.replicas,
                      std::vector<std::uint8_t>(job.workers.size(), 0),
                      seats);
    if (seats_fit_instead(state, job, seats)) return false;
    drop(step, job, Ignored::DoesNotFit);
    return true;
  });
}

// A job that its new size would cost its places: its seats are named, or all of it starts anew. It
// would be drained before it is known whether it fits. Where another job will sit is not known
// before that one has its places.
bool must_be_tried(const JobState& job, const Accepted& grant) {
  return job.row.holds && grant.replicas > 0 && grant.beside.is_none() &&
         (is_seated(*job.spec) || job.spec->rescale == RescaleMode::Restart);
}

// Carries the plan out on a trial of the ledger: which of the grants fit. What only gives does.
RankFlags try_out(Step& step, std::span<const Accepted> accepted) {
  LedgerTrial trial(step);
  RankFlags fits(accepted.size(), 1);
  std::vector<Accepted> grants(accepted.begin(), accepted.end());
  for (Accepted& grant : grants) {
    const JobState& job = step.state.job(grant.job);
    if (!job.row.holds) continue;
    if (grant.replicas > 0) choose_survivors(job, grant);
    trial.give_up(job, grant.replicas > 0 ? present_after(grant.change) : RankFlags{});
  }
  for (std::size_t i = 0; i < grants.size(); ++i) {
    if (grants[i].replicas == 0 || !grants[i].beside.is_none()) continue;
    const JobState& job = step.state.job(grants[i].job);
    std::vector<Placed> places;
    bool clipped = false;
    const bool fit = job.row.holds ? place_change(step, job, grants[i])
                                   : place_new(step, job, grants[i], places, clipped);
    fits[i] = fit ? 1 : 0;
    if (fit)
      trial.take(job, job.row.holds ? std::span<const Placed>(grants[i].change.added) : places);
  }
  return fits;
}

// A job is not disturbed for a size that it cannot have in the end: beside its own roles that stay,
// and beside what the plan gives to others. Else it would be drained, wait, start as it was, and be
// drained again by the same plan in the next cycle. Whether any grant was dropped.
bool drop_unplaceable(Step& step, std::vector<Accepted>& accepted) {
  const auto must = [&](const Accepted& grant) {
    return must_be_tried(step.state.job(grant.job), grant);
  };
  bool dropped = false;
  for (int tried = 0; std::any_of(accepted.begin(), accepted.end(), must); ++tried) {
    const RankFlags fits = try_out(step, accepted);
    if (tried >= kTrialsMax && step.state.settings.rules >= 3) {
      std::size_t i = 0;
      std::erase_if(accepted, [&](const Accepted& grant) {
        const bool goes = fits[i++] == 0 && must(grant);
        if (goes) drop(step, step.state.job(grant.job), Ignored::DoesNotFit);
        return goes;
      });
      if (i == accepted.size()) break;
      continue;
    }
    std::size_t misfit = 0;
    while (misfit < accepted.size() && (fits[misfit] != 0 || !must(accepted[misfit]))) ++misfit;
    if (misfit == accepted.size()) break;
    drop(step, step.state.job(accepted[misfit].job), Ignored::DoesNotFit);
    accepted.erase(accepted.begin() + static_cast<std::ptrdiff_t>(misfit));
    dropped = true;
  }
  return dropped;
}

// Nor is a job made smaller for others who cannot use what it gives: by counting, a policy knows
// how many devices come free and not which seats. It would be made smaller in each cycle anew, and
// larger in the next. Who gives all for a job of higher priority may open the way step by step.
void drop_vain(Step& step, std::vector<Accepted>& accepted, bool dropped) {
  const auto shrinks = [&](const Accepted& grant) {
    return grant.replicas > 0 && grant.replicas < step.state.job(grant.job).row.replicas;
  };
  const auto sits = [&](const Accepted& grant) {
    return is_seated(*step.state.job(grant.job).spec);
  };
  if (std::none_of(accepted.begin(), accepted.end(), shrinks) ||
      (!dropped && std::none_of(accepted.begin(), accepted.end(), sits)))
    return;
  RankFlags fits = try_out(step, accepted);
  if (!dropped && std::find(fits.begin(), fits.end(), 0) == fits.end()) return;
  int tried = 0;
  for (std::size_t i = accepted.size(); i-- > 0;) {
    if (!shrinks(accepted[i])) continue;
    if (++tried > kTrialsMax && step.state.settings.rules >= 3) return;
    const auto at = static_cast<std::ptrdiff_t>(i);
    std::vector<Accepted> others = accepted;
    others.erase(others.begin() + at);
    fits.erase(fits.begin() + at);
    RankFlags without = try_out(step, others);
    // Who fits beside it, and not without it, is in need of it.
    if (std::mismatch(fits.begin(), fits.end(), without.begin(), std::less_equal<>()).first !=
        fits.end()) {
      fits.insert(fits.begin() + at, 1);
      continue;
    }
    drop(step, step.state.job(accepted[i].job), Ignored::DoesNotFit);
    accepted = std::move(others);
    fits = std::move(without);
  }
}

// What the plan says of a job that waits is why it does; what has become of any other is not told
// by its policy.
void note(Step& step, const Grant& said) {
  JobState* job = step.state.find(said.job);
  const bool waits = job != nullptr && job->row.phase == JobPhase::Pending && !job->row.holds &&
                     !job->row.infeasible;
  const bool is_known = said.first_node == static_cast<std::uint32_t>(PlanRemark::NotAdmitted);
  if (!waits || !is_known) {
    const Ignored why = job == nullptr ? Ignored::UnknownJob
                        : is_known     ? Ignored::NotInThisPhase
                                       : Ignored::BadSpecification;
    ignore(step, job, why, EventKinds(std::in_place_type<PlanProposed>).index());
    return;
  }
  Notice notice = step.notice(NoticeKind::PhaseChanged, *job);
  notice.from = notice.to = JobPhase::Pending;
  notice.reason = Reason::NotAdmitted;
  step.out.notices.push_back(notice);
  set_phase(step, *job, JobPhase::Pending, Reason::NotAdmitted);
}

void tell_choice(Step& step, const PlanChoice& choice) {
  step.state.chosen = {choice, step.at};
  Notice notice;
  notice.kind = NoticeKind::PolicyChosen;
  notice.at = step.at;
  notice.occurred_at = step.occurred_at;
  step.out.notices.push_back(notice);
}

}  // namespace

void on_event(Step& step, const PlanProposed& event) {
  State& state = step.state;
  ++state.totals.plans;
  if (state.lost_plans.count > 0) state.lost_plans = {};
  if (!event.plan.choice.empty()) tell_choice(step, event.plan.choice);
  Promised more(state.quotas.size(), 0);
  std::vector<Accepted> accepted;
  accepted.reserve(event.plan.grants.size());
  for (const Grant& grant : event.plan.grants)
    if (grant.is_remark())
      note(step, grant);
    else if (std::optional<Accepted> each = accept(step, event.plan, grant, accepted, more))
      accepted.push_back(std::move(*each));
  drop_repeated(step, accepted);
  if (state.settings.rules >= 1) {
    const bool dropped = drop_unplaceable(step, accepted);
    if (state.settings.rules >= 2) drop_vain(step, accepted, dropped);
  } else {
    drop_unseatable(step, accepted);
  }
  for (Accepted& grant : accepted) {
    JobState& job = state.job(grant.job);
    if (job.row.holds) give_up(step, job, grant);
  }
  for (Accepted& grant : accepted)
    if (grant.replicas > 0) take(step, state.job(grant.job), grant);
}

void on_event(Step& step, const PlanLost& event) {
  LostPlans& lost = step.state.lost_plans;
  lost = {lost.count + 1, event.loss, event.detail};
  step.state.due.again = true;
  Notice notice;
  notice.kind = NoticeKind::PlanLost;
  notice.at = step.at;
  notice.occurred_at = step.occurred_at;
  notice.job = event.job;
  notice.loss = event.loss;
  notice.count = static_cast<std::int32_t>(lost.count);
  step.out.notices.push_back(notice);
}

}  // namespace orrery
