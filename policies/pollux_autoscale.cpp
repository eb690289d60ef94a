#include "policies/pollux_autoscale.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace orrery::policies {

std::int32_t nodes_for_utility(double target,
                               std::int32_t nodes_min,
                               std::int32_t nodes_max,
                               std::int32_t nodes,
                               const std::function<double(std::int32_t)>& utility_at) {
  std::map<std::int32_t, double> known;
  const auto utility = [&](std::int32_t n) {
    const auto [found, fresh] = known.try_emplace(n, 0);
    if (fresh) found->second = utility_at(n);
    return found->second;
  };
  std::int32_t low = nodes_min;
  std::int32_t high = nodes_max;
  std::int32_t tried = std::clamp(nodes, low, high);
  while (low + 1 < high) {
    const double reached = utility(tried);
    if (reached == target) return tried;
    (reached < target ? high : low) = tried;
    tried = low + (high - low) / 2;
  }
  return std::abs(utility(low) - target) < std::abs(utility(high) - target) ? low : high;
}

std::int32_t UtilityAutoscaler::next(double utility,
                                     std::int32_t nodes,
                                     std::int32_t nodes_max,
                                     const std::function<double(std::int32_t)>& utility_at) {
  samples_.push_back(utility);
  if (samples_.size() <= kSamples) return nodes;
  samples_.erase(samples_.begin());
  const double mean = std::accumulate(samples_.begin(), samples_.end(), 0.0) / kSamples;
  const bool too_many = nodes > options_.nodes_min && mean < options_.utility_low;
  const bool too_few = nodes < nodes_max && mean > options_.utility_high;
  if (!too_many && !too_few) return nodes;
  samples_.clear();
  const double target = (options_.utility_low + options_.utility_high) / 2;
  return nodes_for_utility(target, options_.nodes_min, nodes_max, nodes, utility_at);
}

void UtilityAutoscaler::save(ByteWriter& out) const {
  out.varint(samples_.size());
  for (const double sample : samples_) out.f64(sample);
}

void UtilityAutoscaler::load(ByteReader& in) {
  samples_.clear();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) samples_.push_back(in.f64());
}

}  // namespace orrery::policies
