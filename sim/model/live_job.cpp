#include "sim/model/live_job.hpp"

#include <algorithm>

namespace orrery::sim {

// Of a million jobs some hundred thousand are alive at once, and allocators give this or 64 bytes
// more. Pointers of 8 bytes, as everywhere that this runs.
static_assert(sizeof(LiveJob) <= 384, "a live job has outgrown its size class");

double LiveJob::done_at(Instant now) const {
  if (!running || rate <= 0) return done;
  const Instant from = std::max(as_of, paused_until);
  if (now <= from) return done;
  const double all = job.work.units > 0 ? job.work.units : 1e300;
  return std::min(all, done + rate * (now - from).in_seconds());
}

double LiveJob::safe_at(Instant now, Duration interval) const {
  if (interval <= Duration::zero()) return done_at(now);
  if (!running || rate <= 0) return safe;
  const std::int64_t whole = (now - running_since).ns / interval.ns;
  const Instant last = running_since + interval * whole;
  // What was saved before `as_of` is known already.
  if (whole <= 0 || last <= as_of) return safe;
  return std::max(safe, done_at(last));
}

Instant LiveJob::next_checkpoint(Instant now, Duration interval) const {
  return running_since + interval * ((now - running_since).ns / interval.ns + 1);
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
