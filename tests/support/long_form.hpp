// What is looked at for long is looked at in two forms: a short one by ctest, and a long one by
// `tools/soak tests`, which sets ORRERY_LONG.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace orrery::tests {

/// How many seeds, cases or the like to look at.
inline std::uint64_t count_of(std::uint64_t in_short, std::uint64_t in_long) {
  return std::getenv("ORRERY_LONG") != nullptr ? in_long : in_short;
}

}  // namespace orrery::tests
