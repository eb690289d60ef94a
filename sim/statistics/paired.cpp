#include "sim/statistics/paired.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/base/invariant.hpp"
#include "core/base/random.hpp"

namespace orrery::sim {
namespace {

/// Sums that are equal but for rounding count as equal.
constexpr double kTie = 1e-9;

double exact_p(std::span<const double> differences, double threshold) {
  // The first sign is fixed: all signs turned give the same distance from zero.
  double sum = 0;
  for (const double difference : differences) sum += difference;
  std::vector<double> signed_values(differences.begin(), differences.end());
  const std::uint64_t count = std::uint64_t{1} << (differences.size() - 1);
  std::uint64_t hits = std::abs(sum) >= threshold ? 1 : 0;
  // Gray's code: each step turns one sign.
  for (std::uint64_t step = 1; step < count; ++step) {
    double& turned = signed_values[static_cast<std::size_t>(std::countr_zero(step)) + 1];
    turned = -turned;
    sum += 2 * turned;
    if (std::abs(sum) >= threshold) ++hits;
  }
  return static_cast<double>(hits) / static_cast<double>(count);
}

double sampled_p(std::span<const double> differences, double threshold) {
  Random random = Random::stream(0, "sign flips");
  std::size_t hits = 0;
  for (std::size_t draw = 0; draw < kRandomSigns; ++draw) {
    double sum = 0;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) {
      if (i % 64 == 0) bits = random.bits();
      sum += (bits & 1) != 0 ? differences[i] : -differences[i];
      bits >>= 1;
    }
    if (std::abs(sum) >= threshold) ++hits;
  }
  return static_cast<double>(hits + 1) / static_cast<double>(kRandomSigns + 1);
}

}  // namespace

double sign_flip_p(std::span<const double> differences) {
  double sum = 0;
  double size = 0;
  for (const double difference : differences) {
    sum += difference;
    size += std::abs(difference);
  }
  if (size == 0) return 1;
  const double threshold = std::abs(sum) - kTie * size;
  return differences.size() <= kExactSignsMax ? exact_p(differences, threshold)
                                              : sampled_p(differences, threshold);
}

double smallest_p(std::size_t seeds) { return std::ldexp(1.0, 1 - static_cast<int>(seeds)); }

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> out(p.size());
  double highest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    highest = std::max(highest, p[order[rank]] * static_cast<double>(order.size() - rank));
    out[order[rank]] = std::min(1.0, highest);
  }
  return out;
}

PairedDifference paired_difference(std::span<const double> values,
                                   std::span<const double> against) {
  invariant(values.size() == against.size(), "paired values have equal numbers");
  std::vector<double> differences;
  for (std::size_t i = 0; i < values.size(); ++i) differences.push_back(values[i] - against[i]);
  const double p = sign_flip_p(differences);
  return {estimate_over_seeds(differences), p, p};
}

}  // namespace orrery::sim
