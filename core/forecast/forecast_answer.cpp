#include "core/forecast/forecast_answer.hpp"

#include <algorithm>
#include <cstddef>

#include "core/base/invariant.hpp"

namespace orrery {

Spread spread_of(std::span<Instant> instants) {
  invariant(!instants.empty(), "a spread is of at least one instant");
  std::sort(instants.begin(), instants.end());
  const auto at = [&](std::size_t tenths) {
    const std::size_t not_later = (instants.size() * tenths + 9) / 10;
    return instants[std::max<std::size_t>(not_later, 1) - 1];
  };
  return {at(1), at(5), at(9)};
}

}  // namespace orrery
