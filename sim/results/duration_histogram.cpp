#include "sim/results/duration_histogram.hpp"

#include <algorithm>
#include <bit>

namespace orrery::sim {
namespace {

// Buckets per power of two. Values below 2 * kSteps are their own bucket.
constexpr std::size_t kSteps = 128;
constexpr int kStepBits = 7;

}  // namespace

std::size_t DurationHistogram::bucket_of(std::uint64_t ns) {
  if (ns < 2 * kSteps) return static_cast<std::size_t>(ns);
  const int shift = std::bit_width(ns) - 1 - kStepBits;
  // The leading bit of `ns >> shift` is worth kSteps: consecutive powers join without a gap.
  return static_cast<std::size_t>(shift) * kSteps + static_cast<std::size_t>(ns >> shift);
}

std::uint64_t DurationHistogram::middle_of(std::size_t bucket) {
  if (bucket < 2 * kSteps) return bucket;
  const std::size_t shift = bucket / kSteps - 1;
  const std::uint64_t first = static_cast<std::uint64_t>(bucket - shift * kSteps) << shift;
  return first + ((std::uint64_t{1} << shift) - 1) / 2;
}

void DurationHistogram::add(Duration duration) {
  const std::int64_t ns = std::max<std::int64_t>(duration.ns, 0);
  const std::size_t bucket = bucket_of(static_cast<std::uint64_t>(ns));
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  max_ = std::max(max_, Duration::nanoseconds(ns));
}

Duration DurationHistogram::quantile(double q) const {
  if (count_ == 0) return Duration::zero();
  const double wanted = q * static_cast<double>(count_);
  auto rank = static_cast<std::uint64_t>(wanted);
  if (static_cast<double>(rank) < wanted) ++rank;
  rank = std::clamp<std::uint64_t>(rank, 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= rank)
      return std::min(Duration::nanoseconds(static_cast<std::int64_t>(middle_of(bucket))), max_);
  }
  return max_;
}

}  // namespace orrery::sim
