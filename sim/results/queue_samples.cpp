#include "sim/results/queue_samples.hpp"

#include <algorithm>

namespace orrery::sim {
namespace {

constexpr std::uint64_t kLooksAtOnePace = 16'384;

}  // namespace

void QueueSamples::add(const std::vector<QueueStanding>& queues,
                       double seconds,
                       std::vector<Sum>& sums) {
  sums.resize(queues.size());
  for (std::size_t i = 0; i < queues.size(); ++i) {
    Sum& sum = sums[i];
    sum.share += queues[i].share * seconds;
    sum.used += queues[i].used * seconds;
    sum.borrowed += queues[i].borrowed * seconds;
    if (seconds <= 0) continue;  // A run that ends in the instant of the last look.
    sum.used_max = std::max(sum.used_max, queues[i].used);
    sum.waiting_max = std::max(sum.waiting_max, queues[i].jobs_waiting);
  }
}

void QueueSamples::keep() {
  if (looks_ % stride_ == 0) points_.push_back({at_, latest_});
  if (points_.size() <= kPointsMax) return;
  std::size_t kept = 0;
  // Not the first onto itself: that would leave it empty.
  for (std::size_t i = 0; i < points_.size(); i += 2, ++kept)
    if (i != kept) points_[kept] = std::move(points_[i]);
  points_.resize(kept);
  stride_ *= 2;
}

void QueueSamples::look(const State& state) {
  if (!changed_ || state.settings.queues.empty()) return;
  if (any_ && state.now - at_ < apart_) return;
  changed_ = false;
  standings_.look(state);
  std::vector<QueueStanding> now = standings_.list();
  if (now.empty()) return;
  if (any_ && now.size() == latest_.size()) {
    add(latest_, (state.now - at_).in_seconds(), sums_);
  } else {
    // The first look, or other queues than before: means are of those from now on.
    first_ = state.now;
    sums_.clear();
    points_.clear();
    stride_ = 1;
    looks_ = 0;
  }
  any_ = true;
  at_ = state.now;
  latest_ = std::move(now);
  keep();
  if (++looks_ % kLooksAtOnePace == 0)
    apart_ = std::max(Duration::seconds(1), Duration{apart_.ns * 2});
}

std::vector<QueueMeans> QueueSamples::means(Instant end) const {
  if (!any_) return {};
  std::vector<Sum> sums = sums_;
  add(latest_, std::max(0.0, (end - at_).in_seconds()), sums);
  const double span = std::max(1e-9, (end - first_).in_seconds());
  std::vector<QueueMeans> out;
  for (std::size_t i = 0; i < latest_.size(); ++i)
    out.push_back({latest_[i].name,
                   latest_[i].parent,
                   latest_[i].guarantee,
                   sums[i].share / span,
                   sums[i].used / span,
                   sums[i].borrowed / span,
                   sums[i].used_max,
                   sums[i].waiting_max});
  return out;
}

}  // namespace orrery::sim
