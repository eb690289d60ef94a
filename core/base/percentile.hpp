// Percentiles of whole samples: one definition for every number that Orrery reports.
#pragma once

#include <cstdint>
#include <span>

namespace orrery {

/// The percentile `q` (0 to 1) of an ascending sample, by linear interpolation between the two
/// closest ranks: with n values, position q * (n - 1) counted from 0. This is what numpy calls
/// "linear" and Excel PERCENTILE.INC. An empty sample gives 0.
double percentile_of_sorted(std::span<const std::int64_t> ascending, double q);

/// The same of numbers of any unit.
double percentile_of_sorted(std::span<const double> ascending, double q);

/// The same of a sample in any order, which it rearranges: cheaper than to sort it for a few of
/// them.
double percentile_by_selection(std::span<std::int64_t> values, double q);
double percentile_by_selection(std::span<double> values, double q);

/// The mean, summed exactly; an empty sample gives 0.
double mean_of(std::span<const std::int64_t> values);

}  // namespace orrery
