// Brings a job to the numbers of replicas that its user asked for.

#include <algorithm>

#include "core/control/lifecycle.hpp"

namespace orrery {

void meet_target(Step& step, JobState& job) {
  if (!job.row.holds || job.after_drain != AfterDrain::Nothing ||
      (job.row.phase != JobPhase::Starting && job.row.phase != JobPhase::Running))
    return;
  MembershipChange change;
  change.keep.assign(job.workers.size(), 1);
  change.replace.assign(job.workers.size(), 0);
  bool changes = false;
  bool short_of_room = false;
  std::int32_t devices = job.row.devices_held;
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    std::int32_t have = 0;
    for (const Worker& worker : job.workers) have += worker.role == role ? 1 : 0;
    const bool sized_by_policy = job.row.preemptible && role == job.row.elastic;
    const std::int32_t each = job.spec->roles[r].bundle.devices;
    const std::int32_t want =
        sized_by_policy ? std::min(have, job.row.max_replicas) : job.target(role);
    // Victims: highest local rank first.
    for (std::size_t i = job.workers.size(); i-- > 0 && have > want;) {
      if (job.workers[i].role != role) continue;
      change.keep[i] = 0;
      changes = true;
      devices -= each;
      --have;
    }
    if (have >= want) continue;
    std::vector<NodeCount> nodes;
    const std::int32_t more = (want - have) * each;
    if (step.state.quota_allows(job, devices + more) &&
        step.state.ledger.find_gang(demand_of(step, job, role), want - have, nodes)) {
      for (const NodeCount& n : nodes) change.added.push_back({role, n});
      devices += more;
      changes = true;
    } else {
      short_of_room = true;
    }
  }
  if (!fits_together(step, job, change.added)) {
    // Each role by itself would fit, not all: nothing now.
    changes = false;
    short_of_room = true;
  }
  if (short_of_room != job.wants_more) {
    job.wants_more = short_of_room;
    if (short_of_room) {
      step.state.wants_more.push_back(job.row.id);
    } else {
      std::erase(step.state.wants_more, job.row.id);
    }
  }
  if (!changes) return;
  if (job.spec->rescale == RescaleMode::Restart)
    for (std::size_t i = 0; i < job.workers.size(); ++i)
      change.replace[i] = change.keep[i] != 0 && !job.workers[i].lease.is_none();
  ++job.row.reschedules;
  job.change_reason = Reason::Rescaled;
  set_phase(step, job, JobPhase::Rescheduling, Reason::Rescaled);
  count(step, job, Counter::Reschedules);
  release_dropped(step, job, change);
  form_next(step, job, change);
}

}  // namespace orrery
