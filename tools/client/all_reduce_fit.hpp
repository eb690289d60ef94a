// Latency and bandwidth behind measured times of an all-reduce.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace orrery::cli {

/// One size among so many ranks.
struct AllReduceSample {
  std::int32_t ranks = 0;  ///< At least 2.
  double bytes = 0;
  double seconds = 0;  ///< Median of the rounds.
};

/// The ring: 2 (n - 1) steps, each of which costs `latency_s` and sends 1/n of the bytes at
/// `bandwidth` bytes per second.
struct AllReduceFit {
  double latency_s = 0;
  double bandwidth = 0;
  std::optional<double> held_out_error;  ///< Median of |predicted - measured| / measured over every
                                         ///< second sample, by a fit to the others.

  double seconds(std::int32_t ranks, double bytes) const;
};

/// Least squares of relative errors. Nothing where samples are fewer than two, of one size, or no
/// positive bandwidth explains them.
std::optional<AllReduceFit> fit_all_reduce(const std::vector<AllReduceSample>& samples);

}  // namespace orrery::cli
