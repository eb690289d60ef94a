// Workers that go: told to stop, killed, gone; and what they give back.
#pragma once

#include <cstdint>
#include <vector>

#include "core/membership/change.hpp"

namespace orrery {

/// Gives back what a worker that is gone still holds.
void release(Step& step, Worker& worker);

/// Asks workers to stop; `give_up` hands their capacity to new claims. On a silent node they are
/// gone already: its agent has fenced itself.
void stop_workers(Step& step, JobState& job, const std::vector<std::uint32_t>& ranks, bool give_up);

/// First half of a change: stops what goes and gives its capacity up for new claims.
void release_dropped(Step& step, JobState& job, const MembershipChange& change);

/// Drops a change of membership that has not started; what it claimed is free again. A worker that
/// was to start again in place while its predecessor still stops has no lease to go on with.
void abandon_next(Step& step, JobState& job);

/// Stops those that a final job has left running, whatever it keeps otherwise.
void stop_remaining(Step& step, JobState& job);

/// Workers that were told to stop did not go in time: they are killed.
void kill_late(Step& step, JobState& job);

/// A worker has become `state`, which is one of the gone ones.
void worker_gone(Step& step, JobState& job, Worker& worker, WorkerState state);

/// A final job whose last worker is gone is retained for a while, then forgotten.
void retain_if_cleared(Step& step, JobState& job);

}  // namespace orrery
