// Why there is no room for workers that may sit anywhere, in words.
#pragma once

#include <cstdint>
#include <string>

#include "core/state/state.hpp"

namespace orrery {

/// Of a job that waits, for its minimum; of one that is infeasible, on the declared nodes. Each
/// resource of which there is too little: "needs 8 devices at once, 4 are free, and 64 cores, 12
/// are free"; where there is enough of each in all, the roles that find no nodes, and for how many
/// replicas the nodes have which resource. Empty where there is room.
std::string why_no_room(const State& state, const JobState& job);

/// The same for so many more replicas of one role, without "needs".
std::string why_no_more(const State& state,
                        const JobState& job,
                        RoleIndex role,
                        std::int32_t replicas);

/// Of a job that waits although there is room for it: which node has too few ports for the workers
/// that would go there. Empty where none has.
std::string why_no_ports(const State& state, const JobState& job);

/// Which quota would not let the job hold `devices` even if it were the only one: "group/research
/// may hold 16 devices". Empty where none does.
std::string why_never_in_quota(const State& state, const JobState& job, std::int32_t devices);

/// Which quota keeps the job from holding `devices` in all: "group/research may hold 16 devices and
/// holds 14". Empty where none does.
std::string why_over_quota(const State& state, const JobState& job, std::int32_t devices);

}  // namespace orrery
