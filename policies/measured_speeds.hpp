// A job's speed by its replicas, from what reports have measured.
#pragma once

#include <cstdint>
#include <map>

namespace orrery::policies {

/// Work per second by number of replicas.
using MeasuredSpeeds = std::map<std::int32_t, double>;

/// Speed with `replicas`, at least 1: linear between two measurements; outside of them it follows
/// the power of the number of replicas that the two nearest show, 0 to 1. With one measurement it
/// is proportional, with none the number of replicas itself.
double speed_with(const MeasuredSpeeds& measured, std::int32_t replicas);

}  // namespace orrery::policies
