// How long something took, many times over: constant memory, constant time per sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::sim {

/// Counts durations in buckets whose width is at most 1/128 of their value, so every quantile is
/// right within 0.4 percent. Below 256 ns it is exact. Largest value and count are exact.
class DurationHistogram {
 public:
  /// A negative duration counts as zero.
  void add(Duration duration);

  std::uint64_t count() const { return count_; }

  Duration max() const { return max_; }

  /// The value at the nearest rank, ceil(q * count) counted from 1: the middle of its bucket, at
  /// most `max()`. `q` is 0 to 1. Zero where nothing was added.
  Duration quantile(double q) const;

 private:
  static std::size_t bucket_of(std::uint64_t ns);
  static std::uint64_t middle_of(std::size_t bucket);

  std::vector<std::uint64_t> buckets_;  // Grows up to the highest bucket in use.
  std::uint64_t count_ = 0;
  Duration max_ = Duration::zero();
};

}  // namespace orrery::sim
