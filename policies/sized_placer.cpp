#include "policies/sized_placer.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"
#include "policies/closed_nodes.hpp"

namespace orrery::policies {
namespace {

bool has_size(const ClusterView& view, const SizedJob& sized) {
  const JobRow& row = view.row(sized.id);
  return row.holds ? row.replicas == sized.replicas : sized.replicas == 0;
}

}  // namespace

bool SizedPlacer::may_move(const ClusterView& view, JobId id) const {
  return view.job(id).spec.roles.size() == 1 && !view.is_seated(id);
}

bool SizedPlacer::take_back_own(const ClusterView& view, const JobView& job) {
  return may_move(view, job.row.id) && trial_.keep_held(job);
}

SizedPlacer::Outcome SizedPlacer::place_one(const ClusterView& view, const SizedJob& sized) {
  const JobView job = view.job(sized.id);
  Outcome outcome{sized, {}, false, true};
  const std::size_t mark = trial_.mark();
  std::vector<NodeCount> beside;
  const bool stays = job.row.holds && trial_.place_on_own(view, job, sized.replicas, beside);
  if (stays) trial_.undo(mark);
  const bool fits = trial_.place(view, job, sized.replicas, outcome.nodes);
  if (stays && (!fits || beside.size() <= outcome.nodes.size())) {
    trial_.undo(mark);
    const bool again = trial_.place_on_own(view, job, sized.replicas, outcome.nodes);
    invariant(again, "what fitted fits again");
    return outcome;
  }
  if (fits) return outcome;
  outcome.nodes.clear();
  outcome.fits = false;
  outcome.keeps = job.row.holds && take_back_own(view, job);
  // Devices that suffice by count may lie where no replica fits: the next smaller size then.
  const std::int32_t least = job.row.preemptible ? job.row.min_replicas : sized.replicas;
  for (std::int32_t n = sized.replicas - 1; n >= least && !outcome.keeps; --n) {
    if (!trial_.place(view, job, n, outcome.nodes)) continue;
    outcome.job.replicas = n;
    break;
  }
  return outcome;
}

std::vector<SizedPlacer::Outcome> SizedPlacer::place_changed(const ClusterView& view,
                                                             std::span<const SizedJob> jobs) {
  trial_.begin(view);
  for (const SizedJob& sized : jobs)
    if (view.row(sized.id).holds && !has_size(view, sized))
      trial_.give_back(view, view.job(sized.id));
  trial_.settle_parts(view);
  std::vector<Outcome> outcomes;
  for (const SizedJob& sized : jobs) {
    if (has_size(view, sized)) {
      outcomes.push_back({sized, {}, true, true});
    } else if (sized.replicas == 0) {
      outcomes.push_back({sized, {}, false, true});
    } else {
      outcomes.push_back(place_one(view, sized));
    }
  }
  return outcomes;
}

/// Everything that may be moved, anew. Where parts of devices would change their device and not
/// their node, which no plan can say, these jobs stay, and the others are placed again beside them.
std::vector<SizedPlacer::Outcome> SizedPlacer::place_all(const ClusterView& view,
                                                         std::span<const SizedJob> jobs) {
  std::set<JobId> staying;
  while (true) {
    std::vector<Outcome> outcomes = place_all(view, jobs, staying);
    const std::size_t known = staying.size();
    for (const Outcome& outcome : outcomes)
      if (has_size(view, outcome.job) && keeps_parts(view.job(outcome.job.id), outcome.nodes))
        staying.insert(outcome.job.id);
    if (staying.size() == known) return outcomes;
  }
}

std::vector<SizedPlacer::Outcome> SizedPlacer::place_all(const ClusterView& view,
                                                         std::span<const SizedJob> jobs,
                                                         const std::set<JobId>& staying) {
  trial_.begin(view);
  const auto stays = [&](const SizedJob& sized) {
    return has_size(view, sized) &&
           (sized.replicas == 0 || !may_move(view, sized.id) ||
            is_on_closed_node(view, view.job(sized.id)) || staying.contains(sized.id));
  };
  for (const SizedJob& sized : jobs)
    if (view.row(sized.id).holds && !stays(sized)) trial_.give_back(view, view.job(sized.id));
  trial_.settle_parts(view);
  std::vector<Outcome> outcomes;
  for (const SizedJob& sized : jobs) {
    Outcome outcome{sized, {}, stays(sized), true};
    if (!outcome.keeps && sized.replicas > 0)
      outcome.fits = trial_.place(view, view.job(sized.id), sized.replicas, outcome.nodes);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

/// What is taken back comes before what is given.
Plan SizedPlacer::plan(const ClusterView& view, std::span<const Outcome> outcomes) {
  Plan plan;
  for (const Outcome& outcome : outcomes)
    if (view.row(outcome.job.id).holds && !outcome.keeps && outcome.nodes.empty())
      plan.preempt(outcome.job.id);
  for (const Outcome& outcome : outcomes) {
    if (outcome.nodes.empty() || holds_exactly(view.job(outcome.job.id), outcome.nodes)) continue;
    grant_on(outcome.job.id, outcome.job.replicas, outcome.nodes, plan);
  }
  return plan;
}

Plan SizedPlacer::place(const ClusterView& view, std::vector<SizedJob> jobs, Misfits& misfits) {
  cut_short_.clear();
  const auto room = [&](const SizedJob& sized) {
    return view.row(sized.id).demand.thousandths() * sized.replicas;
  };
  const auto starts_roles = [&](const SizedJob& sized) {
    return !view.row(sized.id).holds && view.job(sized.id).spec.roles.size() > 1;
  };
  std::vector<SizedJob> in_turn = jobs;
  // Who has other roles to place comes last, and only one of them.
  std::stable_sort(jobs.begin(), jobs.end(), [&](const SizedJob& a, const SizedJob& b) {
    if (starts_roles(a) != starts_roles(b)) return starts_roles(b);
    return room(a) > room(b);
  });
  JobId starts;
  for (const SizedJob& sized : jobs)
    if (starts_roles(sized) && sized.replicas > 0 && starts.is_none()) starts = sized.id;
  const auto is_left_out = [&](const SizedJob& sized) {
    return starts_roles(sized) && sized.id != starts;
  };
  std::erase_if(jobs, is_left_out);
  std::erase_if(in_turn, is_left_out);
  const auto fit = [](const std::vector<Outcome>& outcomes) {
    return std::all_of(
        outcomes.begin(), outcomes.end(), [](const Outcome& outcome) { return outcome.fits; });
  };
  std::vector<Outcome> outcomes = place_changed(view, jobs);
  if (!fit(outcomes)) {
    std::vector<Outcome> anew = place_all(view, jobs);
    if (fit(anew)) outcomes = std::move(anew);
  }
  std::set<JobId> unplaced;
  for (const Outcome& outcome : outcomes)
    if (outcome.job.replicas > 0 && !outcome.keeps && outcome.nodes.empty())
      unplaced.insert(outcome.job.id);
  if (PriorityPlacement::may_help(view, in_turn, unplaced) &&
      by_priority_.place(view, in_turn, unplaced)) {
    const std::span<const PriorityPlacement::Placed> placed = by_priority_.placed();
    for (std::size_t i = 0; i < in_turn.size(); ++i)
      if (placed[i].replicas > 0 && placed[i].replicas < in_turn[i].replicas)
        cut_short_.push_back({placed[i].id, placed[i].replicas});
    for (std::size_t i = 0; i < in_turn.size(); ++i)
      if (!view.row(placed[i].id).holds && in_turn[i].replicas > 0)
        misfits.note_placed(view, placed[i].id, placed[i].replicas > 0);
    return by_priority_.plan(view);
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    std::int32_t gets = outcome.nodes.empty() ? 0 : outcome.job.replicas;
    if (outcome.keeps) gets = view.row(outcome.job.id).replicas;
    if (gets > 0 && gets < jobs[i].replicas) cut_short_.push_back({outcome.job.id, gets});
  }
  for (const Outcome& outcome : outcomes)
    if (!view.row(outcome.job.id).holds && outcome.job.replicas > 0)
      misfits.note_placed(view, outcome.job.id, !outcome.nodes.empty());
  return plan(view, outcomes);
}

}  // namespace orrery::policies
