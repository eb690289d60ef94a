// What a job does about workers that failed or were lost.
#pragma once

#include <cstdint>
#include <vector>

#include "core/control/lifecycle.hpp"

namespace orrery {

/// Workers failed (per rank): charges one restart and recovers, or fails the job where its budget
/// is used up.
void on_failures(Step& step, JobState& job, std::vector<std::uint8_t> failed, Reason reason);

/// Workers were deleted from outside (per rank): they are replaced without charge, which is a
/// change and no failure.
void on_losses(Step& step, JobState& job, std::vector<std::uint8_t> lost);

/// One incident is charged once: workers that fail while the job recovers from a failure are
/// replaced along with the first, or a crash that all peers of a collective feel one after the
/// other would use up the whole budget.
void join_recovery(Step& step, JobState& job);

/// Replaces workers after a failure charged elsewhere: those marked, widened to the job's recovery
/// scope. Falls back to fewer elastic replicas, then to waiting.
void recover(Step& step, JobState& job, std::vector<std::uint8_t> failed, Reason reason);

/// The start took longer than the job's deadline: a failure, charged like a crash.
void fail_start(Step& step, JobState& job);

}  // namespace orrery
