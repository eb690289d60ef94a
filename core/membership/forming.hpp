// The next membership of a job: its claims, its ranks, and what it holds.
#pragma once

#include "core/membership/change.hpp"

namespace orrery {

/// Second half of a change: claims `added`, forms the next membership, and starts it as soon as it
/// can.
void form_next(Step& step, JobState& job, const MembershipChange& change);

/// Drops a membership that has not started: the job holds its present one again, which is told.
void drop_next(Step& step, JobState& job);

/// Sends the workers of a job the list of all its members, and their ranks.
void tell_membership(Step& step, JobState& job);

/// Notes devices and replicas after they changed, and keeps the row's counts.
void note_allocation(Step& step, JobState& job);

}  // namespace orrery
