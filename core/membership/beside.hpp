// Two jobs on the same devices: who shares with whom, and places beside another job.
#pragma once

#include <cstdint>
#include <vector>

#include "core/membership/change.hpp"

namespace orrery {

/// The job that has a claim on some device that this one has a claim on as well, by a plan that put
/// one beside the other; none where there is none. What is being released does not count.
JobId partner_of(const State& state, const JobState& job);

/// Places for `replicas` workers of the elastic role, each on the devices of the host's worker of
/// the same local rank. Claims nothing. False where they cannot share: either job has several roles
/// or seats, they differ in number or size of replicas or take parts of devices, the host has no
/// places or another partner, or CPU, memory or ports do not suffice.
bool find_places_beside(
    Step& step, const JobState& job, std::int32_t replicas, JobId host, std::vector<Placed>& out);

}  // namespace orrery
