#include "sim/model/live_job.hpp"

#include <algorithm>

namespace orrery::sim {

// Of a million jobs some hundred thousand are alive at once, and allocators give this or 64 bytes
// more. Pointers of 8 bytes, as everywhere that this runs.
static_assert(sizeof(LiveJob) <= 384, "a live job has outgrown its size class");

Duration CheckpointPauses::worked_in(Duration elapsed) const {
  if (elapsed <= Duration::zero()) return Duration::zero();
  const std::int64_t period = (every + each).ns;
  return Duration{elapsed.ns / period * every.ns + std::min(elapsed.ns % period, every.ns)};
}

Duration CheckpointPauses::elapsed_for(Duration work, Duration rounding) const {
  if (work <= Duration::zero() || work.is_forever()) return work;
  return work + each * (std::max<std::int64_t>(work.ns - 1 - rounding.ns, 0) / every.ns);
}

double LiveJob::done_at(Instant now) const {
  if (!running || rate <= 0) return done;
  const Instant from = std::max(as_of, paused_until);
  if (now <= from) return done;
  const double all = job.work.units > 0 ? job.work.units : 1e300;
  Duration at_work = now - from;
  if (pauses->every > Duration::zero())
    at_work = pauses->worked_in(now - running_since) - pauses->worked_in(from - running_since);
  return std::min(all, done + rate * at_work.in_seconds());
}

Instant LiveJob::done_by(Instant from, Duration work, Duration rounding) const {
  if (pauses->every <= Duration::zero() || work <= Duration::zero() || work.is_forever())
    return from + work;
  const Duration before = pauses->worked_in(from - running_since);
  return running_since + pauses->elapsed_for(before + work, rounding);
}

double LiveJob::safe_at(Instant now, Duration interval) const {
  if (interval <= Duration::zero()) return done_at(now);
  if (!running || rate <= 0) return safe;
  const Duration period = interval + pauses->each;
  const std::int64_t whole = (now - running_since).ns / period.ns;
  const Instant last = running_since + period * whole;
  // What was saved before `as_of` is known already.
  if (whole <= 0 || last <= as_of) return safe;
  return std::max(safe, done_at(last));
}

Instant LiveJob::next_checkpoint(Instant now, Duration interval) const {
  const Duration period = interval + pauses->each;
  return running_since + period * ((now - running_since).ns / period.ns + 1);
}

std::int32_t LiveJob::ready_elastic() const {
  const RoleIndex elastic = elastic_role(*job.spec);
  const auto ready = static_cast<std::int32_t>(
      std::count_if(workers.begin(), workers.end(), [&](const ModelWorker& w) {
        return w.role == elastic && counts(w);
      }));
  if (ready > 0 || parts_done.empty() || !is_whole()) return ready;
  return static_cast<std::int32_t>(
      std::count_if(parts_done.begin(), parts_done.end(), [&](std::uint32_t slot) {
        return slot >> kSlotRoleShift == elastic.value;
      }));
}

std::uint32_t LiveJob::ready_count() const {
  return static_cast<std::uint32_t>(
      std::count_if(workers.begin(), workers.end(), [&](const ModelWorker& w) {
        return counts(w) && !is_master(w);
      }));
}

NodeId LiveJob::spokesman() const {
  for (const ModelWorker& worker : workers)
    if (worker.alive && worker.generation == generation && !is_master(worker)) return worker.node;
  return NodeId::none();
}

ModelWorker* LiveJob::find(Incarnation incarnation, Rank birth_rank) {
  for (ModelWorker& worker : workers)
    if (worker.incarnation == incarnation && worker.birth_rank == birth_rank) return &worker;
  return nullptr;
}

}  // namespace orrery::sim
