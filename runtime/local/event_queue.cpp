#include "runtime/local/event_queue.hpp"

#include <algorithm>

namespace orrery::runtime {

std::chrono::steady_clock::time_point RealClock::time_point(Instant instant) const {
  constexpr std::int64_t kCentury = 100LL * 365 * 24 * 3600 * 1'000'000'000;
  return start_ + std::chrono::nanoseconds(std::min(instant.ns, kCentury));
}

void EventQueue::push(Origin origin, EventBody body) {
  const std::lock_guard lock(mutex_);
  const Instant now = clock_.now();
  events_.push_back({now, now, origin, std::move(body)});
  changed_.notify_one();
}

void EventQueue::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_one();
}

void EventQueue::set_ended(bool ended) {
  const std::lock_guard lock(mutex_);
  woken_ = woken_ || (ended && !ended_);
  ended_ = ended;
  if (woken_) changed_.notify_one();
}

bool EventQueue::wait(Instant deadline, std::vector<Event>& events) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(
      lock, clock_.time_point(deadline), [&] { return !events_.empty() || woken_; });
  if (events_.empty()) {
    woken_ = false;
    return !ended_;
  }
  const Instant now = clock_.now();
  for (Event& event : events_) {
    if (const auto* report = std::get_if<WorkersChanged>(&event.body);
        report != nullptr && report->fact == WorkerFact::Exited) {
      ++counters_.completions;
      counters_.max_completion_delay =
          std::max(counters_.max_completion_delay, now - event.occurred_at);
    }
    events.push_back(std::move(event));
  }
  events_.clear();
  return true;
}

QueueCounters EventQueue::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace orrery::runtime
