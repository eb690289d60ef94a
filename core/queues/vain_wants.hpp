// What jobs ask for that no other queue could help them to: nobody is dealt it meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/queues/queue_loads.hpp"

namespace orrery {

/// The most of what the job asks for that quotas of the cluster let it hold, as
/// `allows(devices of the job in all)` tells it; nothing where they do not let it start. `job` is
/// what `queue_job` makes of the other three.
template <class Allows>
QueueUse within_quotas(const QueueJob& job,
                       const JobRow& row,
                       const JobSpec& spec,
                       bool sizes_jobs,
                       const Allows& allows) {
  const auto devices = [&](std::int32_t replicas) {
    return replicas * row.demand.devices + row.rest_devices;
  };
  std::int32_t allowed = job.holds ? row.replicas : row.min_replicas - 1;
  std::int32_t refused = asked_replicas(row, spec, sizes_jobs);
  if (refused <= allowed || allows(devices(refused))) return job.want;
  while (refused - allowed > 1) {
    const std::int32_t middle = allowed + (refused - allowed) / 2;
    (allows(devices(middle)) ? allowed : refused) = middle;
  }
  if (job.holds && allowed == row.replicas) return job.use;
  return allowed < row.min_replicas ? QueueUse{} : use_at(row, spec, allowed);
}

/// Collects it from the live jobs of all queues: what quotas keep from a job, and all that a
/// waiting one asks for that is barred (`QueueLoads::is_barred`).
///
/// Of each queue only as many waiting jobs are looked at as may matter: until those that can be
/// helped would fill the cluster, and 512 at most; what later ones ask for counts.
class VainWants {
 public:
  /// Both must outlive it and stay as they are, with all jobs that are shown to it.
  VainWants(const QueueLoads& loads, const QueueScale& scale);

  /// Whether waiting jobs of the queue are looked at still.
  bool looks_at(std::uint32_t queue) const { return seen_[queue].looked_at < kLookedAt; }

  /// The next waiting job of its queue, in the order in which they wait. `gang`: what it takes at
  /// the least; `allowed`: what `within_quotas` says.
  void look_waiting(const QueueJob& job, const QueueUse& gang, const QueueUse& allowed);

  void look_holding(const QueueJob& job, const QueueUse& allowed) { add(job, allowed); }

  /// For `QueueLoads::wants`.
  std::span<const QueueJob> found() const { return found_; }

 private:
  static constexpr int kLookedAt = 512;

  struct Seen {
    int looked_at = 0;
    std::int64_t asked = 0;  ///< By the gangs of jobs that can be helped.
  };

  void add(const QueueJob& job, const QueueUse& allowed);

  const QueueLoads& loads_;
  const QueueScale& scale_;
  std::vector<Seen> seen_;  ///< By queue.
  std::vector<QueueJob> found_;
};

}  // namespace orrery
