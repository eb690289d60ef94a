#include "policies/measured_speeds.hpp"

#include <algorithm>
#include <iterator>

#include "core/base/math.hpp"

namespace orrery::policies {

// A guess that is wrong puts the job where the next report corrects it.
double speed_with(const MeasuredSpeeds& measured, std::int32_t replicas) {
  if (measured.empty()) return replicas;
  const auto above = measured.lower_bound(replicas);
  if (above != measured.end() && above->first == replicas) return above->second;
  const bool outside = above == measured.begin() || above == measured.end();
  const auto near = above == measured.end() ? std::prev(above) : above;
  if (measured.size() == 1) return near->second * replicas / near->first;
  const auto other = above == measured.begin() ? std::next(near) : std::prev(near);
  const double n = near->first;
  if (outside) {
    const double power = math::log(other->second / near->second) / math::log(other->first / n);
    return near->second * math::pow(replicas / n, std::clamp(power, 0.0, 1.0));
  }
  return near->second + (other->second - near->second) / (other->first - n) * (replicas - n);
}

}  // namespace orrery::policies
