// The work of jobs in a world that goes on from a state.
#pragma once

#include <cstdint>

#include "core/base/units.hpp"
#include "core/state/state.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/model_job.hpp"

namespace orrery::sim {

/// Work of so long at `size` replicas, in units of which `rate` are done a second; 0: one.
scenarios::WorkSpec forked_work(Duration left, std::int32_t size, double rate);

/// A job that is submitted at `at` and then has so much to do at the size that it starts with.
ModelJob forked_arrival(const JobState& job, Instant at, Duration left);

}  // namespace orrery::sim
