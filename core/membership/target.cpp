#include "core/membership/target.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/planted.hpp"
#include "core/job/turns.hpp"
#include "core/membership/advancing.hpp"
#include "core/membership/forming.hpp"
#include "core/membership/places.hpp"
#include "core/membership/placing.hpp"
#include "core/membership/releasing.hpp"
#include "core/membership/seating.hpp"
#include "core/state/phases.hpp"

namespace orrery {
namespace {

/// A change of membership as it is put together, role by role.
struct Resize {
  MembershipChange change;
  bool changes = false;
  bool short_of_room = false;
  std::int32_t devices = 0;  ///< Of the whole job after what is in `change`.
};

// Replicas that the role shall have now, where it has `have`.
std::int32_t wanted(const State& state, const JobState& job, RoleIndex role, std::int32_t have) {
  if (!is_sized_by_policy(job, role)) return job.target(role);
  return is_met_by_core(state, job) ? job.target(role) : std::min(have, job.row.max_replicas);
}

// Room for at most `more` replicas: for all of them, or for an elastic role for as many as there is
// room for. Returns for how many.
std::int32_t find_room(Step& step,
                       const JobState& job,
                       RoleIndex role,
                       std::int32_t more,
                       const Resize& resize,
                       std::vector<NodeCount>& nodes) {
  const Demand demand = demand_of(step, job, role);
  const std::int32_t each = job.spec->roles[role.index()].bundle.devices;
  const std::int64_t reach = step.state.ledger.free().replicas_by_devices(demand);
  if (!is_sized_by_policy(job, role) && reach < more) return 0;
  for (auto n = static_cast<std::int32_t>(std::min<std::int64_t>(more, reach)); n > 0; --n) {
    if (step.state.quota_allows(job, resize.devices + n * each) &&
        find_nodes(step, job, demand, n, nodes))
      return n;
    if (!is_sized_by_policy(job, role)) return 0;
  }
  return 0;
}

// Takes away what is above the target, highest local rank first, and finds room for what is below.
void resize_role(Step& step, const JobState& job, RoleIndex role, Resize& resize) {
  const std::int32_t each = job.spec->roles[role.index()].bundle.devices;
  auto have = static_cast<std::int32_t>(std::count_if(
      job.workers.begin(), job.workers.end(), [&](const Worker& w) { return w.role == role; }));
  const std::int32_t want = wanted(step.state, job, role, have);
  for (std::size_t i = job.workers.size(); i-- > 0 && have > want;) {
    if (job.workers[i].role != role) continue;
    resize.change.keep[i] = 0;
    resize.changes = true;
    resize.devices -= each;
    --have;
  }
  if (have >= want) return;
  std::vector<NodeCount> nodes;
  const std::int32_t more = find_room(step, job, role, want - have, resize, nodes);
  if (have + more < want) resize.short_of_room = true;
  if (more == 0) return;
  for (const NodeCount& n : nodes) resize.change.added.push_back({role, n});
  resize.devices += more * each;
  resize.changes = true;
}

// Takes the seats of this size, if they are free beside what stays of the job itself.
bool take_seats(
    Step& step, const JobState& job, RoleIndex role, std::int32_t size, Resize& resize) {
  const State& state = step.state;
  std::vector<std::uint8_t> keep = resize.change.keep;
  for (std::size_t i = 0; i < job.workers.size(); ++i)
    if (job.workers[i].role == role) keep[i] = sits_right(job, job.workers[i], size) ? 1 : 0;
  std::vector<Placed> added;
  add_missing_seats(job, role, size, keep, added);
  // Judged at its target: each device counts once, whichever role has it.
  const std::int32_t elastic = role == job.row.elastic ? size : job.target(job.row.elastic);
  if (!state.quota_allows(job, devices_at_size(job, elastic)) ||
      !seats_fit_instead(state, job, added))
    return false;
  MembershipChange change = resize.change;
  change.keep = std::move(keep);
  change.added.insert(change.added.end(), added.begin(), added.end());
  if (state.settings.rules >= 1 && !fits_after(step, job, change)) return false;
  resize.change = std::move(change);
  resize.changes = true;
  return true;
}

// A role with placements goes to the seats of its new size; an elastic one that cannot grow so far
// to those of the largest size that is free.
void reseat_role(Step& step, const JobState& job, RoleIndex role, Resize& resize) {
  const auto have = static_cast<std::int32_t>(std::count_if(
      job.workers.begin(), job.workers.end(), [&](const Worker& w) { return w.role == role; }));
  std::int32_t want = wanted(step.state, job, role, have);
  if (is_sized_by_policy(job, role)) want = size_at_most(*job.spec, role, want);
  if (have == want) return;
  while (!take_seats(step, job, role, want, resize)) {
    resize.short_of_room = true;
    if (!is_sized_by_policy(job, role) || want < have) return;
    want = size_at_most(*job.spec, role, want - 1);
    if (want <= have) return;
  }
}

// Who stays starts anew where that is the job's way; a stranded worker, elsewhere.
void start_survivors_anew(Step& step, const JobState& job, Resize& resize) {
  for (std::size_t i = 0; i < job.workers.size() && resize.changes; ++i) {
    const Worker& worker = job.workers[i];
    if (resize.change.keep[i] == 0 || !must_start_anew(job, worker)) continue;
    resize.change.replace[i] = is_stranded(step.state, worker) ? 0 : 1;
    if (resize.change.replace[i] != 0) continue;
    resize.change.keep[i] = 0;
    std::vector<NodeCount> nodes;
    // A worker that was given its seat stays there.
    const bool seated = job.spec->roles[worker.role.index()].is_seated();
    if (seated || !find_nodes(step, job, demand_of(step, job, worker.role), 1, nodes)) {
      resize.changes = false;
      resize.short_of_room = true;
    }
    for (const NodeCount& n : nodes) resize.change.added.push_back({worker.role, n});
  }
}

// Whether the job is looked at again when room comes.
void set_wants_more(State& state, JobState& job, bool wants_more) {
  if (wants_more == job.wants_more || planted(Bug::WantsMoreForgotten)) return;
  job.wants_more = wants_more;
  if (wants_more) {
    state.wants_more.push_back(job.row.id);
  } else {
    std::erase(state.wants_more, job.row.id);
  }
}

}  // namespace

bool is_met_by_core(const State& state, const JobState& job) {
  const std::size_t role = job.row.elastic.index();
  return state.settings.rules >= 1 && !state.settings.policy_sizes && role < job.targets->size() &&
         (*job.targets)[role] > 0;
}

void meet_target(Step& step, JobState& job) {
  if (!job.row.holds || job.after_drain != AfterDrain::Nothing ||
      (job.row.phase != JobPhase::Starting && job.row.phase != JobPhase::Running))
    return;
  Resize resize;
  MembershipChange& change = resize.change;
  change.keep.assign(job.workers.size(), 1);
  change.replace.assign(job.workers.size(), 0);
  resize.devices = job.row.devices_held;
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    const RoleSpec& spec = job.spec->roles[r];
    if (!spec.is_seated()) resize_role(step, job, role, resize);
    // The workers of a virtual cluster are as many as its bundles: they are not resized.
    if (!spec.placements.empty()) reseat_role(step, job, role, resize);
  }
  start_survivors_anew(step, job, resize);
  const bool seated = is_seated(*job.spec);
  if (!seated && !fits_together(step, job, change.added)) {
    // Each role by itself would fit, not all: nothing now.
    resize.changes = false;
    resize.short_of_room = true;
  }
  set_wants_more(step.state, job, resize.short_of_room);
  if (!resize.changes) return;
  ++job.row.reschedules;
  job.change_reason = Reason::Rescaled;
  set_phase(step, job, JobPhase::Rescheduling, Reason::Rescaled);
  count(step, job, Counter::Reschedules);
  release_dropped(step, job, change);
  if (seated && !fits_together(step, job, change.added)) {
    // What it gave back was not enough after all, for CPU or memory: it starts over from the queue.
    give_all_back(step, job, Reason::Rescaled);
    return;
  }
  form_next(step, job, change);
}

}  // namespace orrery
