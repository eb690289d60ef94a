// Counts of a value by size, as /metrics shows them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace orrery::runtime {

/// Counts up to each bound, ascending, and one without a bound.
template <std::size_t kBounds>
struct Histogram {
  std::array<double, kBounds> bounds{};
  std::array<std::uint64_t, kBounds + 1> counts{};
  double sum = 0;

  void add(double value) {
    std::size_t i = 0;
    while (i < kBounds && value > bounds[i]) ++i;
    ++counts[i];
    sum += value;
  }
};

}  // namespace orrery::runtime
