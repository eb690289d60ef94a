// The time that a leader writes into the journal.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/base/units.hpp"

namespace orrery::runtime {

/// Nanoseconds since the Unix epoch by the wall clock as it was at the beginning, or the journal's
/// last time where that is later; monotonic from then on, so that no step of a clock moves a
/// deadline.
class JournalClock {
 public:
  using Steady = std::chrono::steady_clock;

  explicit JournalClock(Instant not_before)
      : begun_at_(std::max(wall(), not_before)), begun_(Steady::now()) {}

  Instant now() const {
    const auto passed = Steady::now() - begun_;
    return begun_at_ +
           Duration{std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count()};
  }

  /// As the standard library's time; far futures become its last.
  Steady::time_point time_point(Instant at) const {
    constexpr std::int64_t kCentury = 3'000'000'000'000'000'000;
    const std::int64_t ahead = at.is_never() ? kCentury : (at - begun_at_).ns;
    if (ahead >= kCentury) return Steady::time_point::max();
    return begun_ + std::chrono::nanoseconds(ahead);
  }

  static Instant wall() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return Instant{std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
  }

 private:
  Instant begun_at_;
  Steady::time_point begun_;
};

}  // namespace orrery::runtime
