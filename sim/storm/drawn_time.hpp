// Times that a storm's plan draws.
#pragma once

#include <cstdint>

#include "core/base/random.hpp"
#include "core/base/units.hpp"

namespace orrery::sim {

/// Milliseconds from `low` to `high`, both included.
inline Duration ms(Random& random, std::int64_t low, std::int64_t high) {
  return Duration::milliseconds(random.between(low, high));
}

}  // namespace orrery::sim
