// A knapsack of many units in few sizes, solved exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace orrery::policies {

/// Units of one size. Taking so many takes those that gain most.
struct KnapsackSize {
  std::int64_t size = 1;      ///< Of one unit, above 0.
  std::vector<double> gains;  ///< One for each unit, 0 or more, never rising.
};

struct Knapsack {
  std::vector<KnapsackSize> sizes;  ///< Falling, each size once.
  std::int64_t capacity = 0;        ///< All that is taken has this size at most.
  std::int64_t least = 0;           ///< And this one at least.
  /// Of the first `limited` sizes together, units that are taken at most.
  std::size_t limited = 0;
  std::int64_t limited_most = 0;
};

struct KnapsackAnswer {
  std::vector<std::int64_t> counts;  ///< Units taken of each size.
  double value = 0;                  ///< Sum of their gains.
};

/// The counts of greatest value, to a part of 10^-12, where that is above `beat`. Takes from
/// `steps` what the search took; at 0 it ends with the best that it has come to. With a step for
/// each size, no `least` and `beat` below 0 it comes to some.
///
/// Branch and bound over sizes, the largest first. A branch is bounded by its fractional knapsack,
/// which is concave in the number of units taken, so that the search goes outwards from the best
/// number and ends on each side with the first that cannot beat what is known. What is left after
/// all sizes but the last decides the last one's number.
std::optional<KnapsackAnswer> solve(const Knapsack& knapsack, double beat, std::int64_t& steps);

}  // namespace orrery::policies
