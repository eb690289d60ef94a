#include "core/base/percentile.hpp"

#include <algorithm>
#include <cstddef>

namespace orrery {
namespace {

/// `ranked(i)`: the value of rank i of `size`, asked for in ascending order.
template <class Ranked>
double interpolated(std::size_t size, double q, Ranked ranked) {
  if (size == 0) return 0;
  const double position = q * static_cast<double>(size - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= size) return static_cast<double>(ranked(size - 1));
  const double part = position - static_cast<double>(below);
  const auto low = ranked(below);
  const auto gap = static_cast<double>(ranked(below + 1) - low);
  return static_cast<double>(low) + part * gap;
}

template <class Number>
double percentile(std::span<const Number> ascending, double q) {
  return interpolated(ascending.size(), q, [&](std::size_t rank) { return ascending[rank]; });
}

template <class Number>
double by_selection(std::span<Number> values, double q) {
  std::size_t ranked = 0;  // So many at the front are no larger than all behind them.
  return interpolated(values.size(), q, [&](std::size_t rank) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(values.begin() + static_cast<std::ptrdiff_t>(ranked), at, values.end());
    ranked = rank + 1;
    return *at;
  });
}

}  // namespace

double percentile_of_sorted(std::span<const std::int64_t> ascending, double q) {
  return percentile(ascending, q);
}

double percentile_of_sorted(std::span<const double> ascending, double q) {
  return percentile(ascending, q);
}

double percentile_by_selection(std::span<std::int64_t> values, double q) {
  return by_selection(values, q);
}

double percentile_by_selection(std::span<double> values, double q) {
  return by_selection(values, q);
}

double mean_of(std::span<const std::int64_t> values) {
  if (values.empty()) return 0;
  // A million jobs of a century each overflow 64 bits.
  __int128 sum = 0;
  for (const std::int64_t value : values) sum += value;
  return static_cast<double>(sum) / static_cast<double>(values.size());
}

}  // namespace orrery
