// The one queue at which a world's threads end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "core/base/units.hpp"
#include "core/record/event.hpp"

namespace orrery::runtime {

/// Monotonic time since its making. Any thread may ask.
class RealClock {
 public:
  Instant now() const {
    const auto passed = std::chrono::steady_clock::now() - start_;
    return Instant{std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count()};
  }

  /// As the standard library's time; far futures are cut to a century.
  std::chrono::steady_clock::time_point time_point(Instant instant) const;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Counters of a queue, to find out whether a slow consumer holds others up.
struct QueueCounters {
  Duration max_completion_delay;  ///< Longest time from a worker's end to its being taken.
  std::uint64_t completions = 0;
};

/// Events on their way from the world's threads to the driver's. All calls from any thread.
class EventQueue {
 public:
  explicit EventQueue(const RealClock& clock) : clock_(clock) {}

  /// Adds one that happened just now.
  void push(Origin origin, EventBody body);

  /// Makes a `wait` that is under way return, or else the next one.
  void wake();

  /// Whether nothing will come any more without a new order. Coming to an end wakes.
  void set_ended(bool ended);

  /// Appends what is there, or else waits for it until `deadline`, a `wake` or the end. False:
  /// ended, and nothing was there. Asked again after that, it waits all the same: for a `wake`.
  bool wait(Instant deadline, std::vector<Event>& events);

  QueueCounters counters() const;

 private:
  const RealClock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> events_;
  bool woken_ = false;
  bool ended_ = false;
  QueueCounters counters_;
};

}  // namespace orrery::runtime
