#include "sim/rehearsal/standstill.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace orrery::sim {
namespace {

// By so much doubles may be wrong, in seconds of work.
constexpr double kRounding_s = 1e-6;

/// Work that is done where each change is followed by such a pause.
double done_with(Duration pause,
                 std::span<const WorkStretch> stretches,
                 std::span<const Instant> changes,
                 Instant to) {
  double done = 0;
  std::size_t next = 0;
  Instant paused_until = stretches.front().from;
  const auto work = [&](double rate, Instant from, Instant until) {
    from = std::max(from, paused_until);
    if (until > from) done += rate * (until - from).in_seconds();
  };
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    Instant from = stretches[i].from;
    const Instant end = i + 1 < stretches.size() ? std::min(to, stretches[i + 1].from) : to;
    for (; next < changes.size() && changes[next] < end; ++next) {
      work(stretches[i].rate, from, changes[next]);
      from = std::max(from, changes[next]);
      paused_until = std::max(paused_until, changes[next] + pause);
    }
    work(stretches[i].rate, from, end);
  }
  return done;
}

}  // namespace

Duration pause_of_each(std::span<const WorkStretch> stretches,
                       std::span<const Instant> changes,
                       double units,
                       Instant to) {
  if (stretches.empty() || changes.empty() || changes.front() >= to) return {};
  const auto missing = [&](Duration pause) {
    return done_with(pause, stretches, changes, to) - units;
  };
  const double rate = std::ranges::max_element(stretches, {}, &WorkStretch::rate)->rate;
  if (missing({}) <= kRounding_s * rate) return {};
  // The longer the pauses, the less is done.
  Duration shorter;
  Duration longer = to - changes.front();
  while (longer.ns - shorter.ns > 1) {
    const Duration middle{shorter.ns + (longer.ns - shorter.ns) / 2};
    (missing(middle) > 0 ? shorter : longer) = middle;
  }
  const bool is_nearer = std::abs(missing(shorter)) < std::abs(missing(longer));
  return is_nearer ? shorter : longer;
}

}  // namespace orrery::sim
