#include "core/state/job_state.hpp"

namespace orrery {

JobState::JobState() = default;
JobState::JobState(const JobState& other) = default;
JobState::JobState(JobState&& other) noexcept = default;
JobState& JobState::operator=(const JobState& other) = default;
JobState& JobState::operator=(JobState&& other) noexcept = default;
JobState::~JobState() = default;

const Worker* worker_named(const JobState& job,
                           Generation generation,
                           Incarnation incarnation,
                           Rank rank) {
  if (generation == job.row.generation && rank.index() < job.workers.size()) {
    const Worker& worker = job.workers[rank.index()];
    if (worker.incarnation == incarnation) return &worker;
  }
  for (const Worker& worker : job.workers)
    if (worker.incarnation == incarnation && worker.birth_rank == rank && worker.born == generation)
      return &worker;
  return nullptr;
}

}  // namespace orrery
