#include "runtime/local/memberships.hpp"

#include <algorithm>

namespace orrery::runtime {

void Memberships::ordered(const CommandBody& order) {
  if (const auto* start = std::get_if<StartWorkers>(&order)) learn(*start);
  if (const auto* update = std::get_if<UpdateMembership>(&order)) learn(*update);
  if (const auto* clean = std::get_if<CleanJob>(&order)) jobs_.erase(clean->job);
}

std::span<const WorkerStart> Memberships::members(JobId job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || found->second.workers.size() != found->second.world_size) return {};
  return found->second.workers;
}

/// A start names the workers that are new; those that stay came with an update before it.
void Memberships::learn(const StartWorkers& start) {
  Membership& known = jobs_[start.job];
  if (start.generation < known.generation) return;
  if (known.generation < start.generation)
    known = Membership{start.generation, start.world_size, {}};
  for (const WorkerStart& worker : start.workers) {
    const auto place = std::ranges::lower_bound(known.workers, worker.rank, {}, &WorkerStart::rank);
    if (place != known.workers.end() && place->rank == worker.rank)
      *place = worker;
    else
      known.workers.insert(place, worker);
  }
}

void Memberships::learn(const UpdateMembership& update) {
  Membership& known = jobs_[update.job];
  if (update.generation < known.generation) return;
  known = Membership{update.generation, update.world_size, update.members};
}

}  // namespace orrery::runtime
