#include "sim/results/percentile.hpp"

#include <cstddef>

namespace orrery::sim {
namespace {

template <class Number>
double percentile(std::span<const Number> ascending, double q) {
  if (ascending.empty()) return 0;
  const double position = q * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= ascending.size()) return static_cast<double>(ascending.back());
  const double part = position - static_cast<double>(below);
  const auto gap = static_cast<double>(ascending[below + 1] - ascending[below]);
  return static_cast<double>(ascending[below]) + part * gap;
}

}  // namespace

double percentile_of_sorted(std::span<const std::int64_t> ascending, double q) {
  return percentile(ascending, q);
}

double percentile_of_sorted(std::span<const double> ascending, double q) {
  return percentile(ascending, q);
}

double mean_of(std::span<const std::int64_t> values) {
  if (values.empty()) return 0;
  // A million jobs of a century each overflow 64 bits.
  __int128 sum = 0;
  for (const std::int64_t value : values) sum += value;
  return static_cast<double>(sum) / static_cast<double>(values.size());
}

}  // namespace orrery::sim
