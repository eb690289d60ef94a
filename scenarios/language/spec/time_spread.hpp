// A time that is not always the same, as what was observed of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::scenarios {

/// Quantiles at equal steps: the first is the shortest time, the last the longest. Empty: the time
/// does not vary.
struct TimeSpread {
  std::vector<Duration> quantiles;  ///< Ascending; none, or 2 at least.

  bool empty() const { return quantiles.empty(); }

  /// The time that a part of all, 0 to 1, is not above; linear between two quantiles. Not empty.
  Duration at(double part) const {
    const double place = part * static_cast<double>(quantiles.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    if (below + 1 >= quantiles.size()) return quantiles.back();
    const Duration from = quantiles[below];
    const Duration gap{quantiles[below + 1].ns - from.ns};
    return from + Duration{static_cast<std::int64_t>(static_cast<double>(gap.ns) *
                                                     (place - static_cast<double>(below)))};
  }

  Duration longest() const { return quantiles.back(); }

  friend bool operator==(const TimeSpread&, const TimeSpread&) = default;
};

}  // namespace orrery::scenarios
