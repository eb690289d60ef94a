#include "sim/results/fragment_samples.hpp"

#include <algorithm>

#include "core/placer/fragmentation.hpp"

namespace orrery::sim {

double fragmented_devices(const State& state) {
  const FreeIndex& free = state.ledger.free();
  if (free.free_thousandths() == 0 || state.demand_mix().entries().empty()) return 0;
  const Fragmentation mix(state.demand_mix().entries());
  std::int64_t sum = 0;
  std::int64_t of_last = 0;
  const NodeFree* last = nullptr;  // Neighbours often have the same left.
  for (std::uint32_t n = 0; n < free.size(); ++n) {
    const NodeFree& node = free.at(NodeId{n});
    if (!node.usable || (node.devices == 0 && node.partial_max == 0)) continue;
    if (last == nullptr || !(node == *last)) of_last = mix.weighted(node);
    sum += of_last;
    last = &node;
  }
  return static_cast<double>(sum) / static_cast<double>(mix.weight()) / 1000;
}

void FragmentSamples::observe(const State& state) {
  if (seen_++ % stride_ != 0) return;
  const double devices = fragmented_devices(state);
  if (!points_.empty() && points_.back().at == state.now) {
    points_.back().devices = devices;
    return;
  }
  points_.push_back({state.now, devices});
  if (points_.size() < points_max_) return;
  stride_ *= 2;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); i += 2) points_[kept++] = points_[i];
  points_.resize(kept);
}

double FragmentSamples::mean(Instant end) const {
  double sum = 0;
  double time = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Instant until = i + 1 < points_.size() ? std::min(points_[i + 1].at, end) : end;
    const double held = std::max(0.0, (until - points_[i].at).in_seconds());
    sum += held * points_[i].devices;
    time += held;
  }
  return time > 0 ? sum / time : 0;
}

double FragmentSamples::highest() const {
  double most = 0;
  for (const Point& point : points_) most = std::max(most, point.devices);
  return most;
}

}  // namespace orrery::sim
