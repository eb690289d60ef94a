// The instant by which an operation must have ended.
#pragma once

#include <algorithm>
#include <chrono>

namespace orrery::worker {

using Milliseconds = std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

class Deadline {
 public:
  /// `time` from now.
  static Deadline in(Milliseconds time) { return Deadline(SteadyClock::now() + time); }

  bool passed() const { return SteadyClock::now() >= at_; }

  /// Rounded up, never negative: fit for poll.
  Milliseconds left() const {
    const auto left = std::chrono::ceil<Milliseconds>(at_ - SteadyClock::now());
    return std::max(left, Milliseconds(0));
  }

  SteadyClock::time_point at() const { return at_; }

 private:
  explicit Deadline(SteadyClock::time_point at) : at_(at) {}

  SteadyClock::time_point at_;
};

}  // namespace orrery::worker
