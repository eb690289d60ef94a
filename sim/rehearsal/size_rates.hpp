// A job's speed at every size, from those at which it was seen.
#pragma once

#include <cstdint>
#include <map>

#include "core/job/spec.hpp"
#include "scenarios/language/spec/work.hpp"

namespace orrery::sim {

/// Sets the speeds of `work` so that `rate_of` gives each rate of `rates` (units per second by
/// replicas of the elastic role, at least one) to the last bit. Between two sizes it goes straight
/// from one to the other, below the smallest it is proportional, and beyond the largest, up to the
/// most that `spec` may have, it goes on as between the two largest; of one size alone all is
/// proportional.
void set_rates(scenarios::WorkSpec& work,
               const std::map<std::int32_t, double>& rates,
               const JobSpec& spec);

}  // namespace orrery::sim
