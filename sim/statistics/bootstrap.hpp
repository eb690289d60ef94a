// The mean over seeds, and how far it can be trusted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace orrery::sim {

/// An interval for a mean at the level of 95 percent.
struct MeanInterval {
  double low = 0;
  double high = 0;

  friend bool operator==(const MeanInterval&, const MeanInterval&) = default;
};

/// One figure over the seeds of one policy.
struct SeedEstimate {
  std::size_t seeds = 0;
  double mean = 0;                       ///< 0 where there are no seeds.
  std::optional<double> half_width;      ///< Student's; nothing of fewer than two seeds.
  std::optional<MeanInterval> interval;  ///< By bootstrap; likewise.
};

/// The mean with both intervals.
///
/// `half_width`: t(n - 1) s / sqrt(n), s with n - 1 in the denominator; right for normal values.
///
/// `interval`: the percentile bootstrap of the mean, expanded for few values. 10,000 samples of n
/// values are drawn with replacement (fewer above 2,000 values, at least 1,000), and the interval
/// reaches between the percentiles p and 1 - p of their means, p = Phi(-sqrt(n / (n - 1)) t(n -
/// 1)), in place of 0.025: so it is as wide as Student's where values are normal, and follows their
/// skew where they are not. Hesterberg, "What Teachers Should Know About the Bootstrap" (The
/// American Statistician 69(4), 2015). It lies within the values, so that of fewer than six it
/// covers less than 95 percent. The draws are fixed: equal values give equal intervals.
SeedEstimate estimate_over_seeds(std::span<const double> values);

/// How the intervals are made, in words for readers.
inline constexpr std::string_view kIntervalMethod =
    "95 % bootstrap interval of the mean (percentile, expanded for few seeds)";

}  // namespace orrery::sim
