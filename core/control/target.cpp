// Brings a job to the numbers of replicas that its user asked for.

#include <algorithm>

#include "core/control/lifecycle.hpp"
#include "core/control/seating.hpp"
#include "core/job/turns.hpp"

namespace orrery {
namespace {

/// A change of membership as it is put together, role by role.
struct Resize {
  MembershipChange change;
  bool changes = false;
  bool short_of_room = false;
  std::int32_t devices = 0;  ///< Of the whole job after what is in `change`.
};

// Takes away what is above the target, highest local rank first, and finds room for what is below.
void resize_role(Step& step, const JobState& job, RoleIndex role, Resize& resize) {
  const std::int32_t each = job.spec->roles[role.index()].bundle.devices;
  auto have = static_cast<std::int32_t>(std::count_if(
      job.workers.begin(), job.workers.end(), [&](const Worker& w) { return w.role == role; }));
  const bool sized_by_policy = is_sized_by_policy(job, role);
  const std::int32_t want =
      sized_by_policy ? std::min(have, job.row.max_replicas) : job.target(role);
  for (std::size_t i = job.workers.size(); i-- > 0 && have > want;) {
    if (job.workers[i].role != role) continue;
    resize.change.keep[i] = 0;
    resize.changes = true;
    resize.devices -= each;
    --have;
  }
  if (have >= want) return;
  std::vector<NodeCount> nodes;
  const std::int32_t more = (want - have) * each;
  if (!step.state.quota_allows(job, resize.devices + more) ||
      !step.state.ledger.find_gang(demand_of(step, job, role), want - have, nodes)) {
    resize.short_of_room = true;
    return;
  }
  for (const NodeCount& n : nodes) resize.change.added.push_back({role, n});
  resize.devices += more;
  resize.changes = true;
}

// A role with placements goes to the seats of its new size.
void reseat_role(const State& state, const JobState& job, RoleIndex role, Resize& resize) {
  const auto have = static_cast<std::int32_t>(std::count_if(
      job.workers.begin(), job.workers.end(), [&](const Worker& w) { return w.role == role; }));
  const bool sized_by_policy = is_sized_by_policy(job, role);
  const std::int32_t want =
      sized_by_policy ? size_at_most(*job.spec, role, std::min(have, job.row.max_replicas))
                      : job.target(role);
  if (have == want) return;
  std::vector<std::uint8_t> keep = resize.change.keep;
  for (std::size_t i = 0; i < job.workers.size(); ++i)
    if (job.workers[i].role == role) keep[i] = sits_right(job, job.workers[i], want) ? 1 : 0;
  std::vector<Placed> added;
  add_missing_seats(job, role, want, keep, added);
  // Judged at its target: each device counts once, whoever sits there.
  const bool may = state.quota_allows(job, devices_at_size(job, job.target(job.row.elastic))) &&
                   seats_fit_instead(state, job, added);
  if (!may) {
    resize.short_of_room = true;
    return;
  }
  resize.change.keep = std::move(keep);
  resize.change.added.insert(resize.change.added.end(), added.begin(), added.end());
  resize.changes = true;
}

// Whether the job is looked at again when room comes.
void set_wants_more(State& state, JobState& job, bool wants_more) {
  if (wants_more == job.wants_more) return;
  job.wants_more = wants_more;
  if (wants_more) {
    state.wants_more.push_back(job.row.id);
  } else {
    std::erase(state.wants_more, job.row.id);
  }
}

}  // namespace

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
    if (!spec.placements.empty()) reseat_role(step.state, job, role, resize);
  }
  const bool seated = is_seated(*job.spec);
  if (!seated && !fits_together(step, job, change.added)) {
    // Each role by itself would fit, not all: nothing now.
    resize.changes = false;
    resize.short_of_room = true;
  }
  set_wants_more(step.state, job, resize.short_of_room);
  if (!resize.changes) return;
  if (job.spec->rescale == RescaleMode::Restart)
    for (std::size_t i = 0; i < job.workers.size(); ++i)
      change.replace[i] = change.keep[i] != 0 && !job.workers[i].lease.is_none();
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
